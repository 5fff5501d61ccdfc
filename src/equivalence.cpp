// Which datapaths of the space are one and the same. docs/space.md states and proves each rule; the numbers refer to
// it.
#include <algorithm>
#include <optional>

#include "tcnum/space.hpp"

namespace tcnum {
namespace {

int log2_ceil(int n) {
  int bits = 0;
  while ((1 << bits) < n) ++bits;
  return bits;
}

int quantum_of(const Format& f) { return f.min_exponent() - f.fraction_bits; }

}  // namespace

/// What can be said of the numbers that a datapath of the space meets, for any operands. A *bit* is an exponent b such
/// that all of them are multiples of 2^b.
struct Space::Facts {
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
  int term_bit;        ///< of all terms of all block sums
  int sum_bit;         ///< of all block sums, after the cut
  int last_sum_bit;    ///< of the last one
  int products_below;  ///< products whose exponents are at most E add up to less than this · 2^E (an accumulator: 2 ·
                       ///< 2^E)
  int sum_width;       ///< bits that the significand of a block sum can have, or kUnbounded
  bool aligned_subnormals;  ///< an intermediate result that is aligned may be subnormal
  bool tiny;                ///< a block sum that is not zero may be less than the smallest normal number
  bool last_tiny;           ///< the last one may

  Facts(const Space& space, const Choice& choice);

