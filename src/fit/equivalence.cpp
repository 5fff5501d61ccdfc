// Which datapaths of a space are one and the same. docs/equivalence.md states and proves each rule; here each is a
// function of that name, in a table.
#include "equivalence.hpp"

#include <array>

namespace tcnum {
namespace {

/// One pass over the rules. What they know of the datapath is worked out once, at the beginning: every rule replaces a
/// datapath by one that gives the same results, so that bounds on the numbers that it meets still hold.
class Pass : RulePass {
 public:
  Pass(const Space& space, const Choice& choice)
      : RulePass(space, choice), facts_(space, choice), inner_same_(!space.inner_rounding(choice)) {}

  /// Applies the rules of docs/equivalence.md, numbered from 0 on.
  Choice apply() {
    constexpr bool (Pass::*kRules[])() = {
        &Pass::roundings_that_nothing_uses,    &Pass::cuts_below_everything,
        &Pass::natural_zeros_that_cut_nothing, &Pass::floors_that_cannot_show,
        &Pass::exponent_of_subnormals,         &Pass::tiny_results,
        &Pass::sums_that_need_no_rounding,     &Pass::overflow_that_cannot_happen,
        &Pass::nan_operands_that_never_meet,   &Pass::cutting_down_then_rounding_down,
        &Pass::products_that_need_no_rounding, &Pass::zeros_that_c_makes_positive,
    };
    for (const auto rule : kRules) {
      if ((this->*rule)()) break;
    }
    return c_;
  }

 private:
  // The rules. Each changes c_; it returns whether the pass is over, because nothing is cut any more.
  bool roundings_that_nothing_uses() {
    if (!space_.uses_output_rounding(c_)) {
      reset(Property::output_rounding);
      reset(Property::output_fraction_bits);
    }
    return false;
  }

  bool cuts_below_everything() {
    if (facts_.c_inside || facts_.exact || space_.output_fraction_bits(c_) != facts_.result.fraction_bits) return false;
    int top = facts_.a.max_exponent() + facts_.b.max_exponent();
    if (facts_.accumulates) {  // an accumulator is at most the sum of all products before it
      top += 1 + log2_ceil(s_.tree.k - static_cast<int>(s_.blocks.back().size()) + 1);
    } else if (space_.product_exponent(c_) == ProductExponent::normalised) {
      ++top;
    }
    if (top - bits_ > facts_.product_bit) return false;
    make_exact();
    return true;
  }

  bool natural_zeros_that_cut_nothing() {
    if (!varies(Property::zero_terms)) return false;
    const int top = std::max(zero_product_top_, facts_.c_inside ? facts_.c.min_exponent() : -kUnbounded);
    if (top - bits_ <= facts_.term_bit) reset(Property::zero_terms);

    // Beside a zero, one product alone, which is cut and rounded as if it were only rounded.
    if (varies(Property::zero_terms) && block_ == 2 && !facts_.accumulates && rounds_once(zero_product_top_ - bits_)) {
      const int least_product = facts_.flushes_inputs ? facts_.product_exponent : facts_.product_bit;
      if (zero_product_top_ - bits_ <= least_product || zeros_alike(Facts(space_, without(Property::zero_terms))))
        reset(Property::zero_terms);
    }
    return false;
  }

  bool floors_that_cannot_show() {
    if (!varies(Property::zero_exponent)) return false;
    const int floor = space_.zero_exponent(c_).value;
    // Without the floor, what it cuts may underflow.
    const bool same_zeros = zeros_alike(Facts(space_, without(Property::zero_exponent)));
    const bool accumulators_only = facts_.product_exponent >= floor;  // what the floor can act on
    if (floor - bits_ <= facts_.term_bit || (accumulators_only && facts_.accumulator_exponent >= floor) ||
        (same_zeros && (vanishes_below(floor) || (accumulators_only && rounds_once(floor - bits_))))) {
      reset(Property::zero_exponent);
    }
    return false;
  }

