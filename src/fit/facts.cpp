#include "equivalence.hpp"

#include <algorithm>

#include "emu/bit_width.hpp"

namespace tcnum {
namespace {

int log2_floor(int128 n) { return bit_width(static_cast<uint128>(n)) - 1; }

}  // namespace

Facts::Facts(const Space& space, const Choice& choice)
    : a(format(space.operand_format(choice))),
      b(space.instruction().b == space.instruction().a ? a : format(space.instruction().b)),
      c(format(space.instruction().c)),
      result(format(space.instruction().d)),
      inner(format(space.inner_rounding(choice) ? FormatId::fp32 : space.instruction().d)) {
  const Structure& s = space.structure(choice);
  const int blocks = static_cast<int>(s.blocks.size());
  c_inside = s.combination == Combination::chain;
  accumulates = !s.adds_apart() || (s.combination == Combination::chain_then_c && blocks > 1);
  flushes_inputs = space.get<Property::subnormal_inputs>(choice) == Subnormals::flushed;
  flushes_outputs = space.get<Property::subnormal_outputs>(choice) == Subnormals::flushed;
  exact = space.fraction_bits(choice) == kExact;
  normalised_products = space.product_exponent(choice) == ProductExponent::normalised;
  quantum = result.min_exponent() - space.output_fraction_bits(choice);
  inner_quantum = space.inner_rounding(choice) ? smallest_exponent(inner) : quantum;

  product_bit = smallest_exponent(a) + smallest_exponent(b);
  const bool leading =
      normalised_products || space.get<Property::subnormal_exponent>(choice) == NormalisedSubnormals::all;
  product_exponent = leading && !flushes_inputs ? product_bit : a.min_exponent() + b.min_exponent();

  follow_blocks(space, choice);

  const int bits = space.fraction_bits(choice), block = s.block_k();
  const Terms first_terms{block, c_inside ? std::optional(c.fraction_bits) : std::nullopt};
  const Terms later_terms = accumulates && blocks > 1 ? Terms{block, std::optional(inner.fraction_bits)} : first_terms;
  int first = width(bits, first_terms), later = width(bits, later_terms);
  if (!exact) {
    // Terms are less than their bounds. Cut toward zero they are so in whole units; else they may become as large.
    const bool less = space.align_rounding(choice) == Rounding::toward_zero;
    const auto most_of = [&](const Terms& terms) {
      return largest_sum(bits, terms) - (less ? terms.products + (terms.accumulator_bits ? 1 : 0) : 0);
    };
    most_units = std::max(most_of(first_terms), most_of(later_terms));
  }
  sum_width = std::max(first, later);
  last_width = later;
  inner_width = blocks == 1 || (blocks == 2 && c_inside) ? first : sum_width;
}

/// From block to block: what the accumulator is a multiple of, and its least exponent.
void Facts::follow_blocks(const Space& space, const Choice& choice) {
  const int blocks = static_cast<int>(space.structure(choice).blocks.size());
  const ZeroExponent& floor = space.zero_exponent(choice);
  const bool natural = space.get<Property::zero_terms>(choice) == ZeroTerms::natural;
  const bool normalised_accumulators = space.get<Property::subnormal_exponent>(choice) != NormalisedSubnormals::none;
  const int bits = space.fraction_bits(choice);
  const auto least_exponent = [&](const Format& f, int bit, bool flushed) {
    return normalised_accumulators && !flushed ? bit : std::max(bit, f.min_exponent());
  };
  std::optional<int> bit, exponent;
  if (c_inside) {
    bit = smallest_exponent(c);
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
    if (!accumulates) {  // all blocks are alike
      break;
    }
    normal = flushes_outputs || !last_tiny;
    const int result_bit = std::max(last_sum_bit, inner_quantum);
    const bool same = block > 0 && bit == result_bit;
    bit = result_bit;
    exponent = least_exponent(inner, *bit, normal);
    if (block + 1 < blocks && !normal) aligned_subnormals = true;
    if (same && block + 2 < blocks) block = blocks - 2;  // nothing changes any more
  }
}

int128 Facts::largest_product(int bits) const {
  const int128 one = static_cast<int128>(1) << bits;
  if (normalised_products) return 2 * one;
  const int short_by = std::min(a.fraction_bits, b.fraction_bits) - 1;  // (2 − 2^-x)(2 − 2^-y) < 4 − 2^(1 − min(x, y))
  return 4 * one - (bits > short_by ? one >> short_by : 0);
}

int128 Facts::largest_sum(int bits, const Terms& terms) const {
  return terms.products * largest_product(bits) + (terms.accumulator_bits ? static_cast<int128>(2) << bits : 0);
}

int Facts::last_bit(int bits, const Terms& terms, int top) const {
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

int Facts::width(int bits, const Terms& terms) const {
  if (exact) return kUnbounded;
  int most = 0;
  for (int top = log2_floor(largest_sum(bits, terms) - 1); most < top + 1; --top) {
    most = std::max(most, top + 1 - last_bit(bits, terms, top));
  }
  return most;
}

}  // namespace tcnum