  /// Whether products are multiples of so large a number that adding one to a normal number never gives a subnormal
  /// one.
  bool large_products(const Format& f) const { return product_bit > f.min_exponent() + f.fraction_bits; }
};

Space::Facts::Facts(const Space& space, const Choice& choice)
    : a(format(space.operand_formats_[index(choice, Property::operand_format)])),
      b(space.instruction_->b == space.instruction_->a ? a : format(space.instruction_->b)),
      c(format(space.instruction_->c)),
      result(format(space.instruction_->d)),
      inner(value(choice, Property::inner_result) == kInnerSame ? result : format(FormatId::fp32)) {
  const Structure& s = space.structure(choice);
  const int blocks = static_cast<int>(s.blocks.size());
  c_inside = s.combination == Combination::chain;
  accumulates = !s.adds_apart() || (s.combination == Combination::chain_then_c && blocks > 1);
  flushes_inputs = value(choice, Property::subnormal_inputs) != 0;
  flushes_outputs = value(choice, Property::subnormal_outputs) != 0;
  exact = space.fraction_bits(choice) == kExact;
  quantum = result.min_exponent() - space.output_fraction_bits(choice);
  inner_quantum = value(choice, Property::inner_result) == kInnerSame ? quantum : quantum_of(inner);

  product_bit = quantum_of(a) + quantum_of(b);
  const bool normalised_subnormals =
      value(choice, Property::subnormal_exponent) == static_cast<int>(SubnormalExponent::normalised);
  const bool leading = space.product_exponent(choice) == ProductExponent::normalised || normalised_subnormals;
  product_exponent = leading && !flushes_inputs ? product_bit : a.min_exponent() + b.min_exponent();

  // From block to block: what the accumulator is a multiple of, and its least exponent.
  const ZeroExponent& floor = space.zero_exponent(choice);
  const bool natural = value(choice, Property::zero_terms) != 0;
  const int bits = space.fraction_bits(choice);
  const auto least_exponent = [&](const Format& f, int bit, bool flushed) {
    return normalised_subnormals && !flushed ? bit : std::max(bit, f.min_exponent());
  };
  std::optional<int> bit, exponent;
  if (c_inside) {
    bit = quantum_of(c);
    exponent = least_exponent(c, *bit, flushes_inputs);
  }
  accumulator_bit = accumulator_exponent = kUnbounded;
  term_bit = sum_bit = kUnbounded;
  aligned_subnormals = tiny = false;
  bool normal = !c_inside || flushes_inputs;  // an accumulator that is not zero
  for (int block = 0; block < blocks; ++block) {
    if (bit) {
      accumulator_bit = std::min(accumulator_bit, *bit);
      accumulator_exponent = std::min(accumulator_exponent, *exponent);
    }
    const int terms_bit = std::min(product_bit, bit.value_or(kUnbounded));
    int alignment = std::min(product_exponent, exponent.value_or(kUnbounded));
    if (floor.kind == ZeroExponentKind::floor) alignment = std::max(alignment, floor.value);
    // Zero or not, a natural accumulator has at least the smallest exponent of its format.
    if (natural && bit && !normalised_subnormals)
      alignment = std::max(alignment, (block == 0 ? c : inner).min_exponent());
    last_sum_bit = exact ? terms_bit : std::max(terms_bit, alignment - bits);
    term_bit = std::min(term_bit, terms_bit);
    sum_bit = std::min(sum_bit, last_sum_bit);
    const Format& f = c_inside && block + 1 == blocks ? result : inner;
    last_tiny = last_sum_bit < f.min_exponent() && !(large_products(f) && normal);
    tiny = tiny || last_tiny;
    if (!accumulates) break;  // all blocks are alike
    normal = flushes_outputs || !last_tiny;
    const int result_bit = std::max(last_sum_bit, inner_quantum);
    const bool same = block > 0 && bit == result_bit;
    bit = result_bit;
    exponent = least_exponent(inner, *bit, normal);
    if (block + 1 < blocks && !normal) aligned_subnormals = true;
    if (same && block + 2 < blocks) block = blocks - 2;  // nothing changes any more
  }
  products_below = s.block_k() * (space.product_exponent(choice) == ProductExponent::normalised ? 2 : 4);
  sum_width = exact ? kUnbounded : bits + log2_ceil(products_below + (accumulates ? 2 : 0));
}

Choice Space::canonical(const Choice& choice) const {
  if (sums_integers()) return merge_integers(choice);
  // One rule can make another apply.
  for (Choice c = choice;;) {
    const Choice next = merge(c);
    if (next == c) return c;
    c = next;
  }
}

bool Space::overflow_reachable(const Choice& c) const {
  const Format& r = format(instruction_->d);
  const Format& a = format(instruction_->a);
  const Format& b = format(instruction_->b);
  const int largest_sum = a.max_exponent() + b.max_exponent() + 2 + log2_ceil(instruction_->products());
  if (largest_sum >= r.max_exponent() - r.fraction_bits - 2) return true;
  // Products alone are too small to move the largest c; rounding c itself must not overflow either.
  if (structure(c).adds_apart()) return false;  // to nearest or toward zero, both in full precision
  const int bits = fraction_bits(c);
  const Rounding align = align_rounding(c), mode = output_rounding(c);
  const bool nearest = mode == Rounding::nearest_even || mode == Rounding::nearest_away;
  const bool full = output_fraction_bits(c) == r.fraction_bits;
  if (bits == kExact) return !(mode == Rounding::toward_zero || (nearest && full));
  // Next to a c that large, products may be cut to nothing, or, downward, to one unit each.
  const int room = r.max_exponent() - bits - (a.max_exponent() + b.max_exponent() + 2);
  if (align == Rounding::toward_zero) return !(room >= 0 || mode == Rounding::toward_zero || (nearest && full));
  if (bits < r.fraction_bits) return true;
  if (mode == Rounding::toward_zero && align == Rounding::nearest_even) return false;
  if (align == Rounding::nearest_even) return !(room >= 1 || (nearest && full));
  if (mode == Rounding::down) return true;
  return !(room >= 1 && log2_ceil(structure(c).block_k()) < bits - r.fraction_bits - (nearest ? 1 : 0));
}

Choice Space::merge(const Choice& choice) const {
  Choice c = choice;
  const Structure& s = structure(c);
  const Facts facts(*this, c);
  const int block = s.block_k();
  const int blocks = static_cast<int>(s.blocks.size());
  const int bits = fraction_bits(c);
  const bool exact = facts.exact;
  const bool inner_same = value(c, Property::inner_result) == kInnerSame;
  const auto positive_zeros = [&] { return value(c, Property::zero_sign) == static_cast<int>(ZeroSign::positive); };

  const auto make_exact = [&] {
    set(c, Property::fraction_bits, static_cast<int>(fraction_bits_.size()) - 1);
    for (Property p : {Property::align_rounding, Property::product_exponent, Property::zero_terms,
                       Property::zero_exponent, Property::subnormal_exponent}) {
      set(c, p, 0);
    }
  };

  // 0. A rounding that no node uses: block sums that go on in fp32, and adds that give the result.
  if (s.adds_apart() && !inner_same) {
    set(c, Property::output_rounding, 0);
    set(c, Property::output_fraction_bits, 0);
  }

  // 1. Cuts below the lowest bit that any term of a sum can have cut nothing.
  if (!facts.c_inside && !exact && output_fraction_bits(c) == facts.result.fraction_bits) {
    int top = facts.a.max_exponent() + facts.b.max_exponent();
    if (facts.accumulates) {  // an accumulator is at most the sum of all products before it
      top += 1 + log2_ceil(s.tree.k - static_cast<int>(s.blocks.back().size()) + 1);
    } else if (product_exponent(c) == ProductExponent::normalised) {
      ++top;
    }
    if (top - bits <= facts.product_bit) {
      make_exact();
      return c;
    }
  }

  // 2. Natural zeros that cut nothing.
  const int product_minimum =
      std::max(facts.a.min_exponent() + facts.b.max_exponent(), facts.b.min_exponent() + facts.a.max_exponent());
  if (!exact && value(c, Property::zero_terms) != 0) {
    const int top = std::max(product_minimum, facts.c_inside ? facts.c.min_exponent() : -kUnbounded);
    if (top - bits <= facts.term_bit) set(c, Property::zero_terms, 0);
  }

  // Whether the sign of a sum that underflows can be seen. Adds of numbers of the result's format never underflow
  // unless they flush, and block sums of which nothing is cut below the smallest result neither. Rounding down, only
  // positive sums underflow. The sign of an intermediate zero is lost where zero sums are positive.
  const bool underflow_shows = [&] {
    if (s.adds_apart() && !inner_same) return true;
    if (s.adds_apart() && facts.flushes_outputs) {
      // Only c can be tiny; in a later add it is so no more.
      const bool c_enters_last =
          blocks == 1 || !(s.combination == Combination::adds || (s.combination == Combination::pairs && blocks > 2));
      return c_enters_last || !positive_zeros() || !facts.large_products(facts.result);
    }
    const auto underflows = [&](bool tiny, int bit, int quantum, bool as_output) {
      if (!tiny || facts.flushes_outputs) return tiny;
      if (as_output && output_rounding(c) == Rounding::down) return false;
      return bit < quantum - (as_output && output_rounding(c) == Rounding::nearest_away ? 1 : 0);
    };
    const bool last = !s.adds_apart() && underflows(facts.last_tiny, facts.last_sum_bit, facts.quantum, true);
    return last || (!positive_zeros() && underflows(facts.tiny, facts.sum_bit, facts.inner_quantum, inner_same));
  }();

  // Whether a sum that is cut to zero looks like one that underflows.
  const bool zeros_alike =
      positive_zeros() && (!underflow_shows || value(c, Property::underflow_sign) ==
                                                   static_cast<int>(UnderflowSign::positive));

  // 3. Floors.
  if (value(c, Property::zero_exponent) != 0) {
    const int floor = zero_exponent(c).value;
    const bool accumulators_only = facts.product_exponent >= floor;  // what the floor can act on
    const bool rounds_the_same_way =
        align_rounding(c) == output_rounding(c) && inner_same && align_rounding(c) != Rounding::nearest_even;
    // What the floor acts on is less than this · 2^(floor − 1); less than the smallest result, it becomes zero.
    const int below = (accumulators_only ? 0 : facts.products_below) + (facts.accumulator_exponent >= floor ? 0 : 2);
    const bool directed_away = output_rounding(c) == Rounding::up || output_rounding(c) == Rounding::down;
    const int distance = facts.quantum - floor + (output_rounding(c) == Rounding::toward_zero ? 1 : 0);
    const bool vanishes = inner_same && !directed_away && distance >= 0 && (distance > 20 || below < 1 << distance);
    if (floor - bits <= facts.term_bit || (accumulators_only && facts.accumulator_exponent >= floor) ||
        (zeros_alike && vanishes) ||
        (zeros_alike && accumulators_only && rounds_the_same_way && floor - bits <= facts.quantum)) {
      set(c, Property::zero_exponent, 0);
    }
  }
  const int floor = value(c, Property::zero_exponent) != 0 ? zero_exponent(c).value : -kUnbounded;

  // 4. The exponent of subnormals.
  if (value(c, Property::subnormal_exponent) != 0) {
    // The largest exponent that being subnormal can bring to a term.
    int product_top = -kUnbounded, accumulator_top = -kUnbounded;
    if (!facts.flushes_inputs) {
      if (product_exponent(c) == ProductExponent::sum) product_top = product_minimum;
      if (facts.c_inside) accumulator_top = facts.c.min_exponent();
    }
    if (facts.aligned_subnormals) accumulator_top = std::max(accumulator_top, facts.inner.min_exponent());
    const int accumulator_bits = std::max(facts.c_inside ? facts.c.fraction_bits : 0, facts.inner.fraction_bits);
    const int top = std::max(product_top, accumulator_top);
    // Any product that is not zero outranks a subnormal accumulator; alone, that is not cut, or flushed after all.
    const bool only_alone = product_top == -kUnbounded && facts.product_exponent >= accumulator_top;
    const bool flushed = facts.flushes_outputs && inner_same && align_rounding(c) == Rounding::toward_zero &&
                         facts.quantum <= facts.accumulator_bit && zeros_alike;
    if (exact || top == -kUnbounded || top <= std::max(floor, facts.term_bit + bits) ||
        (only_alone && (bits >= accumulator_bits || flushed))) {
      set(c, Property::subnormal_exponent, 0);
    }
  }

  // 5. Tiny results.
  if (!facts.tiny && inner_same && (!s.adds_apart() || (facts.flushes_inputs && facts.large_products(facts.result)))) {
    set(c, Property::subnormal_outputs, 0);
  }
  if (!underflow_shows) set(c, Property::underflow_sign, 0);

  // 6. Sums that need no rounding.
  const auto needs_none = [&](int fraction_bits, bool tiny_is_exact) {
    const bool short_product = s.products_alone() && facts.a.fraction_bits + facts.b.fraction_bits + 1 <= fraction_bits;
    return (facts.sum_width <= fraction_bits + 1 || short_product) && (tiny_is_exact || facts.flushes_outputs);
  };
  const bool signs_zero = output_rounding(c) == Rounding::down && !positive_zeros();
  if (!inner_same && needs_none(facts.inner.fraction_bits, facts.sum_bit >= facts.inner_quantum)) {
    set(c, Property::inner_result, kInnerFp32TowardZero);
  }
  const bool all_alike = inner_same ? facts.sum_bit >= facts.quantum : facts.last_sum_bit >= facts.quantum;
  if (!signs_zero && (inner_same || facts.c_inside) && needs_none(output_fraction_bits(c), all_alike)) {
    set(c, Property::output_rounding, 0);
  }

  // 7. Overflow.
  if (!overflow_reachable(c)) set(c, Property::overflow, 0);

  // 8. The order of NaN operands that never meet.
  if (nan(c).propagate && !facts.accumulates) {
    NanRule rule = nan(c);
    const bool a_first = std::find(rule.order.begin(), rule.order.end(), NanOperand::a) <
                         std::find(rule.order.begin(), rule.order.end(), NanOperand::b);
    rule.order = a_first ? std::array{NanOperand::a, NanOperand::b, NanOperand::c}
                         : std::array{NanOperand::b, NanOperand::a, NanOperand::c};
    set(c, Property::nan, static_cast<int>(std::find(nans_.begin(), nans_.end(), rule) - nans_.begin()));
  }

  // 9. Two products: cutting downward and then rounding down is rounding down.
  const bool true_exponents = facts.flushes_inputs || product_exponent(c) == ProductExponent::normalised ||
                              value(c, Property::subnormal_exponent) != 0;
  if (!exact && block == 2 && !facts.accumulates && inner_same && true_exponents &&
      value(c, Property::zero_terms) == 0 && align_rounding(c) == Rounding::down &&
      output_rounding(c) == Rounding::down && bits >= facts.a.fraction_bits + facts.b.fraction_bits + 4 &&
      bits > output_fraction_bits(c) && output_fraction_bits(c) == facts.result.fraction_bits) {
    make_exact();
    return c;
  }

  // 10. Products that need no rounding: adding them is a chain of FMAs.
  if (block == 1 && blocks > 1 && facts.a.fraction_bits + facts.b.fraction_bits + 1 <= facts.inner.fraction_bits &&
      facts.product_bit >= facts.inner.min_exponent() && !nan(c).propagate &&
      facts.a.max_exponent() + facts.b.max_exponent() + 1 <= facts.inner.max_exponent()) {
    join_products(c);
  }
  return c;
}

/// Rule 10, for single products that intermediate results hold exactly.
void Space::join_products(Choice& c) const {
  const Structure& s = structure(c);
  const auto move_to = [&](Combination combination, const std::vector<std::vector<int>>& blocks) {
    for (std::size_t i = 0; i < structures_.size(); ++i) {
      if (structures_[i].combination != combination || structures_[i].blocks != blocks) continue;
      set(c, Property::structure, static_cast<int>(i));
      return true;
    }
    return false;
  };
  const bool inner_same = value(c, Property::inner_result) == kInnerSame;
  const AddStep& add = kAddSteps[index(c, Property::add_rounding)];
  const bool adds = s.combination == Combination::adds;
  if ((adds && !add.through_fp32) || s.combination == Combination::adds_then_c) {
    if (!move_to(adds ? Combination::chain : Combination::chain_then_c, s.blocks)) return;
    set(c, Property::output_rounding, static_cast<int>(add.rounding));
    if (!inner_same) {
      set(c, Property::inner_result,
          add.rounding == Rounding::toward_zero ? kInnerFp32TowardZero : kInnerFp32NearestEven);
    }
    if (adds) set(c, Property::add_rounding, 0);  // else c is still added by itself
    return;
  }
  if (s.combination == Combination::chain_then_c && s.blocks[1] < s.blocks[0]) {  // the first two add up either way
    std::vector<std::vector<int>> blocks = s.blocks;
    std::swap(blocks[0], blocks[1]);
    move_to(Combination::chain_then_c, blocks);
  }
}

}  // namespace tcnum