  bool exponent_of_subnormals() {
    if (!varies(Property::subnormal_exponent)) return false;
    const bool all = space_.get<Property::subnormal_exponent>(c_) == NormalisedSubnormals::all;
    const int floor = varies(Property::zero_exponent) ? space_.zero_exponent(c_).value : -kUnbounded;
    // The largest exponent that being subnormal can bring to a term.
    int product_top = -kUnbounded, accumulator_top = -kUnbounded;
    if (!facts_.flushes_inputs) {
      if (all && space_.product_exponent(c_) == ProductExponent::sum) product_top = zero_product_top_;
      if (facts_.c_inside) accumulator_top = facts_.c.min_exponent();
    }
    if (facts_.aligned_subnormals) accumulator_top = std::max(accumulator_top, facts_.inner.min_exponent());
    const int accumulator_bits = std::max(facts_.c_inside ? facts_.c.fraction_bits : 0, facts_.inner.fraction_bits);
    const int top = std::max(product_top, accumulator_top);
    const int harmless = std::max(floor, facts_.term_bit + bits_);
    // Any product that is not zero outranks a subnormal accumulator; alone, that is not cut, or no matter, since it is
    // flushed or rounded after all.
    const bool only_alone = product_top == -kUnbounded && facts_.product_exponent >= accumulator_top;
    const bool flushed = facts_.flushes_outputs && inner_same_ && !space_.widens() &&
                         space_.align_rounding(c_) == Rounding::toward_zero && facts_.quantum <= facts_.accumulator_bit;
    if (facts_.exact || top == -kUnbounded || top <= harmless ||
        (only_alone &&
         (bits_ >= accumulator_bits || (zeros_alike(facts_) && (flushed || rounds_once(accumulator_top - bits_)))))) {
      reset(Property::subnormal_exponent);
    } else if (all && space_.widens() && product_top <= harmless) {
      space_.put<Property::subnormal_exponent>(c_, NormalisedSubnormals::c_alone);
    }
    return false;
  }

  bool tiny_results() {
    if (!facts_.tiny && inner_same_ &&
        (!s_.adds_apart() || never_tiny() || (facts_.flushes_inputs && facts_.large_products(facts_.result)))) {
      reset(Property::subnormal_outputs);
    }
    if (!underflow_shows(facts_)) reset(Property::underflow_sign);
    return false;
  }

  bool sums_that_need_no_rounding() {
    if (!inner_same_ &&
        needs_no_rounding(facts_.inner_width, facts_.inner.fraction_bits, facts_.sum_bit >= facts_.inner_quantum)) {
      space_.put<Property::inner_result>(c_, InnerResult::fp32_toward_zero);
    }
    round_sums_that_fit();

    // Sums that fit the format they are rounded to first.
    if (space_.first_rounding(c_) &&
        (inner_same_ ? facts_.sum_width : facts_.last_width) <= facts_.c.fraction_bits + 1 &&
        (inner_same_ ? facts_.sum_bit : facts_.last_sum_bit) >= smallest_exponent(facts_.c)) {
      space_.put<Property::output_rounding>(c_, {std::nullopt, space_.output_rounding(c_)});
    }

    // Adding to c a block sum that is no longer than it rounds through fp32 as at once.
    if (!space_.narrows() && space_.add_through_fp32(c_) &&
        (s_.combination == Combination::chain_then_c || blocks_ == 1) &&
        fits(facts_.last_width, facts_.result.fraction_bits)) {
      reset(Property::add_rounding);
    }
    return false;
  }

  bool overflow_that_cannot_happen() {
    if (!overflow_reachable()) reset(Property::overflow);
    if (space_.overflow(c_) != Overflow::ieee) return false;
    const Rounding of_blocks = space_.output_rounding(c_);
    const Rounding of_adds = s_.adds_apart() ? space_.add_rounding(c_) : of_blocks;
    if (is_nearest(of_blocks) && is_nearest(of_adds)) {
      space_.put<Property::overflow>(c_, Overflow::infinity);
    } else if (of_blocks == Rounding::toward_zero && of_adds == Rounding::toward_zero) {
      space_.put<Property::overflow>(c_, Overflow::max_finite);
    }
    return false;
  }

  bool nan_operands_that_never_meet() {
    NanRule rule = space_.nan(c_);
    if (rule.propagate && !facts_.accumulates) {
      const bool a_first = std::ranges::find(rule.order, NanOperand::a) < std::ranges::find(rule.order, NanOperand::b);
      rule.order = a_first ? std::array{NanOperand::a, NanOperand::b, NanOperand::c}
                           : std::array{NanOperand::b, NanOperand::a, NanOperand::c};
      space_.put<Property::nan>(c_, rule);
    }
    if (space_.propagates_nans() && !rule.propagate) {
      if (const auto first = space_.first_with_terms_of(s_)) Space::set(c_, Property::structure, *first);
    }
    return false;
  }

