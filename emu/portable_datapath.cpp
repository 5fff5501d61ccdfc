#include "portable_datapath.hpp"

#include <algorithm>
#include <stdexcept>

#include "fma_chain.hpp"

namespace tcnum {
namespace {

/// Significands of products, shifted as far up as alignment can ask, fit 30 bits.
constexpr int kProductBits = 30;
/// Of results that later nodes take: 32 bits hold them.
constexpr int kResultBits = 31;

struct Unportable {
  std::string why;
};
void require(bool holds, const char* otherwise) {
  if (!holds) throw Unportable{otherwise};
}

void check_sums(const Numerics& n) {
  const int products = format(n.a.format).fraction_bits + format(n.b.format).fraction_bits;
  require(n.product.exponent == ProductExponent::sum && n.product.operation == ProductOperation::multiply &&
              n.product.round.empty() && !n.product.infinite_from,
          "products that are rounded, limited or aligned by their leading bit");
  require(products + 2 <= kProductBits && format(n.c.format).fraction_bits < kResultBits &&
              format(n.result).fraction_bits < kResultBits,
          "operands of so many bits");
  require(!n.nan.propagate, "payloads of NaN operands");
  require(format(n.c.format).has_infinity(), "accumulators without infinities");
  require(format(n.c.format).storage_bits == format(n.result).storage_bits,
          "accumulators narrower or wider than results");
}

void check_sum(const Unit& unit) {
  require(unit.fraction_bits + 2 <= kProductBits, "sums of so many fraction bits");
  require(!unit.first_fraction_bits && !unit.drop_below, "terms that are cut differently from the others");
  require(unit.zero_exponent.kind == ZeroExponentKind::none || unit.zero_exponent.kind == ZeroExponentKind::floor,
          "zeros that take part in alignment");
}

void check_result(const Unit& unit) {
  const bool narrow = std::any_of(unit.result.begin(), unit.result.end(), [](const RoundStep& s) {
    return !s.from_alignment && s.fraction_bits < kResultBits;
  });
  require(narrow, "sums that are not rounded");
}

PortableFields fields_of(const Format& f) {
  return {f.storage_bits, f.fraction_bits, f.padding_bits, f.bias,
          static_cast<std::uint32_t>(detail::low_mask(f.exponent_bits))};
}

PortableRounding rounding_of(const Unit& unit) {
  if (unit.result.count != 1) return {};
  const RoundStep& s = unit.result.step[0];
  const bool nearest = s.rounding == Rounding::nearest_even;
  const bool usable = !s.from_alignment && (nearest || s.rounding == Rounding::toward_zero) &&
                      s.fraction_bits < kResultBits - 2;  // 32 bits have room for what decides the rounding
  return {usable, nearest, s.fraction_bits, s.min_exponent, s.max_exponent};
}

PortableNode make_node(const Node& node, PortableDatapath& to, int& place) {
  PortableNode made;
  made.unit = static_cast<std::int16_t>(node.unit);
  made.first = static_cast<std::int16_t>(place);
  int others = 0;
  for (const Term& t : node.terms) {
    if (t.kind == Term::Kind::product) {
      to.order[place++] = static_cast<std::uint16_t>(t.index);
      continue;
    }
    require(others < 2, "more than two terms of a sum that are no products");
    made.others[others++] =
        static_cast<std::int16_t>(t.kind == Term::Kind::accumulator ? PortableNode::kAccumulator : t.index);
  }
  made.count = static_cast<std::int16_t>(place - made.first);
  return made;
}

PortableDatapath make(const Datapath& datapath) {
  const Numerics& n = datapath.numerics;
  const Tree& tree = datapath.tree;
  PortableDatapath to;
  to.a = format(n.a.format);
  to.b = format(n.b.format);
  to.c = format(n.c.format);
  to.result = format(n.result);
  to.a_rule = n.a;
  to.b_rule = n.b;
  to.c_rule = n.c;
  to.nan = n.nan;
  to.a_fields = fields_of(to.a);
  to.b_fields = fields_of(to.b);
  to.c_fields = fields_of(to.c);
  for (std::size_t u = 0; u < kMaxUnits; ++u) to.roundings[u] = rounding_of(n.units[u]);
  require(!n.scales, "block scales");
  require(tree.k <= PortableDatapath::kMostProducts, "so many products");
  require(tree.nodes.size() <= PortableDatapath::kMostNodes, "so many sums");
  to.k = tree.k;
  to.nodes = static_cast<int>(tree.nodes.size());
  std::copy(n.units.begin(), n.units.end(), to.units);

  if (const std::vector<int> order = fma_chain_order(n, tree); !order.empty()) {
    to.kind = PortableDatapath::Kind::fma_chain;
    std::transform(order.begin(), order.end(), to.order, [](int k) { return static_cast<std::uint16_t>(k); });
    return to;
  }
  if (const auto units = integer_units(n, tree)) {
    to.kind = PortableDatapath::Kind::integers;
    to.integers = *units;
  } else {
    check_sums(n);
  }

  int place = 0;
  to.in_sequence = true;
  for (int i = 0; i < to.nodes; ++i) {
    const Node& node = tree.nodes[static_cast<std::size_t>(i)];
    const Unit& unit = n.units[static_cast<std::size_t>(node.unit)];
    PortableNode& made = to.node[i] = make_node(node, to, place);
    for (const int other : made.others) {
      if (other >= 0 && other != i - 1) to.in_sequence = false;
    }
    if (to.kind == PortableDatapath::Kind::integers) continue;
    check_result(unit);
    if (unit.fraction_bits == kExact) {
      require(made.count == 0 && node.terms.size() == 2 && !unit.first_fraction_bits && !unit.drop_below,
              "exact sums but of two numbers that are no products");
      const bool steps_fit = std::none_of(unit.result.begin(), unit.result.end(), [](const RoundStep& s) {
        return s.from_alignment || s.fraction_bits > kResultBits;
      });
      require(steps_fit, "exact sums that are cut below their alignment");
      made.is_pair = true;
    } else {
      check_sum(unit);
      if (unit.align_rounding != Rounding::toward_zero) to.in_sequence = false;
    }
  }
  return to;
}

}  // namespace

MadePortable make_portable(const Datapath& datapath) {
  try {
    return {make(datapath), ""};
  } catch (const Unportable& reason) {
    return {{}, reason.why};
  }
}

}  // namespace tcnum
