// The loops of long panels, compiled for several CPUs of which the program picks when it starts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "long_trees.hpp"
#include "number_writer.hpp"
#include "operands.hpp"

namespace tcnum::panels {

/// Numbers taken apart: ±significand · 2^last, aligned with 2^exponent.
struct LongNumbers {
  std::uint64_t* significand;  ///< and two bits above it
  std::int64_t *last, *exponent;
};
/// Doubles that their magnitudes lie between, for brackets; those of A's products with a minus below.
struct Bounds {
  double *above, *below;
};
/// The exponent of zeros that take part in no alignment, and about that of a product of one.
inline constexpr std::int64_t kLongNone = -(std::int64_t{1} << 26);
/// Of a significand: the number is negative, or it is none.
inline constexpr std::uint64_t kLongNegative = std::uint64_t{1} << 63, kLongSpecial = std::uint64_t{1} << 62;

/// A row of A with a panel of B, along one link.
struct LongWork {
  const LongPlan* plan = nullptr;
  const LongSums* sums = nullptr;                             ///< which of the plan's
  LongNumbers a, b;                                           ///< [depth], and [depth][kColumns]
  bool any_special = false;                                   ///< of these
  LongNumbers a_scale, b_scale;                               ///< if sums are scaled: [blocks], and [blocks][kColumns]
  Bounds a_bounds, b_bounds, a_scale_bounds, b_scale_bounds;  ///< of these, for brackets
  const NumberWriter* writer = nullptr;                       ///< and of results
  const std::uint64_t* c = nullptr;                           ///< kColumns codes
  std::uint64_t* codes = nullptr;                             ///< of the results, which may replace c
  std::uint64_t* left = nullptr;     ///< of each result, not zero: it could not be told, and is c
  std::uint64_t* results = nullptr;  ///< room for a number for each node
  std::uint64_t* terms = nullptr;    ///< and for each term of any of them
};

/// Functions of one CPU.
struct LongKernels {
  const char* name;
  /// Takes codes apart, a whole number of kColumns; whether any is no number.
  bool (*decode)(const OperandRule&, bool zeros_align, const std::uint64_t* codes, std::size_t count,
                 const LongNumbers& to);
  /// Whether any result was left.
  bool (*run)(const LongWork&);
  std::size_t (*room)(std::size_t numbers);  ///< that so many want, in words
};

/// Those of this machine, or of the CPU that hwy::SetSupportedTargetsForTest() chose; null if it has no FMA, with which
/// all panels do without.
const LongKernels* long_kernels();

}  // namespace tcnum::panels