  bool cutting_down_then_rounding_down() {
    if (facts_.exact || block_ != 2 || facts_.accumulates || !inner_same_ || varies(Property::zero_terms) ||
        space_.align_rounding(c_) != Rounding::down || space_.output_rounding(c_) != Rounding::down ||
        space_.output_fraction_bits(c_) != facts_.result.fraction_bits) {
      return false;
    }
    const bool true_exponents = facts_.flushes_inputs || space_.product_exponent(c_) == ProductExponent::normalised ||
                                space_.get<Property::subnormal_exponent>(c_) == NormalisedSubnormals::all;
    const int product_bits = facts_.a.fraction_bits + facts_.b.fraction_bits;
    // How far below the alignment exponent the sum can be when a product is cut.
    int below = 1;
    if (!true_exponents)
      below += std::max(facts_.a.fraction_bits, facts_.b.fraction_bits);
    else if (bits_ < product_bits + 4)
      below += std::min(facts_.a.fraction_bits, facts_.b.fraction_bits);
    const int least_bits = true_exponents ? product_bits + 1 : product_bits + below + 3;
    if (bits_ < std::max(least_bits, facts_.result.fraction_bits + below)) return false;
    make_exact();
    return true;
  }

  bool products_that_need_no_rounding() {
    if (block_ == 1 && blocks_ > 1 &&
        facts_.a.fraction_bits + facts_.b.fraction_bits + 1 <= facts_.inner.fraction_bits &&
        facts_.product_bit >= facts_.inner.min_exponent() && !space_.nan(c_).propagate &&
        facts_.a.max_exponent() + facts_.b.max_exponent() + 1 <= facts_.inner.max_exponent()) {
      join_products();
    }
    return false;
  }

  bool zeros_that_c_makes_positive() {
    if (space_.get<Property::zero_sign>(c_) != ZeroSums::ieee_but_positive_with_c) return false;
    const bool never_flushed =
        !facts_.flushes_outputs || (facts_.flushes_inputs && facts_.large_products(facts_.result)) || never_tiny();
    const bool positive = space_.get<Property::underflow_sign>(c_) == UnderflowSign::positive;
    if (inner_same_ && !space_.narrows() && (never_flushed || positive)) {
      space_.put<Property::zero_sign>(c_, ZeroSums::positive);
    }
    return false;
  }

  void make_exact() {
    space_.put<Property::fraction_bits>(c_, kExact);
    for (Property p : {Property::align_rounding, Property::product_exponent, Property::zero_terms,
                       Property::zero_exponent, Property::subnormal_exponent}) {
      reset(p);
    }
  }

  Choice without(Property p) const {
    Choice other = c_;
    Space::set(other, p, 0);
    return other;
  }

  /// Whether all terms are multiples of so large a number that no sum of them, c included, is ever tiny.
  bool never_tiny() const {
    return inner_same_ && std::min(facts_.product_bit, smallest_exponent(facts_.c)) >= facts_.result.min_exponent();
  }

  /// Whether the sign of a sum that underflows can be seen. Adds of numbers of the result's format never underflow
  /// unless they flush, and block sums of which nothing is cut below the smallest result neither.
  bool underflow_shows(const Facts& of) const {
    if (never_tiny()) return false;
    if (s_.adds_apart() && (!inner_same_ || space_.narrows())) return true;
    if (s_.adds_apart() && of.flushes_outputs) {
      // Only c can be tiny; in a later add it is so no more.
      const bool pairs = s_.combination == Combination::pairs;
      const bool c_enters_last = blocks_ == 1 || !(s_.combination == Combination::adds || (pairs && blocks_ > 2) ||
                                                   s_.combination == Combination::group_trees);
      return c_enters_last || !positive_zeros() || !of.large_products(of.result);
    }
    return block_sum_underflow_shows(of);
  }

  /// Rounding down, only positive sums underflow. The sign of an intermediate zero is lost where zero sums are
  /// positive.
  bool block_sum_underflow_shows(const Facts& of) const {
    const Rounding mode = space_.output_rounding(c_);
    const auto underflows = [&](bool tiny, int bit, int quantum, bool as_output) {
      if (!tiny || of.flushes_outputs) return tiny;
      if (as_output && mode == Rounding::down) return false;
      return bit < quantum - (as_output && mode == Rounding::nearest_away ? 1 : 0);
    };
    const bool last = !s_.adds_apart() && underflows(of.last_tiny, of.last_sum_bit, of.quantum, true);
    return last || (!positive_zeros() && underflows(of.tiny, of.sum_bit, of.inner_quantum, inner_same_));
  }

