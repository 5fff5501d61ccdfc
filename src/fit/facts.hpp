// What the rules of equivalence know of a datapath: bounds on the numbers that it meets, for any operands.
#pragma once

#include <optional>

#include "space.hpp"

namespace tcnum {

/// ⌈log₂ n⌉ of n ≥ 1.
int log2_ceil(int n);
/// Exponent of the smallest subnormal number.
int quantum_of(const Format& f);

/// What can be said of the numbers that a datapath of the space meets, for any operands. A *bit* is an exponent b such
/// that all of them are multiples of 2^b.
struct Facts {
  const Format &a, &b, &c, &result;
  const Format& inner;  ///< format of intermediate results
  bool c_inside;        ///< c is a term of the first block sum
  bool accumulates;     ///< block sums take in the results of earlier ones
  bool flushes_inputs, flushes_outputs;
  bool exact;         ///< no term is cut
  int quantum;        ///< of the smallest result of a block sum that is the result
  int inner_quantum;  ///< of one that goes on

  int product_bit;       ///< of all products
  int product_exponent;  ///< least exponent for alignment of a product that is not zero
  int accumulator_bit;   ///< of c, if it is inside, and of results that block sums take in
  int accumulator_exponent;
  int term_bit;              ///< of all terms of all block sums
  int sum_bit;               ///< of all block sums, after the cut
  int last_sum_bit;          ///< of the last one
  bool normalised_products;  ///< aligned by their leading bits
  /// Bits that the significand of a block sum can have, or kUnbounded: of any, of those that go on, of the last one.
  int sum_width, inner_width, last_width;
  /// What no block sum exceeds, in units of the last bit that the cut keeps; none where nothing is cut.
  std::optional<int128> most_units;
  bool aligned_subnormals;  ///< an intermediate result that is aligned may be subnormal
  bool tiny;                ///< a block sum that is not zero may be less than the smallest normal number
  bool last_tiny;           ///< the last one may

  Facts(const Space& space, const Choice& choice);

  /// How many products a sum has, and fraction bits of its accumulator, if it has one.
  struct Terms {
    int products;
    std::optional<int> accumulator_bits;
  };
  // Of terms cut at `bits` bits below the alignment exponent, in units of the last bit that is kept.
  int128 largest_product(int bits) const;
  int128 largest_sum(int bits, const Terms& terms) const;
  /// The least bit that may be set in a term of a sum of 2^top or more, cut or not, or 0 if that may be cut.
  int last_bit(int bits, const Terms& terms, int top) const;
  int width(int bits, const Terms& terms) const;  ///< most bits of a sum

  /// Whether products are multiples of so large a number that adding one to a normal number never gives a subnormal
  /// one.
  bool large_products(const Format& f) const { return product_bit > f.min_exponent() + f.fraction_bits; }

 private:
  void follow_blocks(const Space& space, const Choice& choice);
};

}  // namespace tcnum
