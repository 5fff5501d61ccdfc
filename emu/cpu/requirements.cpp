#include "requirements.hpp"

#include <algorithm>
#include <bit>

#include "emu/rounding_steps.hpp"

namespace tcnum::cpu {
namespace {

/// Most fraction bits of a sum whose 1024 terms of up to 4 · 2^fraction_bits add up in 64 bits, with room for a sign
/// and for what a step rounds. Of more terms it is less.
constexpr int kSum64FractionBits = 44;
constexpr int kSum64CountBits = 10;
/// Most fraction bits of a sum whose 4097 terms of up to 4 · 2^fraction_bits add up in 126 bits.
constexpr int kSum128FractionBits = 110;
/// Most fraction bits that a step may keep in 128 bits, and in 64.
constexpr int kStep128FractionBits = kSum128FractionBits - 2, kStep64FractionBits = 60;
/// Bits of the significands that 64-bit evaluators take as terms, and of what an unrounded sum may have to be one.
constexpr int kTermBits = 56, kUnroundedTermBits = 36;
/// Most fraction bits of a step after which a number is a term for them.
constexpr int kTermFractionBits = 52;
/// Of sums with block scales: most fraction bits, most bits of an exact sum of a block's products, and most bits that a
/// sum may have above the power of two that it is aligned to. All three, and carries, fit 126 bits.
constexpr int kScaledFractionBits = 64, kScaledSumBits = 110, kScaledBitsAbove = 48;
/// Most bits of a product, shifted up as far as alignment can ask, that leave a sign and a bit to round by in 32.
constexpr int kProduct32Bits = 30;

int fraction_bits(const OperandRule& rule) { return format(rule.format).fraction_bits; }

/// Most fraction bits that a sum keeps of any of its terms; kExact if it does not cut one of them.
int most_fraction_bits(const Unit& unit) {
  return std::max(unit.fraction_bits, unit.first_fraction_bits.value_or(unit.fraction_bits));
}
/// Most fraction bits of the terms that a sum cuts; 0 if it cuts none.
int widest_cut(const Unit& unit) {
  const int first = unit.first_fraction_bits.value_or(0), rest = unit.fraction_bits;
  return std::max(first == kExact ? 0 : first, rest == kExact ? 0 : rest);
}

bool is_short(const Unit& unit) {
  const bool cut_short = most_fraction_bits(unit) <= kUnroundedTermBits;
  if (unit.result.empty()) return cut_short && !unit.scaled;
  const auto keeps_few = [](const RoundStep& s) { return !s.from_alignment && s.fraction_bits <= kTermFractionBits; };
  const bool fits =
      std::ranges::all_of(unit.result, [](const RoundStep& s) { return s.fraction_bits <= kStep64FractionBits; });
  return fits && (cut_short || std::ranges::any_of(unit.result, keeps_few));
}

/// What 64-bit sums and all sums of two ask alike.
WhyNot why_not_exact_products_of_short_terms(const NodeToTake& x) {
  const ProductRule& product = x.numerics.product;
  if (product.operation != ProductOperation::multiply || !product.round.empty() || product.infinite_from)
    return "its products are more than multiplied: rounded, limited, or compared bit by bit";
  const Unit& unit = x.unit();
  if (x.numerics.scales && !x.node.products.empty()) return "its products have block scales";
  if (unit.first_fraction_bits || unit.drop_below) return "a sum cuts or drops some terms unlike others";
  const bool short_terms = std::ranges::all_of(x.node.others, [&](const Term& t) {
    if (t.kind == Term::Kind::accumulator) return fraction_bits(x.numerics.c) + 1 <= kTermBits;
    return (x.short_results >> x.tree.nodes[static_cast<std::size_t>(t.index)].unit & 1u) != 0;
  });
  return short_terms ? WhyNot() : "a sum has a term of too many bits";
}

/// Scales are factors of products, or of sums of a block's products, which take part with all of their bits.
WhyNot why_not_scaled(const Numerics& numerics, const SortedTree& tree) {
  // Of a sum of so many products of up to 4 each.
  const int carries =
      std::max(kSum64CountBits + 1, static_cast<int>(std::bit_width(static_cast<unsigned>(tree.tree.k))));
  const Format &a = format(numerics.a.format), &b = format(numerics.b.format);
  const int scale_bits = 2 * (format(numerics.scales->format).fraction_bits + 1);
  const int top = a.max_exponent() + b.max_exponent();
  const int last = a.min_exponent() - a.fraction_bits + b.min_exponent() - b.fraction_bits;
  if (a.fraction_bits + b.fraction_bits + 2 + scale_bits > kScaledSumBits) return "a scaled product has too many bits";
  for (const SortedNode& node : tree.nodes) {
    const Unit& unit = numerics.units[static_cast<std::size_t>(node.unit)];
    const bool aligned_steps = std::ranges::any_of(unit.result, [](const RoundStep& s) { return s.from_alignment; });
    if (aligned_steps || widest_cut(unit) > kScaledFractionBits || (unit.result.empty() && !node.others.empty()))
      return "beside block scales, a sum keeps too many bits, or is cut below its alignment";
    if (!unit.scaled) continue;
    const bool any_exact = unit.fraction_bits == kExact || unit.first_fraction_bits == kExact;
    if (any_exact && top - last + carries + scale_bits > kScaledSumBits)
      return "the exact sum of a block has too many bits";
    // Which formats tell of products as they are: rounded they may be far smaller, and cut upward far larger.
    if (any_exact && (!numerics.product.round.empty() || unit.first_fraction_bits))
      return "the exact sum of a block may have too many bits";
    if (unit.scale_exponents_alone && top + carries + scale_bits > kScaledBitsAbove)
      return "the sum of a block may be far above the exponent of its scales";
  }
  return {};
}

}  // namespace

unsigned units_of_short_results(const Numerics& numerics, const SortedTree& tree) {
  unsigned units = 0;
  for (std::size_t u = 0; u < kMaxUnits; ++u) {
    if ((tree.units_in_use >> u & 1u) != 0 && is_short(numerics.units[u])) units |= 1u << u;
  }
  return units;
}

WhyNot why_not_node_by_node(const Numerics& numerics, const SortedTree& tree) {
  if (numerics.scales) {
    if (const WhyNot why_not = why_not_scaled(numerics, tree); !why_not.empty()) return why_not;
  }
  const int more_count_bits =
      std::max(0, static_cast<int>(std::bit_width(static_cast<unsigned>(tree.tree.k - 1))) - kSum64CountBits);
  const auto keeps_many = [](const RoundStep& s) { return s.fraction_bits > kStep128FractionBits; };
  if (std::ranges::any_of(numerics.product.round, keeps_many)) return "a product keeps more bits than 128 can hold";
  for (std::size_t u = 0; u < kMaxUnits; ++u) {
    if ((tree.units_in_use >> u & 1u) == 0) continue;
    const Unit& unit = numerics.units[u];
    if (widest_cut(unit) > kSum128FractionBits) return "a sum keeps more bits than 128 can hold";
    if (unit.result.empty() && !unit.scaled && most_fraction_bits(unit) > kSum64FractionBits - more_count_bits)
      return "a sum that may have any number of bits is not rounded";
    if (std::ranges::any_of(unit.result, keeps_many)) return "a result keeps more bits than 128 can hold";
    if (outgrow_exponent(unit.result)) return "a result may be above the exponent that it is aligned with";
  }
  return {};
}

WhyNot why_not_columns(const NodeToTake& x) {
  const Unit& unit = x.unit();
  if (unit.fraction_bits == kExact) return "a sum cuts nothing";
  if (const WhyNot why_not = why_not_exact_products_of_short_terms(x); !why_not.empty()) return why_not;
  if (x.numerics.product.exponent != ProductExponent::sum) return "its products are aligned by their leading bits";
  const int products = fraction_bits(x.numerics.a) + fraction_bits(x.numerics.b);
  constexpr int kCBits = 48;
  if (fraction_bits(x.numerics.c) > kCBits || (x.short_results >> x.node.unit & 1u) == 0)
    return "a sum needs more than 64 bits";
  if (x.node.products.size() > kMostProducts || x.node.others.size() > kMostOthers) return "a sum has too many terms";
  const bool few_bits = std::max(unit.fraction_bits, products) + 2 <= kProduct32Bits;
  return few_bits ? WhyNot() : "its products need more than 32 bits";
}

WhyNot why_not_pairs_64(const NodeToTake& x) {
  const Unit& unit = x.unit();
  if (unit.fraction_bits != kExact) return "a sum cuts its terms";
  if (const WhyNot why_not = why_not_exact_products_of_short_terms(x); !why_not.empty()) return why_not;
  if (x.node.terms.size() != 2) return "an exact sum has other than two terms";
  if (unit.result.empty()) return "an exact sum is not rounded";
  const int product = fraction_bits(x.numerics.a) + fraction_bits(x.numerics.b) + 2;
  int widest = x.node.products.empty() ? kTermBits : std::max(kTermBits, product);
  for (const RoundStep& s : unit.result) {
    if (s.from_alignment) return "an exact sum is cut below its alignment";
    widest = std::max(widest, s.fraction_bits);
  }
  return widest + kPairSpareBits <= 64 ? WhyNot() : "an exact sum has terms, or keeps a result, of too many bits";
}

WhyNot why_not_terms_128(const NodeToTake&) { return {}; }

}  // namespace tcnum::cpu
