// How a GPU evaluates a chain of one datapath along k, in products of whole matrices.
#pragma once

#include <cstdint>

#include "gpu_datapath.hpp"

namespace tcnum {

/// How the k-steps of a chain lie in memory and who evaluates them. 64 rows of A (or columns of B) are a *strip*; what
/// an evaluator wants of a strip for one step along k is a *unit*, and a strip's units lie one behind the other.
struct GpuChain {
  enum class Kernel : std::uint8_t {
    scaled_sums,       ///< a unit is a k-step: integers of 8 bits, four to a word, and scales
    brackets,          ///< a k-step: fp64 numbers, and codes
    patches,           ///< a k-step: numbers, maybe scaled, exponents and signs (emu/gpu/patch.hpp)
    accumulations,     ///< a k-step: the same (emu/gpu/accumulation_patch.hpp)
    rounded_trees,     ///< a k-step: the same (emu/gpu/rounded_tree_patch.hpp)
    quads,             ///< a k-step: integers of 8 bits, four to a word
    single_precision,  ///< a k-step: fp32 numbers
    fma_chain,         ///< a single product: fp64 numbers
    integers_alone,    ///< a k-step: integers of 32 bits
    terms_alone,       ///< a k-step: codes
  };
  static constexpr int kStrip = 64;
  static constexpr int kMostWords = GpuDatapath::kMostProducts / 4 + GpuDatapath::kMostNodes;

  Kernel kernel = Kernel::patches;
  std::uint64_t units = 0;
  std::uint32_t a_bytes = 0, b_bytes = 0;  ///< of a unit: multiples of 16
  /// Of quads and scaled sums: those of each node, and which product each byte is; −1: none, so it is zero.
  int words = 0;
  std::int16_t node_words[GpuDatapath::kMostNodes] = {};
  std::int16_t product[4 * kMostWords] = {};

  GpuChain(const GpuDatapath& datapath, std::uint64_t k);
  static constexpr std::uint64_t strips(std::uint64_t lines) { return (lines + kStrip - 1) / kStrip; }
  /// Of all strips of so many lines.
  std::uint64_t packed_bytes(bool is_a, std::uint64_t lines) const {
    return strips(lines) * units * (is_a ? a_bytes : b_bytes);
  }

 private:
  void put_words(const GpuDatapath& datapath);
};

}  // namespace tcnum
