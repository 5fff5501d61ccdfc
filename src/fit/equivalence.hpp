// Which datapaths of a space are one and the same: the rules that docs/equivalence.md states and proves, by its
// numbers, and what they know of a datapath.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>

#include "space.hpp"
#include "src/questions/numbers.hpp"

namespace tcnum {

/// The representative of a choice's class, of sums of floating-point numbers and of integers.
Choice canonical_floating(const Space& space, const Choice& choice);
Choice canonical_integers(const Space& space, const Choice& choice);
/// Of sums of floating-point numbers that are summed apart from c.
Choice canonical_apart(const Space& space, const Choice& choice);
/// Where there are block scales.
Choice canonical_scaled(const Space& space, const Choice& choice);
/// Whether no rule that holds for any edge rules replaces its core.
bool is_first_scaled_core(const Space& space, const Choice& choice);

/// ⌈log₂ n⌉ of n ≥ 1.
constexpr int log2_ceil(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }
constexpr bool is_nearest(Rounding mode) { return mode == Rounding::nearest_even || mode == Rounding::nearest_away; }

/// Passes over the rules until none applies any more, as one can make another apply.
template <class Pass>
Choice settled(Choice choice, const Pass& pass) {
  for (;;) {
    const Choice next = pass(choice);
    if (next == choice) return choice;
    choice = next;
  }
}

/// A choice that rules change, and what all of them know of the datapath that it was at first: a rule replaces a
/// datapath by one that gives the same results, so that bounds on the numbers that it meets still hold.
class RulePass {
 protected:
  RulePass(const Space& space, const Choice& choice)
      : space_(space),
        c_(choice),
        s_(space.structure(choice)),
        a_(format(space.operand_format(choice))),
        b_(space.instruction().b == space.instruction().a ? a_ : format(space.instruction().b)),
        r_(format(space.instruction().d)),
        block_(s_.block_k()),
        blocks_(static_cast<int>(s_.blocks.size())),
        bits_(space.fraction_bits(choice)),
        product_bit_(smallest_exponent(a_) + smallest_exponent(b_)),
        zero_product_top_(std::max(a_.min_exponent() + b_.max_exponent(), b_.min_exponent() + a_.max_exponent())),
        flushes_inputs_(space.get<Property::subnormal_inputs>(choice) == Subnormals::flushed),
        flushes_outputs_(space.get<Property::subnormal_outputs>(choice) == Subnormals::flushed) {}

  void reset(Property p) { Space::set(c_, p, 0); }
  bool varies(Property p) const { return Space::value(c_, p) != 0; }
  bool positive_zeros() const { return space_.get<Property::zero_sign>(c_) == ZeroSums::positive; }

  const Space& space_;
  Choice c_;
  const Structure& s_;
  const Format &a_, &b_, &r_;
  const int block_, blocks_, bits_;
  const int product_bit_;       ///< all products are multiples of 2^this
  const int zero_product_top_;  ///< the largest exponent that the product of a zero, or a subnormal, can have
  const bool flushes_inputs_, flushes_outputs_;
};

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
