#include "integer_sums.hpp"

#include <algorithm>
#include <optional>

#include "bit_width.hpp"
#include "emu/units.hpp"

namespace tcnum {
namespace {

/// A step that leaves every integer of its range as it is, and no others.
std::optional<IntegerStep> integer_step(const RoundStep& s) {
  constexpr int kMostBits = 40;  // of an accumulator, far from those of an int64
  const bool spacing_is_one =
      s.min_exponent <= s.fraction_bits && std::max(s.min_exponent, s.max_exponent) == s.fraction_bits;
  const bool takes_integers =
      !s.from_alignment && s.subnormals == Subnormals::kept && spacing_is_one && s.max_exponent < kMostBits;
  const bool stays_finite = s.overflow == Overflow::max_finite || s.overflow == Overflow::wrap;
  if (!takes_integers || !stays_finite) return std::nullopt;
  const std::int64_t beyond = std::int64_t{1} << (s.max_exponent + 1);
  return IntegerStep{s.twos_complement ? -beyond : 1 - beyond, beyond - 1, s.overflow == Overflow::wrap};
}

}  // namespace

WhyNot why_no_integer_sums(const Numerics& numerics, const SortedTree& tree) {
  const Format &a = format(numerics.a.format), &b = format(numerics.b.format), &c = format(numerics.c.format);
  if (a.floating || b.floating || c.floating || format(numerics.result).floating)
    return "its operands or results are no integers";
  if (numerics.scales) return "it has block scales";
  if (numerics.product.infinite_from || !numerics.product.round.empty()) return "its products are rounded or limited";
  constexpr int kSumBits = 30;  // and a sign, in an int32
  const int terms = bit_width(static_cast<std::uint32_t>(tree.tree.k));
  if (a.fraction_bits + b.fraction_bits + terms > kSumBits) return "its sums of products need more than 32 bits";
  if (tree.nodes.size() > kMostIntegerNodes) return "it has too many sums";
  for (std::size_t u = 0; u < kMaxUnits; ++u) {
    if ((tree.units_in_use >> u & 1u) == 0) continue;
    const Unit& unit = numerics.units[u];
    if (cuts_terms(unit) || unit.drop_below) return "a sum cuts or drops terms";
    if (!std::ranges::all_of(unit.result, [](const RoundStep& s) { return integer_step(s).has_value(); }))
      return "a sum is rounded to something else than integers";
  }
  return {};
}

IntegerUnits integer_units_of(const Numerics& numerics, const SortedTree& tree) {
  IntegerUnits units;
  units.operation = numerics.product.operation;
  for (std::size_t u = 0; u < kMaxUnits; ++u) {
    if ((tree.units_in_use >> u & 1u) == 0) continue;
    IntegerUnits::Steps& to = units.unit[u];
    for (const RoundStep& s : numerics.units[u].result) {
      to.step[static_cast<std::size_t>(to.count++)] = integer_step(s).value();
    }
  }
  return units;
}

}  // namespace tcnum
