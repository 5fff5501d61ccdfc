#include "integer_sums.hpp"

#include <algorithm>
#include <bit>

#include "multiversion.hpp"

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

template <class Product>
[[gnu::always_inline]] inline std::int32_t sum_of(const std::int32_t* a, const std::int32_t* b,
                                                  std::span<const int> terms, bool contiguous, const Product& product) {
  std::int32_t sum = 0;
  if (contiguous && !terms.empty()) {
    a += terms[0], b += terms[0];
    for (std::size_t i = 0; i < terms.size(); ++i) sum += product(a[i], b[i]);
  } else {
    for (const int k : terms) sum += product(a[k], b[k]);
  }
  return sum;
}

}  // namespace

std::optional<IntegerUnits> integer_units(const Numerics& n, const Tree& tree) {
  const Format &a = format(n.a.format), &b = format(n.b.format), &c = format(n.c.format);
  const bool integers = !a.floating && !b.floating && !c.floating && !format(n.result).floating;
  const int sum_bits =
      a.fraction_bits + b.fraction_bits + static_cast<int>(std::bit_width(static_cast<unsigned>(tree.k)));
  if (!integers || sum_bits > 30 || tree.nodes.size() > kMostIntegerNodes) return std::nullopt;
  if (n.scales || n.product.infinite_from || !n.product.round.empty()) return std::nullopt;

  IntegerUnits units;
  units.operation = n.product.operation;
  for (const Node& node : tree.nodes) {
    const auto u = static_cast<std::size_t>(node.unit);
    const Unit& unit = n.units[u];
    if (unit.fraction_bits != kExact || unit.first_fraction_bits.value_or(kExact) != kExact || unit.drop_below) {
      return std::nullopt;
    }
    units.unit[u].count = 0;
    for (const RoundStep& s : unit.result) {
      const auto step = integer_step(s);
      if (!step) return std::nullopt;
      units.unit[u].step[static_cast<std::size_t>(units.unit[u].count++)] = *step;
    }
  }
  return units;
}

TCNUM_ALSO_FOR("avx2")
std::int32_t sum_of_products(const std::int32_t* a, const std::int32_t* b, std::span<const int> terms, bool contiguous,
                             ProductOperation operation) {
  if (operation == ProductOperation::exclusive_or) {
    return sum_of(a, b, terms, contiguous, [](std::int32_t x, std::int32_t y) { return x ^ y; });
  }
  return sum_of(a, b, terms, contiguous, [](std::int32_t x, std::int32_t y) { return x * y; });
}

}  // namespace tcnum
