// The loops of tree panels, compiled for several CPUs of which the program picks when it starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "operands.hpp"
#include "trees.hpp"

namespace tcnum::panels {

/// Rows of A that go along a panel together.
inline constexpr std::size_t kTreeRows = 4;

/// Some numbers are multiples of 2^lowest, and below 2^top.
struct Reach {
  int lowest = 0, top = 0;

  /// That of any two's products.
  friend Reach operator*(const Reach& x, const Reach& y) { return {x.lowest + y.lowest, x.top + y.top}; }
};

/// kTreeRows rows of A with a panel of B, along some links.
struct TreeWork {
  const TreePlan* plan = nullptr;
  std::size_t links = 0;
  const double* a[kTreeRows] = {};
  /// That operands are aligned with, where the plan wants them; kNoExponent16 of infinities, NaNs, and zeros that do
  /// not count: with any other operand's, it is below those of all numbers.
  const std::int16_t* a_exponents[kTreeRows] = {};
  const double* b = nullptr;  ///< [depth][kColumns]
  const std::int16_t* b_exponents = nullptr;
  bool are_finite = false;  ///< all operands
  /// If they are: of A's operands along all links, and of B's along them and along each.
  Reach a_reach, b_reach;
  const Reach* b_reach_of_link = nullptr;
  /// Where the plan has nodes that cut products alone: grown operands, and for each node a word with the signs of those
  /// of its products, in their order.
  const double* a_grown[kTreeRows] = {};
  const double* b_grown = nullptr;
  const std::int64_t* a_negative[kTreeRows] = {};  ///< [nodes]
  const std::int64_t* b_negative = nullptr;        ///< [nodes][kColumns]
  /// Where the plan scales sums: values of scales and the powers of two that these are aligned with, for each block.
  const double *a_scales[kTreeRows] = {}, *a_scale_powers[kTreeRows] = {};
  const double *b_scales = nullptr, *b_scale_powers = nullptr;  ///< [blocks][kColumns]
  /// Room for [kTreeRows][kColumns].
  double *sums = nullptr, *alignments = nullptr;
  std::int16_t* tops = nullptr;
  double* results[kTreeRows] = {};     ///< kColumns, c of the first link, and then the results of the last
  const double* next = nullptr;        ///< those that are worked on next, one row after the other
  std::int64_t* left[kTreeRows] = {};  ///< of each result, not zero: it could not be told, and is c still
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
  /// Least and greatest magnitudes of finite numbers that are not zero; both 1 if there are none.
  std::pair<double, double> (*extremes)(const double* numbers, std::size_t count);
  /// Of plans that leave nothing.
  void (*run)(const TreeWork&);
  /// Of others, along one link; whether any result was left.
  bool (*run_leaving)(const TreeWork&);
};

/// Those of this machine, or of the CPU that hwy::SetSupportedTargetsForTest() chose; null if it has no FMA.
const TreeKernels* tree_kernels();

}  // namespace tcnum::panels
