// The loops of tree panels, compiled for several CPUs of which the program picks when it starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "number_codes.hpp"
#include "operands.hpp"
#include "trees.hpp"

namespace tcnum::panels {

/// Rows of A that go along a panel together.
inline constexpr std::size_t kTreeRows = 4;
/// Products of a node whose signs a byte has.
inline constexpr std::size_t kFewProducts = 8;

/// Of a double: the bits of its fraction among its first 16, and what its exponent is more by.
inline constexpr int kTopFraction = 4, kBias = 1023;

/// The power of two that a product is aligned with has exponents of both operands: the first 16 bits of it, as a
/// double, are the sum of what these two tell. A's stand there twice, as what is loaded for a whole vector takes less
/// so. Of powers too small for doubles the sum is negative.
inline std::int32_t tops_of_a(std::int16_t exponent) {
  const auto top = static_cast<std::uint16_t>((exponent + kBias) * (1 << kTopFraction));
  return static_cast<std::int32_t>(top * 0x10001u);
}
inline std::int16_t top_of_b(std::int16_t exponent) {
  return static_cast<std::int16_t>(exponent * (1 << kTopFraction));
}

/// Some numbers are multiples of 2^lowest, and below 2^top.
struct Reach {
  int lowest = 0, top = 0;

  /// That of any two's products.
  friend Reach operator*(const Reach& x, const Reach& y) { return {x.lowest + y.lowest, x.top + y.top}; }
};

/// What kTreeRows rows have, so far apart.
template <class T>
struct TreeRows {
  const T* first = nullptr;
  std::size_t stride = 0;

  const T* operator[](std::size_t row) const { return first + row * stride; }
  TreeRows& operator+=(std::size_t count) {
    first += count;
    return *this;
  }
};

/// kTreeRows rows of A with a panel of B, along some k-steps.
struct TreeWork {
  const TreePlan* plan = nullptr;
  std::size_t k_steps = 0;
  TreeRows<double> a;
  /// What operands are aligned with, where the plan wants it (tops_of_a(), top_of_b()); of infinities, NaNs, and zeros
  /// that do not count below those of all numbers, with any other operand's.
  TreeRows<std::int32_t> a_tops;
  const double* b = nullptr;  ///< [depth][kColumns]
  const std::int16_t* b_tops = nullptr;
  bool are_finite = false;  ///< all operands
  /// If they are: of A's operands along all k-steps, and of B's along them and along each.
  Reach a_reach, b_reach;
  const Reach* b_reach_of_k_step = nullptr;
  /// Where the plan has nodes that cut products alone: biased operands. For each such node, and each whose scales alone
  /// align its sum, a word with a bit for each of its products' operands (TreePart), and the word's last byte, which
  /// has all of kFewProducts.
  TreeRows<double> a_biased;
  const double* b_biased = nullptr;
  TreeRows<std::uint8_t> a_few_flags;         ///< [nodes]
  const std::uint8_t* b_few_flags = nullptr;  ///< [nodes][kColumns]
  TreeRows<std::int64_t> a_flags;
  const std::int64_t* b_flags = nullptr;
  /// Where the plan scales sums: values of scales and the powers of two that these are aligned with, for each block.
  TreeRows<double> a_scales, a_scale_powers;
  const double *b_scales = nullptr, *b_scale_powers = nullptr;  ///< [blocks][kColumns]
  /// Room for [kTreeRows][kColumns].
  double *sums = nullptr, *alignments = nullptr;
  std::int16_t* tops = nullptr;
  double* results[kTreeRows] = {};     ///< kColumns, c of the first k-step, and then the results of the last
  const double* next = nullptr;        ///< those that are worked on next, one row after the other
  std::int64_t* left[kTreeRows] = {};  ///< of each result, not zero: it could not be told, and is c still
  double* terms = nullptr;             ///< of a node, and their powers: room for [2][terms][kTreeRows] vectors
  double* values = nullptr;            ///< [places][kTreeRows][kColumns]
  double* powers = nullptr;            ///< of two that they are aligned with, likewise
};

/// Functions of one CPU. They want the machine to round to nearest, and to keep subnormal numbers.
struct TreeKernels {
  const char* name;
  /// Exponents of operands that were read by a rule.
  void (*exponents)(const OperandRule&, bool of_zeros_too, const double* numbers, std::size_t count, std::int16_t* to);
  void (*grow)(const double* numbers, std::size_t count, double* to);
  bool (*are_finite)(const double* numbers, std::size_t count);
  /// Whether all are numbers that these panels are for, if those are from `least` on (kLeastUsualOperand).
  bool (*are_usual)(const double* numbers, std::size_t count, double least);
  /// Least and greatest magnitudes of finite numbers that are not zero; both 1 if there are none.
  std::pair<double, double> (*extremes)(const double* numbers, std::size_t count);
  /// Of plans that leave nothing.
  void (*run)(const TreeWork&);
  /// Of others, along one k-step; whether any result was left.
  bool (*run_leaving)(const TreeWork&);
};

/// Those of this machine, or of the CPU that hwy::SetSupportedTargetsForTest() chose; null if it has no FMA.
const TreeKernels* tree_kernels();

}  // namespace tcnum::panels
