// Which datapaths that sum the products of a block apart from c are one and the same. docs/equivalence.md states and
// proves each rule; here each is a function of that name, in a table.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "equivalence.hpp"

namespace tcnum {
namespace {

class ApartPass : RulePass {
 public:
  ApartPass(const Space& space, const Choice& choice) : RulePass(space, choice) {}

  /// Applies the rules of docs/equivalence.md, numbered from 1 on.
  Choice apply() {
    constexpr void (ApartPass::*kRules[])() = {
        &ApartPass::products_that_are_not_cut,   &ApartPass::sums_kept_below_the_total,
        &ApartPass::totals_that_lose_nothing,    &ApartPass::c_that_is_cut_to_nothing,
        &ApartPass::floors_below_everything,     &ApartPass::exponents_of_subnormals,
        &ApartPass::results_that_are_never_tiny, &ApartPass::overflow_that_no_product_brings,
    };
    for (const auto rule : kRules) (this->*rule)();
    return c_;
  }

 private:
  void products_that_are_not_cut() {
    const bool normalised = space_.product_exponent(c_) == ProductExponent::normalised;
    const int enough = a_.max_exponent() + b_.max_exponent() + (normalised ? 1 : 0) - product_bit_;
    if (space_.fraction_bits(c_) < enough) return;
    for (int v = 0; v < space_.count(Property::fraction_bits); ++v) {
      Choice other = c_;
      Space::set(other, Property::fraction_bits, v);
      if (space_.fraction_bits(other) < enough) continue;
      c_ = other;
      break;
    }
    reset(Property::align_rounding);
  }

  void sums_kept_below_the_total() {
    if (cut() != Rounding::down || total().from == TotalBits::From::all) return;
    if (zeros_are_negative_where_rounded_down()) return;
    const bool below_leading = total().from == TotalBits::From::leading_bit;
    const int least = space_.values<Property::sum_bits>()[1];
    int sum = std::max({total().bits, space_.c_bits(c_), space_.fraction_bits(c_), least});
    if (below_leading) sum = std::max({sum, total().bits + 1, space_.fraction_bits(c_) + 3 + carries()});
    // Beside a floor all terms may be smaller than what they are aligned to, and the total not cut before the last bit.
    if (below_leading && varies(Property::zero_exponent))
      sum = std::max(sum, space_.zero_exponent(c_).value - (r_.min_exponent() - total().bits));
    if (space_.sum_bits(c_) > sum) space_.put<Property::sum_bits>(c_, sum);
    const int c = std::max(total().bits, space_.sum_bits(c_));
    if (!below_leading && space_.c_bits(c_) > c) space_.put<Property::c_bits>(c_, c);
  }

  void totals_that_lose_nothing() {
    if (total().from == TotalBits::From::all) return;
    int enough = most_bits();
    if (total().from == TotalBits::From::leading_bit) {
      enough = std::max(
          {space_.sum_bits(c_) + 1, space_.c_bits(c_) + 2 + carries(), space_.fraction_bits(c_) + 3 + carries()});
      if (std::min(product_bit_, quantum()) < r_.min_exponent() - total().bits) return;
    }
    if (total().bits >= enough) reset(Property::total_bits);
  }

  void c_that_is_cut_to_nothing() {
    const auto& dropped = space_.get<Property::c_dropped>(c_);
    if (!dropped || cut() == Rounding::down) return;
    if (*dropped >= space_.c_bits(c_) + (cut() == Rounding::nearest_even ? 1 : 0)) reset(Property::c_dropped);
  }

  void floors_below_everything() {
    if (!varies(Property::zero_exponent)) return;
    const int floor = space_.zero_exponent(c_).value;
    if (aligning_to_cuts_nothing(floor) || floor_acts_on_nothing_that_shows(floor)) reset(Property::zero_exponent);
  }

  void exponents_of_subnormals() {
    const bool products = !flushes_inputs_ && space_.product_exponent(c_) == ProductExponent::sum;
    const auto& dropped = space_.get<Property::c_dropped>(c_);
    // A floor is above what c is aligned with, even if there is nothing else.
    const ZeroExponent& floor = space_.zero_exponent(c_);
    const int alignment =
        varies(Property::zero_exponent) ? std::max(r_.min_exponent(), floor.value) : r_.min_exponent();
    if (products || !aligning_to_cuts_nothing(alignment) ||
        (dropped && least_product_exponent() - *dropped <= r_.min_exponent())) {
      return;
    }
    reset(Property::subnormal_exponent);
  }

  void results_that_are_never_tiny() {
    const int sum_bit = std::min(product_bit_, least_product_exponent() - space_.c_bits(c_));
    const bool never_tiny = flushes_inputs_ && sum_bit >= r_.min_exponent();
    const int lowest =
        std::max(space_.c_bits(c_), std::min(space_.sum_bits(c_), space_.fraction_bits(c_) + 3 + carries()));
    const bool totals_vanish =
        total().from == TotalBits::From::alignment && cut() != Rounding::down && lowest > total().bits;
    if (never_tiny) reset(Property::subnormal_outputs);
    if (!totals_vanish && (never_tiny || (!flushes_outputs_ && sum_bit >= quantum()))) reset(Property::underflow_sign);
  }

