// Which datapaths with block scales are one and the same. docs/equivalence.md states and proves each rule; here each is
// a function of that name, in a table.
#include <algorithm>
#include <array>

#include "equivalence.hpp"

namespace tcnum {
namespace {

class ScaledPass : RulePass {
 public:
  ScaledPass(const Space& space, const Choice& choice)
      : RulePass(space, choice),
        scale_(format(space.instruction().scales.format)),
        top_(a_.max_exponent() + b_.max_exponent()) {
    const bool powers = scale_.id == FormatId::ue8m0;
    scale_bit_ = 2 * (powers ? -scale_.bias : smallest_exponent(scale_));
    least_scale_exponent_ = 2 * (powers ? -scale_.bias : scale_.min_exponent());
  }

  /// Rules that are the same whatever the edge rules are: the first ones.
  static constexpr std::size_t kRulesOfCores = 3, kRules = 10;

  /// Applies one of so many rules of docs/equivalence.md, numbered from 1 on: what is known of the datapath is worked
  /// out anew after each that changes it.
  Choice apply(std::size_t rules) {
    constexpr void (ScaledPass::*kAll[kRules])() = {
        &ScaledPass::exponents_that_nothing_uses,  &ScaledPass::cuts_below_the_bits_of_a_scale_block,
        &ScaledPass::zeros_of_a_scale_block,       &ScaledPass::floors_that_cut_nothing,
        &ScaledPass::exponents_of_subnormals,      &ScaledPass::sums_that_are_never_tiny,
        &ScaledPass::blocks_that_need_no_rounding, &ScaledPass::overflow_that_no_scale_brings,
        &ScaledPass::exact_groups_in_exact_sums,   &ScaledPass::adds_of_exact_blocks,
    };
    const Choice before = c_;
    for (std::size_t i = 0; i < rules && c_ == before; ++i) (this->*kAll[i])();
    return c_;
  }

 private:
  void exponents_that_nothing_uses() {
    if (exact()) reset(Property::group_exponent);
    if (!space_.cuts(c_)) reset(Property::subnormal_exponent);
    if (groups() && !s_.scaled.cut && (scales_alone() || exact())) reset(Property::product_exponent);
  }

  void cuts_below_the_bits_of_a_scale_block() {
    if (exact() || !sums_of_one_scale()) return;
    int above = top_;  // the largest exponent for alignment, less that of the scales
    if (groups())
      above = scales_alone() ? 0 : top_ + (normalised_products() ? 1 : 0);
    else if (normalised_products())
      above += scale_fraction() > 0 ? 3 : 1;
    if (above - bits_ > product_bit_ - scale_fraction()) return;
    if (full_output()) space_.put<Property::fraction_bits>(c_, kExact);
    reset(Property::zero_terms);
    reset(Property::group_exponent);
    if (s_.scaled.cut) return;
    for (Property p : {Property::align_rounding, Property::product_exponent, Property::subnormal_exponent}) reset(p);
  }

  void zeros_of_a_scale_block() {
    if (varies(Property::zero_terms) && sums_of_one_scale() &&
        zero_product_top_ - bits_ <= product_bit_ - scale_fraction()) {
      reset(Property::zero_terms);
    }
  }

  void floors_that_cut_nothing() {
    if (!varies(Property::zero_exponent) || !only_fp32()) return;
    const int floor = space_.zero_exponent(c_).value;
    const bool leading = normalised_products() || normalised_subnormals();
    int least = least_scale_exponent_;  // of a term that is not zero
    if (!groups() || !scales_alone()) least = leading ? term_bit() : least + a_.min_exponent() + b_.min_exponent();
    const int accumulator = normalised_subnormals() ? smallest_exponent(r_) : r_.min_exponent();
    if (floor - bits_ <= std::min(term_bit(), smallest_exponent(r_)) || (least >= floor && accumulator >= floor))
      reset(Property::zero_exponent);
  }

