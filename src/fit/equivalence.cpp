// Which datapaths of the space are one and the same. docs/space.md states and proves each rule; the numbers refer to
// it.
#include <algorithm>
#include <bit>
#include <optional>

#include "space.hpp"

namespace tcnum {
namespace {

int log2_ceil(int n) {
  int bits = 0;
  while ((1 << bits) < n) ++bits;
  return bits;
}

int log2_floor(int128 n) {
  const auto high = static_cast<std::uint64_t>(n >> 64);
  return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(n))) - 1;
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
  int term_bit;              ///< of all terms of all block sums
  int sum_bit;               ///< of all block sums, after the cut
  int last_sum_bit;          ///< of the last one
  bool normalised_products;  ///< aligned by their leading bits
  /// Bits that the significand of a block sum can have, or kUnbounded: of any, of those that go on, of the last one.
  int sum_width, inner_width, last_width;
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
};

Space::Facts::Facts(const Space& space, const Choice& choice)
    : a(format(space.operand_format(choice))),
      b(space.instruction_->b == space.instruction_->a ? a : format(space.instruction_->b)),
      c(format(space.instruction_->c)),
      result(format(space.instruction_->d)),
      inner(format(space.inner_rounding(choice) ? FormatId::fp32 : space.instruction_->d)) {
  const Structure& s = space.structure(choice);
  const int blocks = static_cast<int>(s.blocks.size());
  c_inside = s.combination == Combination::chain;
  accumulates = !s.adds_apart() || (s.combination == Combination::chain_then_c && blocks > 1);
  flushes_inputs = space.get<Property::subnormal_inputs>(choice) == Subnormals::flushed;
  flushes_outputs = space.get<Property::subnormal_outputs>(choice) == Subnormals::flushed;
  exact = space.fraction_bits(choice) == kExact;
  normalised_products = space.product_exponent(choice) == ProductExponent::normalised;
  quantum = result.min_exponent() - space.output_fraction_bits(choice);
  inner_quantum = space.inner_rounding(choice) ? quantum_of(inner) : quantum;

  product_bit = quantum_of(a) + quantum_of(b);
  const NormalisedSubnormals normalised = space.get<Property::subnormal_exponent>(choice);
  const bool normalised_accumulators = normalised != NormalisedSubnormals::none;
  const bool leading = normalised_products || normalised == NormalisedSubnormals::all;
  product_exponent = leading && !flushes_inputs ? product_bit : a.min_exponent() + b.min_exponent();

  // From block to block: what the accumulator is a multiple of, and its least exponent.
  const ZeroExponent& floor = space.zero_exponent(choice);
  const bool natural = space.get<Property::zero_terms>(choice) == ZeroTerms::natural;
  const int bits = space.fraction_bits(choice);
  const auto least_exponent = [&](const Format& f, int bit, bool flushed) {
    return normalised_accumulators && !flushed ? bit : std::max(bit, f.min_exponent());
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
    // Natural zeros have exponents too: a product, zero or not, at least a product's least; an accumulator, zero or
    // not, at least its format's smallest.
    if (natural) alignment = std::max(alignment, product_exponent);
    if (natural && bit && !normalised_accumulators)
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
  const int block = s.block_k();
  const int first = width(bits, {block, c_inside ? std::optional(c.fraction_bits) : std::nullopt});
  const int later = accumulates && blocks > 1 ? width(bits, {block, inner.fraction_bits}) : first;
  sum_width = std::max(first, later);
  last_width = later;
  inner_width = blocks == 1 || (blocks == 2 && c_inside) ? first : sum_width;
}

int128 Space::Facts::largest_product(int bits) const {
  const int128 one = static_cast<int128>(1) << bits;
  if (normalised_products) return 2 * one;
  const int short_by = std::min(a.fraction_bits, b.fraction_bits) - 1;  // (2 − 2^-x)(2 − 2^-y) < 4 − 2^(1 − min(x, y))
  return 4 * one - (bits > short_by ? one >> short_by : 0);
}

int128 Space::Facts::largest_sum(int bits, const Terms& terms) const {
  return terms.products * largest_product(bits) + (terms.accumulator_bits ? static_cast<int128>(2) << bits : 0);
}

int Space::Facts::last_bit(int bits, const Terms& terms, int top) const {
  // Each term must make up for what the others cannot give. So its exponent is at least so much, and its last bit is
  // not far below.
  const int128 missing = (static_cast<int128>(1) << top) - largest_sum(bits, terms);
  int last = kUnbounded;
  if (terms.products > 0) {
    const int128 least = missing + largest_product(bits);
    if (least <= 0) return 0;
    const int product_bits = a.fraction_bits + b.fraction_bits + 1;
    last = log2_floor(least) - product_bits;
  }
  if (terms.accumulator_bits) {
    const int128 least = missing + (static_cast<int128>(2) << bits);
    if (least <= 0) return 0;
    last = std::min(last, log2_floor(least) - *terms.accumulator_bits);
  }
  return std::max(last, 0);
}

int Space::Facts::width(int bits, const Terms& terms) const {
  if (exact) return kUnbounded;
  int most = 0;
  for (int top = log2_floor(largest_sum(bits, terms) - 1); most < top + 1; --top) {
    most = std::max(most, top + 1 - last_bit(bits, terms, top));
  }
  return most;
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
  if (format(instruction_->c).max_exponent() < r.max_exponent() - r.fraction_bits - 2) return false;
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
  const bool inner_same = get<Property::inner_result>(c) == InnerResult::as_output;
  const auto positive_zeros = [&] { return get<Property::zero_sign>(c) == ZeroSign::positive; };

  const auto make_exact = [&] {
    put<Property::fraction_bits>(c, kExact);
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

  // Whether all terms are multiples of so large a number that no sum of them, c included, is ever tiny.
  const bool never_tiny = inner_same && std::min(facts.product_bit, quantum_of(facts.c)) >= facts.result.min_exponent();

  // Whether the sign of a sum that underflows can be seen. Adds of numbers of the result's format never underflow
  // unless they flush, and block sums of which nothing is cut below the smallest result neither. Rounding down, only
  // positive sums underflow. The sign of an intermediate zero is lost where zero sums are positive.
  const auto underflow_shows = [&](const Facts& of) {
    if (never_tiny) return false;
    if (s.adds_apart() && (!inner_same || narrows())) return true;
    if (s.adds_apart() && of.flushes_outputs) {
      // Only c can be tiny; in a later add it is so no more.
      const bool c_enters_last =
          blocks == 1 || !(s.combination == Combination::adds || (s.combination == Combination::pairs && blocks > 2));
      return c_enters_last || !positive_zeros() || !of.large_products(of.result);
    }
    const auto underflows = [&](bool tiny, int bit, int quantum, bool as_output) {
      if (!tiny || of.flushes_outputs) return tiny;
      if (as_output && output_rounding(c) == Rounding::down) return false;
      return bit < quantum - (as_output && output_rounding(c) == Rounding::nearest_away ? 1 : 0);
    };
    const bool last = !s.adds_apart() && underflows(of.last_tiny, of.last_sum_bit, of.quantum, true);
    return last || (!positive_zeros() && underflows(of.tiny, of.sum_bit, of.inner_quantum, inner_same));
  };

  // Whether a sum that is cut to zero looks like one that underflows. Cut downward, one that is not zero is cut to zero
  // only if it has a positive term.
  const auto zeros_alike = [&](const Facts& of) {
    const bool cut_is_positive =
        positive_zeros() || (align_rounding(c) == Rounding::down && output_rounding(c) != Rounding::down);
    return cut_is_positive && (!underflow_shows(of) || get<Property::underflow_sign>(c) == UnderflowSign::positive);
  };

  // Whether cutting an accumulator that is alone at that bit and rounding it is the same as rounding it.
  const auto rounds_once = [&](int bit) {
    const Rounding cut = align_rounding(c), mode = output_rounding(c);
    if (!inner_same) return false;
    if (cut == Rounding::toward_zero && mode == Rounding::nearest_away) return bit < facts.quantum;
    return cut == mode && cut != Rounding::nearest_even && bit <= facts.quantum;
  };

  // 2. Natural zeros beside one product alone, which is cut and rounded as if it were only rounded.
  if (value(c, Property::zero_terms) != 0 && block == 2 && !facts.accumulates && rounds_once(product_minimum - bits)) {
    Choice without = c;
    set(without, Property::zero_terms, 0);
    const int least_product = facts.flushes_inputs ? facts.product_exponent : facts.product_bit;
    if (product_minimum - bits <= least_product || zeros_alike(Facts(*this, without))) {
      set(c, Property::zero_terms, 0);
    }
  }

  // 3. Floors.
  if (value(c, Property::zero_exponent) != 0) {
    const int floor = zero_exponent(c).value;
    Choice without = c;
    set(without, Property::zero_exponent, 0);
    const bool same_zeros = zeros_alike(Facts(*this, without));      // it may underflow where the floor cuts
    const bool accumulators_only = facts.product_exponent >= floor;  // what the floor can act on
    // What the floor acts on has exponents below it. If that is too little for the smallest result, it becomes zero; if
    // what is not too little has no bit that the floor cuts, nothing shows.
    const bool directed_away = output_rounding(c) == Rounding::up || output_rounding(c) == Rounding::down;
    const bool vanishes = inner_same && !directed_away && [&] {
      const Facts::Terms terms{
          accumulators_only ? 0 : block,
          facts.accumulator_exponent >= floor
              ? std::nullopt
              : std::optional(std::max(facts.c_inside ? facts.c.fraction_bits : 0, facts.inner.fraction_bits))};
      const int enough = facts.quantum - (output_rounding(c) == Rounding::toward_zero ? 0 : 1);
      const int top = enough - (floor - 1 - bits);
      if (top < 0) return false;
      if (top > bits + 20) return true;
      // A tie goes to zero; terms that are cut toward zero, or to less than what bounds them, stay less.
      const bool as_much_vanishes =
          output_rounding(c) == Rounding::nearest_even || align_rounding(c) == Rounding::toward_zero;
      const int128 sum = static_cast<int128>(1) << top, largest = facts.largest_sum(bits, terms);
      return sum > largest || (sum == largest && as_much_vanishes) ||
             facts.last_bit(bits, terms, top) > (align_rounding(c) == Rounding::toward_zero ? 0 : 1);
    }();
    if (floor - bits <= facts.term_bit || (accumulators_only && facts.accumulator_exponent >= floor) ||
        (same_zeros && (vanishes || (accumulators_only && rounds_once(floor - bits))))) {
      set(c, Property::zero_exponent, 0);
    }
  }
  const int floor = value(c, Property::zero_exponent) != 0 ? zero_exponent(c).value : -kUnbounded;

  // 4. The exponent of subnormals.
  if (value(c, Property::subnormal_exponent) != 0) {
    // The largest exponent that being subnormal can bring to a term.
    int product_top = -kUnbounded, accumulator_top = -kUnbounded;
    const bool all = get<Property::subnormal_exponent>(c) == NormalisedSubnormals::all;
    if (!facts.flushes_inputs) {
      if (all && product_exponent(c) == ProductExponent::sum) product_top = product_minimum;
      if (facts.c_inside) accumulator_top = facts.c.min_exponent();
    }
    if (facts.aligned_subnormals) accumulator_top = std::max(accumulator_top, facts.inner.min_exponent());
    const int accumulator_bits = std::max(facts.c_inside ? facts.c.fraction_bits : 0, facts.inner.fraction_bits);
    const int top = std::max(product_top, accumulator_top);
    // Any product that is not zero outranks a subnormal accumulator; alone, that is not cut, or no matter, since it is
    // flushed or rounded after all.
    const bool only_alone = product_top == -kUnbounded && facts.product_exponent >= accumulator_top;
    const bool flushed = facts.flushes_outputs && inner_same && !widens() &&
                         align_rounding(c) == Rounding::toward_zero && facts.quantum <= facts.accumulator_bit;
    if (exact || top == -kUnbounded || top <= std::max(floor, facts.term_bit + bits) ||
        (only_alone &&
         (bits >= accumulator_bits || (zeros_alike(facts) && (flushed || rounds_once(accumulator_top - bits)))))) {
      set(c, Property::subnormal_exponent, 0);
    } else if (all && widens() && product_top <= std::max(floor, facts.term_bit + bits)) {
      put<Property::subnormal_exponent>(c, NormalisedSubnormals::c_alone);
    }
  }

  // 5. Tiny results.
  if (!facts.tiny && inner_same &&
      (!s.adds_apart() || never_tiny || (facts.flushes_inputs && facts.large_products(facts.result)))) {
    set(c, Property::subnormal_outputs, 0);
  }
  if (!underflow_shows(facts)) set(c, Property::underflow_sign, 0);

  // 6. Sums that need no rounding.
  const auto fits = [&](int width, int fraction_bits) {
    const bool short_product = s.products_alone() && facts.a.fraction_bits + facts.b.fraction_bits + 1 <= fraction_bits;
    return width <= fraction_bits + 1 || short_product;
  };
  const auto needs_none = [&](int width, int fraction_bits, bool tiny_is_exact) {
    return fits(width, fraction_bits) && (tiny_is_exact || facts.flushes_outputs);
  };
  // The terms of a zero sum of one product have one sign.
  const bool signs_zero = output_rounding(c) == Rounding::down && !positive_zeros() && !s.products_alone();
  if (!inner_same && needs_none(facts.inner_width, facts.inner.fraction_bits, facts.sum_bit >= facts.inner_quantum)) {
    put<Property::inner_result>(c, InnerResult::fp32_toward_zero);
  }
  const bool all_alike = inner_same ? facts.sum_bit >= facts.quantum : facts.last_sum_bit >= facts.quantum;
  if (!signs_zero && (inner_same || facts.c_inside) &&
      needs_none(inner_same ? facts.sum_width : facts.last_width, output_fraction_bits(c), all_alike)) {
    if (overflow(c) != Overflow::ieee) {
      set(c, Property::output_rounding, 0);
    } else if (output_rounding(c) == Rounding::nearest_away) {  // what overflows still depends on the direction
      put<Property::output_rounding>(c, {std::nullopt, Rounding::nearest_even});
    }
  }

  // Sums that fit the format they are rounded to first.
  if (first_rounding(c) && (inner_same ? facts.sum_width : facts.last_width) <= facts.c.fraction_bits + 1 &&
      (inner_same ? facts.sum_bit : facts.last_sum_bit) >= quantum_of(facts.c)) {
    put<Property::output_rounding>(c, {std::nullopt, output_rounding(c)});
  }

  // Adding to c a block sum that is no longer than it rounds through fp32 as at once.
  if (!narrows() && add_through_fp32(c) && (s.combination == Combination::chain_then_c || blocks == 1) &&
      fits(facts.last_width, facts.result.fraction_bits)) {
    set(c, Property::add_rounding, 0);
  }

  // 7. Overflow.
  if (!overflow_reachable(c)) set(c, Property::overflow, 0);
  if (overflow(c) == Overflow::ieee) {
    const Rounding of_blocks = output_rounding(c);
    const Rounding of_adds = s.adds_apart() ? add_rounding(c) : of_blocks;
    const auto nearest = [](Rounding mode) { return mode == Rounding::nearest_even || mode == Rounding::nearest_away; };
    if (nearest(of_blocks) && nearest(of_adds)) put<Property::overflow>(c, Overflow::infinity);
    if (of_blocks == Rounding::toward_zero && of_adds == Rounding::toward_zero)
      put<Property::overflow>(c, Overflow::max_finite);
  }

  // 8. The order of NaN operands that never meet, or whose payloads do not come back.
  if (nan(c).propagate && !facts.accumulates) {
    NanRule rule = nan(c);
    const bool a_first = std::find(rule.order.begin(), rule.order.end(), NanOperand::a) <
                         std::find(rule.order.begin(), rule.order.end(), NanOperand::b);
    rule.order = a_first ? std::array{NanOperand::a, NanOperand::b, NanOperand::c}
                         : std::array{NanOperand::b, NanOperand::a, NanOperand::c};
    put<Property::nan>(c, rule);
  }
  if (propagates_nans() && !nan(c).propagate) set(c, Property::structure, first_with_terms_of(s));

  // 9. Two products: cutting downward and then rounding down is rounding down, unless they nearly cancel.
  if (!exact && block == 2 && !facts.accumulates && inner_same && value(c, Property::zero_terms) == 0 &&
      align_rounding(c) == Rounding::down && output_rounding(c) == Rounding::down &&
      output_fraction_bits(c) == facts.result.fraction_bits) {
    const bool true_exponents = facts.flushes_inputs || product_exponent(c) == ProductExponent::normalised ||
                                get<Property::subnormal_exponent>(c) == NormalisedSubnormals::all;
    const int product_bits = facts.a.fraction_bits + facts.b.fraction_bits;
    // How far below the alignment exponent the sum can be when a product is cut.
    int below = 1;
    if (!true_exponents)
      below += std::max(facts.a.fraction_bits, facts.b.fraction_bits);
    else if (bits < product_bits + 4)
      below += std::min(facts.a.fraction_bits, facts.b.fraction_bits);
    const int least_bits = true_exponents ? product_bits + 1 : product_bits + below + 3;
    if (bits >= std::max(least_bits, facts.result.fraction_bits + below)) {
      make_exact();
      return c;
    }
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
  const bool inner_same = get<Property::inner_result>(c) == InnerResult::as_output;
  const AddRounding add = get<Property::add_rounding>(c);
  Combination combination = s.combination;
  Blocks blocks = s.blocks;
  const auto join_pairs = [&] {
    blocks.clear();
    for (std::size_t i = 0; i < s.blocks.size(); i += 2) {
      blocks.push_back({std::min(s.blocks[i][0], s.blocks[i + 1][0]), std::max(s.blocks[i][0], s.blocks[i + 1][0])});
    }
  };
  switch (s.combination) {
    case Combination::adds:
      if (add.through_fp32 && !narrows()) return;
      combination = Combination::chain;
      break;
    case Combination::adds_then_c:
      combination = Combination::chain_then_c;
      break;
    case Combination::pairs:
    case Combination::tree_then_c:
      if (s.blocks.size() % 2 != 0) return;
      if (s.combination == Combination::pairs) combination = Combination::adds;
      join_pairs();
      break;
    case Combination::chain_then_c:  // the first two add up either way
      if (blocks[1] < blocks[0]) std::swap(blocks[0], blocks[1]);
      break;
    case Combination::chain:
      return;
  }
  const int joined = first_with_terms_of(make_structure(combination, blocks, s.order));
  if (joined < 0) return;
  set(c, Property::structure, joined);
  if (s.combination == Combination::chain_then_c) return;
  // What was an add is a block sum now.
  const bool twice = add.through_fp32 && combination == Combination::chain;
  put<Property::output_rounding>(
      c, twice ? SumRounding{add.rounding, Rounding::nearest_even} : SumRounding{std::nullopt, add.rounding});
  if (!inner_same) {
    put<Property::inner_result>(
        c, add.rounding == Rounding::toward_zero ? InnerResult::fp32_toward_zero : InnerResult::fp32_nearest_even);
  }
  if (combination == Combination::chain) set(c, Property::add_rounding, 0);  // else something is still added
}

}  // namespace tcnum