  void overflow_that_no_product_brings() {
    const int largest = a_.max_exponent() + b_.max_exponent() + 2 + log2_ceil(space_.structure(c_).tree.k);
    const int room = r_.fraction_bits + 3;
    const bool no_bits = space_.sum_bits(c_) >= room && (total().from == TotalBits::From::all || total().bits >= room);
    if (largest < r_.max_exponent() - space_.values<Property::sum_bits>().back() &&
        space_.c_bits(c_) >= r_.fraction_bits &&
        (cut() != Rounding::down || (no_bits && space_.output_rounding(c_) != Rounding::down))) {
      reset(Property::overflow);
    }
  }

  const TotalBits& total() const { return space_.get<Property::total_bits>(c_); }
  Rounding cut() const { return space_.join_rounding(c_); }
  int most_bits() const { return std::max(space_.sum_bits(c_), space_.c_bits(c_)); }
  /// Products of a block and c, each at most 4 and 2 times the power of two that they are aligned to, are less than
  /// 2^(3 + this) times that together, and the products alone at most 2^(2 + this).
  int carries() const { return log2_ceil(2 * block_ + 1) - 2; }
  int quantum() const { return smallest_exponent(r_); }

  /// With which a product that is not zero is aligned.
  int least_product_exponent() const {
    const bool leading = space_.product_exponent(c_) == ProductExponent::normalised ||
                         space_.get<Property::subnormal_exponent>(c_) == NormalisedSubnormals::all;
    return leading && !flushes_inputs_ ? product_bit_ : a_.min_exponent() + b_.min_exponent();
  }

  /// Of sums that are zero, by IEEE 754's rule; not of small positive ones that are cut to zero.
  bool zeros_are_negative_where_rounded_down() const {
    return space_.get<Property::zero_sign>(c_) != ZeroSums::positive && space_.output_rounding(c_) == Rounding::down;
  }

  /// Whether what a block's sum loses where it is aligned to that exponent or less, the total would lose all the same.
  bool total_cuts_as_much(int exponent) const {
    return cut() == Rounding::down && total().from == TotalBits::From::leading_bit &&
           !zeros_are_negative_where_rounded_down() &&
           exponent - space_.sum_bits(c_) <= r_.min_exponent() - total().bits;
  }

  /// Whether all that is added to c, and c, keep every bit where they are aligned to that exponent or less, and c
  /// stays.
  bool aligning_to_cuts_nothing(int exponent) const {
    const int lowest = std::min(product_bit_, quantum());
    const bool leading = space_.get<Property::subnormal_exponent>(c_) != NormalisedSubnormals::none;
    const auto dropped = space_.get<Property::c_dropped>(c_);
    return exponent - space_.c_bits(c_) <= quantum() &&
           (exponent - space_.sum_bits(c_) <= product_bit_ || total_cuts_as_much(exponent)) &&
           (total().from != TotalBits::From::alignment || exponent - total().bits <= lowest) &&
           (!dropped || exponent - *dropped <= (leading ? quantum() : r_.min_exponent()));
  }

  /// Whether a floor is below c, and sums without c that it cuts are rounded to zero with it and without.
  bool floor_acts_on_nothing_that_shows(int floor) const {
    if (floor > r_.min_exponent() || space_.get<Property::subnormal_exponent>(c_) != NormalisedSubnormals::none)
      return false;
    const Rounding rounding = space_.output_rounding(c_);
    if (rounding != Rounding::nearest_even && rounding != Rounding::toward_zero) return false;
    const bool zeros_are_positive = space_.get<Property::zero_sign>(c_) == ZeroSums::positive &&
                                    space_.get<Property::underflow_sign>(c_) == UnderflowSign::positive;
    if (cut() != Rounding::down && !zeros_are_positive) return false;
    const bool total_is_aligned = total().from == TotalBits::From::alignment;
    const int last_bit = floor - (total_is_aligned ? std::min(space_.sum_bits(c_), total().bits) : space_.sum_bits(c_));
    const int half = quantum() - 1;  // of the smallest result
    if (last_bit > half) return false;
    // The largest exponent of products of which a bit is cut, and how far half of the smallest result is above it.
    const int room = half - (last_bit + space_.fraction_bits(c_) - 1);
    if (room < 0) return false;
    if (space_.product_exponent(c_) == ProductExponent::normalised) return log2_ceil(2 * block_) <= room;
    // A product is at most 4 − 2^(1 − shorter), where the cut leaves that as it is.
    const int shorter = std::min(a_.fraction_bits, b_.fraction_bits);
    if (space_.fraction_bits(c_) < shorter - 1) return log2_ceil(4 * block_) <= room;
    const std::int64_t most = block_ * ((std::int64_t{4} << shorter) - 2);
    return shorter + room >= std::numeric_limits<std::int64_t>::digits || most <= std::int64_t{1} << (shorter + room);
  }
};

}  // namespace

Choice canonical_apart(const Space& space, const Choice& choice) {
  return settled(choice, [&](const Choice& c) { return ApartPass(space, c).apply(); });
}

}  // namespace tcnum