  void exponents_of_subnormals() {
    if (!varies(Property::subnormal_exponent) || !only_fp32() || !no_product_is_aligned_otherwise()) return;
    const int floor = varies(Property::zero_exponent) ? space_.zero_exponent(c_).value : -kUnbounded;
    const bool results_aligned = accumulates() && blocks_ > 1;
    const bool none_subnormal = flushes_inputs_ && (!results_aligned || flushes_outputs_ || bounded());
    const bool harmless =
        exact() || r_.min_exponent() <= std::max(floor, std::min(term_bit(), smallest_exponent(r_)) + bits_);
    if (!accumulates() || none_subnormal || harmless) reset(Property::subnormal_exponent);
  }

  void sums_that_are_never_tiny() {
    if (!only_fp32()) return;
    const bool never_tiny = flushes_inputs_ && bounded();
    if (never_tiny) reset(Property::subnormal_outputs);
    const bool down = space_.output_rounding(c_) == Rounding::down;
    const bool multiples = bounded() && (s_.adds_apart() || full_output());
    const bool zeros_lose_it = s_.adds_apart() && positive_zeros();
    if (never_tiny || (!flushes_outputs_ && (multiples || zeros_lose_it || (c_inside() && down))))
      reset(Property::underflow_sign);
  }

  void blocks_that_need_no_rounding() {
    if (!only_fp32() || !bounded() || !exact() || s_.scaled.cut || !sums_of_one_scale()) return;
    if (space_.output_rounding(c_) == Rounding::down && !positive_zeros()) return;
    const bool fit =
        std::ranges::all_of(s_.blocks, [&](const auto& block) { return fits(block.size(), r_.fraction_bits); });
    if (fit) reset(Property::output_rounding);
  }

  void overflow_that_no_scale_brings() {
    if (!only_fp32() || !bounded()) return;
    const Rounding cut = space_.align_rounding(c_), mode = space_.output_rounding(c_);
    bool unchanged = false;  // a c near the largest number
    if (s_.adds_apart())
      unchanged = true;
    else if (exact())
      unchanged = mode == Rounding::toward_zero || is_nearest(mode);
    else if (largest_sum() < r_.max_exponent() - bits_ - 1)
      unchanged = cut == Rounding::toward_zero || (cut == Rounding::nearest_even && bits_ >= r_.fraction_bits);
    if (unchanged) reset(Property::overflow);
  }

  void exact_groups_in_exact_sums() {
    if (!groups() || space_.cuts(c_)) return;
    // A group of both signs has one of its own: where it is scaled to zero, or is zero and rounding is down, that
    // shows.
    const bool scales_may_be_zero = scale_.id != FormatId::ue8m0;
    if (!positive_zeros() && (scales_may_be_zero || space_.output_rounding(c_) == Rounding::down)) return;
    if (const auto flat = space_.first_with_terms_of(make_structure(s_.combination, s_.blocks, s_.order)))
      Space::set(c_, Property::structure, *flat);
  }

  void adds_of_exact_blocks() {
    if (!only_fp32() || !bounded() || space_.cuts(c_) || !full_output() || blocks_ < 2) return;
    const auto is_exact = [&](const auto& block) {
      return has_one_scale(block) && fits(block.size(), r_.fraction_bits);
    };
    Rounding rounding = space_.output_rounding(c_);
    if (s_.combination == Combination::chain_then_c) {
      // The first sum is exact: the second is of both blocks.
      if (!is_exact(s_.blocks[0]) || !is_exact(s_.blocks[1]) || (rounding == Rounding::down && !positive_zeros()))
        return;
      Blocks blocks = s_.blocks;
      if (blocks_ == 2) {
        blocks[0].insert(blocks[0].end(), blocks[1].begin(), blocks[1].end());
        std::ranges::sort(blocks[0]);
        blocks.pop_back();
      } else if (blocks[1] < blocks[0]) {
        std::swap(blocks[0], blocks[1]);
      } else {
        return;
      }
      return move_to(s_.combination, blocks, rounding);
    }
    if (c_inside() || !std::ranges::all_of(s_.blocks, is_exact) || varies(Property::output_rounding)) return;
    rounding = space_.add_rounding(c_);
    if (s_.combination == Combination::adds) return move_to(Combination::chain, s_.blocks, rounding);
    if (s_.combination == Combination::adds_then_c) return move_to(Combination::chain_then_c, s_.blocks, rounding);
    const Blocks pairs = in_pairs(s_.blocks);
    if (pairs.empty()) return;
    move_to(s_.combination == Combination::pairs ? Combination::adds : Combination::tree_then_c, pairs, rounding);
  }

