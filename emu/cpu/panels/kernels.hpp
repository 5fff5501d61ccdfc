// The loops of panels, compiled for several CPUs of which the program picks when it starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "operands.hpp"
#include "plan.hpp"

namespace tcnum::panels {

/// Codes to pack: element (line, place) is code number `line · line_stride + k · k_stride`.
struct CodesToPack {
  const std::byte* codes = nullptr;
  std::size_t line_stride = 1, k_stride = 1;
  std::size_t lines = 0;     ///< as many as there are; a panel's others are zeros
  std::size_t products = 0;  ///< likewise along k
};

/// Codes of scales: that of (line, block) is number `line · line_stride + block · block_stride`, and those of more
/// lines or blocks than there are are 1.
struct ScalesToPack {
  const std::vector<Scale>* of_code = nullptr;  ///< null: nothing is scaled
  const std::byte* codes = nullptr;
  std::size_t line_stride = 1, block_stride = 1;
  std::size_t lines = 0, blocks = 0;

  Scale operator()(std::size_t line, std::size_t block) const {
    if (line >= lines || block >= blocks) return {};
    const auto code = static_cast<std::size_t>(codes[line * line_stride + block * block_stride]);
    return (*of_code)[code & (of_code->size() - 1)];
  }
};

/// What is packed.
struct ToPack {
  CodesToPack codes;
  ScalesToPack scales;
};

/// kRows rows of A with a panel of B, along `links` links.
template <class T>
struct Work {
  const Plan* plan = nullptr;
  std::size_t links = 0;
  const Packed<T>* a = nullptr;
  std::size_t row = 0;  ///< the first of the rows
  std::size_t a_places = 0, a_words = 0;
  int offset8 = 0;  ///< by which exponents of products that are not zero are more than the sums of those in 8 bits
  const Packed<T>* b = nullptr;
  float* sums[kRows] = {};      ///< kColumns results so far of each row, which become those after the links
  const float* next = nullptr;  ///< those that are worked on next, one row after the other
};

/// Functions of one CPU, in numbers of T. They want the machine to round toward zero, and to keep subnormal numbers.
template <class T>
struct KernelsIn {
  void (*pack_a)(const Plan&, const Fields&, const ToPack&, const std::vector<Place>&, Packed<T>&);
  void (*pack_b)(const Plan&, const Fields&, const ToPack&, const std::vector<Place>&, Packed<T>&);
  /// Chains of ordinary sums of which nothing leaves the range of the ordinary: the products are is_ordinary(), and the
  /// results so far, and what becomes of them, are ordinary too. If not, it says so and changes nothing.
  bool (*ordinary)(const Work<T>&);
};
struct Kernels {
  const char* name;
  KernelsIn<double> doubles;
  KernelsIn<float> floats;

  template <class T>
  const KernelsIn<T>& in() const {
    if constexpr (sizeof(T) == sizeof(double))
      return doubles;
    else
      return floats;
  }
};

/// Those of this machine, or of the CPU that hwy::SetSupportedTargetsForTest() chose; null if it has no FMA.
const Kernels* kernels();

/// The CPUs that kernels are compiled for, as Highway's bits.
std::int64_t compiled_targets();

/// Results so far from which an ordinary kernel may go on: zero, or of such a magnitude.
inline constexpr double kLeastOrdinary = 0x1p-88, kMostOrdinary = 0x1p100;
/// Whether the products of two ranges of operands are ordinary.
template <class T>
bool is_ordinary(const Range& a, const Range& b) {
  constexpr int kMostOperand = 20, kMostProduct = 60, kLeastProduct = sizeof(T) == 8 ? -96 : -64;
  if (a.any_special || b.any_special || a.highest > kMostOperand || b.highest > kMostOperand) return false;
  if (a.is_empty() || b.is_empty()) return true;
  if (a.highest - a.lowest > kMostSpan8 || b.highest - b.lowest > kMostSpan8) return false;
  return a.highest + b.highest <= kMostProduct && a.lowest + b.lowest >= kLeastProduct;
}

}  // namespace tcnum::panels
