// Numbers and products of wanted exponents.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tcnum/format.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// The exponent of the smallest positive number of a format.
constexpr int smallest_exponent(const Format& f) { return f.min_exponent() - f.fraction_bits; }

/// ±significand · 2^exponent, cut to the format's bits and, beyond its range, its largest number.
std::uint64_t cut_code(const Format& format, bool negative, uint128 significand, int exponent);

/// Products that are exact powers of two.
class ProductMaker {
 public:
  explicit ProductMaker(const Instruction& instruction);
  int lowest() const { return lowest_; }    ///< exponent of the smallest product of normal powers of two
  int highest() const { return highest_; }  ///< of the largest
  int lowest_subnormal() const { return lowest_subnormal_; }
  /// Sets a[k]·b[k] = ±2^exponent; the exponent must lie in lowest_subnormal() … highest().
  void put(Problem& problem, int k, bool negative, int exponent) const;
  /// ±2^exponent as a code of c, rounded into the format's range.
  std::uint64_t accumulator(bool negative, int exponent) const;

 private:
  const Instruction* instruction_;
  int lowest_, highest_, lowest_subnormal_;
};

}  // namespace tcnum
