// How a GPU evaluates a chain of one datapath along k, in products of whole matrices.
#pragma once

#include <cstdint>

#include "gpu_datapath.hpp"

namespace tcnum {

/// How the k-steps of a chain lie in memory. 64 rows of A (or columns of B) are a *strip*; what an evaluator wants of a
/// strip for one step along k is a *unit*, and a strip's units lie one behind the other. A unit is a single product of
/// a chain of FMAs, and else a k-step.
struct GpuChain {
  static constexpr int kStrip = 64;
  static constexpr int kMostWords = GpuDatapath::kMostProducts / 4 + GpuDatapath::kMostNodes;

  std::uint64_t units = 0;
  std::uint32_t a_bytes = 0, b_bytes = 0;  ///< of a unit: multiples of 16
  /// Of integers and scaled sums, of which a word has four: those of each node, and which product each byte is; −1:
  /// none, so it is zero.
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