  /// Whether a sum that is cut to zero looks like one that underflows. Cut downward, one that is not zero is cut to
  /// zero only if it has a positive term.
  bool zeros_alike(const Facts& of) const {
    const bool cut_is_positive = positive_zeros() || (space_.align_rounding(c_) == Rounding::down &&
                                                      space_.output_rounding(c_) != Rounding::down);
    return cut_is_positive &&
           (!underflow_shows(of) || space_.get<Property::underflow_sign>(c_) == UnderflowSign::positive);
  }

  /// Whether cutting an accumulator that is alone at that bit and rounding it is the same as rounding it.
  bool rounds_once(int bit) const {
    const Rounding cut = space_.align_rounding(c_), mode = space_.output_rounding(c_);
    if (!inner_same_) return false;
    if (cut == Rounding::toward_zero && mode == Rounding::nearest_away) return bit < facts_.quantum;
    return cut == mode && cut != Rounding::nearest_even && bit <= facts_.quantum;
  }

  /// Whether what a floor acts on becomes zero, or has no bit that the floor cuts: it has exponents below the floor.
  bool vanishes_below(int floor) const {
    const Rounding cut = space_.align_rounding(c_), mode = space_.output_rounding(c_);
    if (!inner_same_ || mode == Rounding::up || mode == Rounding::down) return false;
    const bool accumulators_only = facts_.product_exponent >= floor;
    const int accumulator_bits = std::max(facts_.c_inside ? facts_.c.fraction_bits : 0, facts_.inner.fraction_bits);
    const Facts::Terms terms{accumulators_only ? 0 : block_,
                             facts_.accumulator_exponent >= floor ? std::nullopt : std::optional(accumulator_bits)};
    const int enough = facts_.quantum - (mode == Rounding::toward_zero ? 0 : 1);  // for a result that is not zero
    const int top = enough - (floor - 1 - bits_);
    if (top < 0) return false;
    constexpr int kBeyondAnySum = 20;  // more bits than the carries of any sum
    if (top > bits_ + kBeyondAnySum) return true;
    // A tie goes to zero; terms that are cut toward zero, or to less than what bounds them, stay less.
    const bool as_much_vanishes = mode == Rounding::nearest_even || cut == Rounding::toward_zero;
    const int128 sum = static_cast<int128>(1) << top, largest = facts_.largest_sum(bits_, terms);
    return sum > largest || (sum == largest && as_much_vanishes) ||
           facts_.last_bit(bits_, terms, top) > (cut == Rounding::toward_zero ? 0 : 1);
  }

  /// Whether a sum of that width is a number of so many bits. A product alone has its own.
  bool fits(int width, int fraction_bits) const { return width <= fraction_bits + 1 || short_product(fraction_bits); }

  bool short_product(int fraction_bits) const {
    return s_.products_alone() && facts_.a.fraction_bits + facts_.b.fraction_bits + 1 <= fraction_bits;
  }

  /// Whether a tiny sum of that width may be rounded to the smallest normal number: all its bits are ones, one more
  /// than a subnormal number has.
  bool rounds_up_to_normal(int width, int fraction_bits) const {
    if (width <= fraction_bits || short_product(fraction_bits)) return false;
    const int128 all_ones = (static_cast<int128>(2) << fraction_bits) - 1;
    return !facts_.most_units || *facts_.most_units >= all_ones;
  }

  bool needs_no_rounding(int width, int fraction_bits, bool tiny_is_exact) const {
    return fits(width, fraction_bits) &&
           (tiny_is_exact || (facts_.flushes_outputs && !rounds_up_to_normal(width, fraction_bits)));
  }

  /// Where every block sum is a number of the output's format, its rounding does not show.
  void round_sums_that_fit() {
    // The terms of a zero sum of one product have one sign.
    const bool signs_zero = space_.output_rounding(c_) == Rounding::down && !positive_zeros() && !s_.products_alone();
    const bool tiny_is_exact = (inner_same_ ? facts_.sum_bit : facts_.last_sum_bit) >= facts_.quantum;
    const int width = inner_same_ ? facts_.sum_width : facts_.last_width;
    if (signs_zero || !(inner_same_ || facts_.c_inside) ||
        !needs_no_rounding(width, space_.output_fraction_bits(c_), tiny_is_exact)) {
      return;
    }
    if (space_.overflow(c_) != Overflow::ieee) {
      reset(Property::output_rounding);
    } else if (space_.output_rounding(c_) == Rounding::nearest_away) {  // what overflows still depends on the direction
      space_.put<Property::output_rounding>(c_, {std::nullopt, Rounding::nearest_even});
    }
  }