  bool full_output() const { return !varies(Property::output_fraction_bits); }
  bool exact() const { return space_.fraction_bits(c_) == kExact; }
  bool groups() const { return s_.scaled.size > 0; }
  bool normalised_products() const { return space_.product_exponent(c_) == ProductExponent::normalised; }
  bool normalised_subnormals() const {
    return space_.get<Property::subnormal_exponent>(c_) != NormalisedSubnormals::none;
  }
  bool scales_alone() const { return space_.get<Property::group_exponent>(c_) == GroupExponent::scales_alone; }
  bool only_fp32() const { return r_.id == FormatId::fp32 && space_.instruction().c == FormatId::fp32; }
  /// Whether scales and products have so few bits that no sum of terms comes near the ends of the result's range.
  bool bounded() const {
    return term_bit() > r_.min_exponent() + r_.fraction_bits &&
           largest_sum() < r_.max_exponent() - r_.fraction_bits - 2;
  }
  /// All terms are multiples of 2^this, …
  int term_bit() const { return product_bit_ + scale_bit_; }
  /// … and all products of a dot problem together less than 2^this.
  int largest_sum() const { return top_ + 2 + 2 * (scale_.max_exponent() + 1) + log2_ceil(s_.tree.k); }
  /// Bits that the significands of two scales have below their leading ones.
  int scale_fraction() const { return 2 * scale_.fraction_bits; }
  bool c_inside() const { return s_.combination == Combination::chain; }
  /// Whether sums of products take in c or results.
  bool accumulates() const { return c_inside() || (s_.combination == Combination::chain_then_c && blocks_ > 1); }

  bool has_one_scale(const std::vector<int>& block) const {
    const int block_k = space_.instruction().products_per_scale();
    return std::ranges::all_of(block, [&](int k) { return k / block_k == block.front() / block_k; });
  }

  /// Whether each sum of products is of one scale block, without c or a result.
  bool sums_of_one_scale() const {
    return !accumulates() && std::ranges::all_of(s_.blocks, [&](const auto& block) { return has_one_scale(block); });
  }
  /// Whether the exact sum of a block of one scale is a number of so many fraction bits.
  bool fits(std::size_t products, int fraction_bits) const {
    return top_ + 2 - product_bit_ + log2_ceil(static_cast<int>(products)) + scale_fraction() + 2 <= fraction_bits + 1;
  }

  /// Whether no product is aligned by a subnormal operand's smallest exponent.
  bool no_product_is_aligned_otherwise() const {
    return flushes_inputs_ || normalised_products() || (groups() && !s_.scaled.cut && scales_alone());
  }

  void move_to(Combination combination, const Blocks& blocks, Rounding block_rounding) {
    const auto moved = space_.first_with_terms_of(make_structure(combination, blocks, s_.order, 0, s_.scaled));
    if (!moved) return;
    Space::set(c_, Property::structure, *moved);
    space_.put<Property::output_rounding>(c_, {std::nullopt, block_rounding});
    if (!space_.structure(c_).adds_apart()) reset(Property::add_rounding);
  }

  const Format& scale_;
  const int top_;
  int scale_bit_, least_scale_exponent_;  // of a row's scale times a column's
};

}  // namespace

Choice canonical_scaled(const Space& space, const Choice& choice) {
  return settled(choice, [&](const Choice& c) { return ScaledPass(space, c).apply(ScaledPass::kRules); });
}

bool is_first_scaled_core(const Space& space, const Choice& choice) {
  Choice first = ScaledPass(space, choice).apply(ScaledPass::kRulesOfCores);
  for (const Property p : kEdgeRules) Space::set(first, p, Space::value(choice, p));
  return first == choice;
}

}  // namespace tcnum
