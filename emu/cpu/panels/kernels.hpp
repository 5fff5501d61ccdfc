// The loops of panels, compiled for several CPUs of which the program picks when it starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/cpu/matrix_codes.hpp"
#include "operands.hpp"
#include "plan.hpp"

namespace tcnum::panels {

/// What is packed: some lines, which are rows of A or columns of B, along some products. Of more lines or products than
/// there are, codes are zeros and scales 1.
struct ToPack {
  MatrixCodes<const std::byte> codes;  ///< element (line, k)
  std::size_t lines = 0, products = 0;
  MatrixCodes<const std::byte> scales;                ///< element (line, block)
  const std::vector<Scale>* scale_of_code = nullptr;  ///< null: nothing is scaled
  std::size_t block_k = 1;

  Scale scale(std::size_t line, std::size_t k) const {
    if (line >= lines || k >= products) return {};
    const auto code = static_cast<std::size_t>(*part_from(scales, line, k / block_k, 1).codes);
    return (*scale_of_code)[code & (scale_of_code->size() - 1)];
  }
};

/// kRows rows of A with a panel of B, along `k_steps` k-steps.
template <class T>
struct Work {
  const Plan* plan = nullptr;
  std::size_t k_steps = 0;
  const Packed<T>* a = nullptr;
  std::size_t row = 0;  ///< the first of the rows
  std::size_t a_places = 0, a_words = 0;
  int offset8 = 0;  ///< by which exponents of products that are not zero are more than the sums of those in 8 bits
  const Packed<T>* b = nullptr;
  float* sums[kRows] = {};      ///< kColumns results so far of each row, which become those after the k-steps
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