  bool overflow_reachable() const {
    const Instruction& in = space_.instruction();
    const Format &a = format(in.a), &b = format(in.b), &r = facts_.result;
    const int largest_sum = a.max_exponent() + b.max_exponent() + 2 + log2_ceil(in.products());
    if (largest_sum >= r.max_exponent() - r.fraction_bits - 2) return true;
    if (facts_.c.max_exponent() < r.max_exponent() - r.fraction_bits - 2) return false;
    // Products alone are too small to move the largest c; rounding c itself must not overflow either.
    if (s_.adds_apart()) return false;  // to nearest or toward zero, both in full precision
    return overflow_reachable_in_chain();
  }

  /// Next to a c that large, products may be cut to nothing, or, downward, to one unit each.
  bool overflow_reachable_in_chain() const {
    const Instruction& in = space_.instruction();
    const Format& r = facts_.result;
    const int bits = space_.fraction_bits(c_);
    const Rounding align = space_.align_rounding(c_), mode = space_.output_rounding(c_);
    const bool full = space_.output_fraction_bits(c_) == r.fraction_bits;
    if (bits == kExact) return !(mode == Rounding::toward_zero || (is_nearest(mode) && full));
    const int room = r.max_exponent() - bits - (format(in.a).max_exponent() + format(in.b).max_exponent() + 2);
    if (align == Rounding::toward_zero)
      return !(room >= 0 || mode == Rounding::toward_zero || (is_nearest(mode) && full));
    if (bits < r.fraction_bits) return true;
    if (mode == Rounding::toward_zero && align == Rounding::nearest_even) return false;
    if (align == Rounding::nearest_even) return !(room >= 1 || (is_nearest(mode) && full));
    if (mode == Rounding::down) return true;
    return !(room >= 1 && log2_ceil(block_) < bits - r.fraction_bits - (is_nearest(mode) ? 1 : 0));
  }

  /// Of single products that intermediate results hold exactly.
  void join_products() {
    const Structure& s = space_.structure(c_);
    const AddRounding add = space_.get<Property::add_rounding>(c_);
    Combination combination = s.combination;
    int group = 0;
    Blocks blocks = s.blocks;
    switch (s.combination) {
      case Combination::adds:
        if (add.through_fp32 && !space_.narrows()) return;
        combination = Combination::chain;
        break;
      case Combination::adds_then_c:
        combination = Combination::chain_then_c;
        break;
      case Combination::pairs:
        combination = Combination::adds;
        blocks = in_pairs(s.blocks);
        break;
      case Combination::group_trees:
        if (space_.get<Property::zero_sign>(c_) == ZeroSums::ieee_but_positive_with_c) return;
        group = s.group / 2;
        if (group == 2) combination = Combination::pairs;
        blocks = in_pairs(s.blocks);
        break;
      case Combination::tree_then_c:
        blocks = in_pairs(s.blocks);
        break;
      case Combination::apart:  // which have rules of their own
      case Combination::apart_parity:
      case Combination::apart_halves:
        return;
      case Combination::chain_then_c:  // the first two add up either way
        if (blocks[1] < blocks[0]) std::swap(blocks[0], blocks[1]);
        break;
      case Combination::chain:
        return;
    }
    if (blocks.empty()) return;
    const auto joined = space_.first_with_terms_of(make_structure(combination, blocks, s.order, group));
    if (!joined) return;
    Space::set(c_, Property::structure, *joined);
    if (s.combination == Combination::chain_then_c) return;
    // What was an add is a block sum now.
    if (add.through_fp32 && combination == Combination::chain)
      space_.put<Property::output_rounding>(c_, {add.rounding, Rounding::nearest_even});
    else
      space_.put<Property::output_rounding>(c_, {std::nullopt, add.rounding});
    if (!inner_same_) {
      space_.put<Property::inner_result>(
          c_, add.rounding == Rounding::toward_zero ? InnerResult::fp32_toward_zero : InnerResult::fp32_nearest_even);
    }
    if (combination == Combination::chain) reset(Property::add_rounding);  // else something is still added
  }

  const Facts facts_;
  const bool inner_same_;  // intermediate results are as the output
};

}  // namespace

Choice canonical_floating(const Space& space, const Choice& choice) {
  return settled(choice, [&](const Choice& c) { return Pass(space, c).apply(); });
}

}  // namespace tcnum
