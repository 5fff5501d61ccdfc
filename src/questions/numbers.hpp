// Numbers and products of wanted exponents, products of integers, and block scales.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "emu/integers.hpp"
#include "random_numbers.hpp"
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

// --- Products of integers.

/// An operand of each format, and their product.
struct Factors {
  std::int64_t a, b;
  std::int64_t product() const { return a * b; }
};

/// The least and the largest product of two operands.
struct ExtremeProducts {
  Factors least, largest;
};
inline ExtremeProducts extreme_products(const Format& a, const Format& b) {
  const IntegerRange x = range_of(a), y = range_of(b);
  const std::array<Factors, 4> ends = {
      {{x.lowest, y.lowest}, {x.lowest, y.highest}, {x.highest, y.lowest}, {x.highest, y.highest}}};
  const auto [least, largest] = std::ranges::minmax_element(ends, {}, &Factors::product);
  return {*least, *largest};
}

// --- Block scales: the rest of a problem is made up with scales of 1.

/// The exponents that a row's scale and a column's have together, as powers of two: −254 … 254 of ue8m0.
Interval scale_exponents(const Instruction& instruction);

/// Makes the product of a block's two scales 2^exponent, brought into their range, as even a split as there is.
void put_scales(const Instruction& instruction, Problem& problem, std::size_t block, int exponent);

/// Multiplies c by 2^exponent, cut to its format.
void scale_accumulator(const Instruction& instruction, Problem& problem, int exponent);

/// Gives scales any significands, where their format has them.
void draw_scale_significands(const Instruction& instruction, Problem& problem, RandomNumbers& random);

}  // namespace tcnum
