#include "portable_datapath.hpp"

#include <algorithm>
#include <stdexcept>

#include "fma_chain.hpp"

namespace tcnum {
namespace {

/// Significands of products, shifted as far up as alignment can ask, fit 30 bits.
constexpr int kProductBits = 30;
/// Of operands: the high word of a double has them.
constexpr int kOperandBits = 20;
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
  require(products + 2 <= kProductBits && format(n.a.format).fraction_bits <= kOperandBits &&
              format(n.b.format).fraction_bits <= kOperandBits && format(n.c.format).fraction_bits < kResultBits &&
              format(n.result).fraction_bits < kResultBits,
          "operands of so many bits");
  require(format(n.a.format).non_finite != NonFinite::nan_negative_zero &&
              format(n.b.format).non_finite != NonFinite::nan_negative_zero,
          "negative zeros that are NaNs");
  require(!n.nan.propagate, "payloads of NaN operands");
  require(format(n.c.format).has_infinity(), "accumulators without infinities");
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

PortableFields fields_of(const Format& f, const OperandRule& rule) {
  if (f.storage_bits > 32) return {};  // of no datapath of sums
  const auto top = static_cast<std::uint32_t>(detail::low_mask(f.exponent_bits));
  PortableFields fields{f.storage_bits, f.fraction_bits, f.padding_bits, f.bias, top, ~0u, ~0u - 1};
  fields.smallest = rule.subnormals == Subnormals::flushed ? 1u << f.fraction_bits : 1;
  fields.floor = rule.subnormal_exponent == SubnormalExponent::minimum ? f.min_exponent() : -2000;
  if (f.has_infinity()) fields.first_special = fields.infinity = top << f.fraction_bits;
  if (f.non_finite == NonFinite::nan_all_ones) {
    fields.first_special = static_cast<std::uint32_t>(detail::low_mask(f.exponent_bits + f.fraction_bits));
    fields.infinity = fields.first_special - 1;
  }
  return fields;
}

PortableNode make_node(const Node& node, PortableDatapath& to, int& place) {
  PortableNode made;
  made.unit = static_cast<std::int16_t>(node.unit);
  made.first = static_cast<std::int16_t>(place);
  int others = 0;
  for (const Term& t : node.terms) {
    if (t.kind == Term::Kind::product) {
      to.place[t.index] = static_cast<std::uint16_t>(place++);
      continue;
    }
    require(others < 2, "more than two terms of a sum that are no products");
    made.others[others++] =
        static_cast<std::int16_t>(t.kind == Term::Kind::accumulator ? PortableNode::kAccumulator : t.index);
  }
  made.count = static_cast<std::int16_t>(place - made.first);
  return made;
}

/// Fills in how the node rounds, if patches can.
bool make_rounding(const PortableDatapath& d, const Unit& unit, bool last, PatchNode& node) {
  constexpr int kMostBits = 30, kMostExponent = 300;  // double precision holds these
  constexpr int kBias = 1023;
  if (unit.result.count != 1) return false;
  const RoundStep& s = unit.result.step[0];
  node.to_nearest = s.rounding == Rounding::nearest_even;
  node.kept_signs = unit.underflow_sign == UnderflowSign::kept ? ~0u : 0;
  node.coarse = static_cast<std::uint32_t>(52 - s.fraction_bits) << 20;
  node.result_bits = s.fraction_bits;
  node.lowest = static_cast<std::uint32_t>(s.min_exponent + kBias);
  node.highest = static_cast<std::uint32_t>(s.max_exponent + kBias);
  const bool usable = !s.from_alignment && (node.to_nearest || s.rounding == Rounding::toward_zero) &&
                      s.fraction_bits <= kMostBits && s.min_exponent >= -kMostExponent &&
                      s.max_exponent <= kMostExponent && s.min_exponent < s.max_exponent &&
                      s.subnormals == Subnormals::kept && s.overflow != Overflow::wrap;
  if (!usable || !last) return usable;
  const Format& f = d.result;
  if (!f.has_infinity() || f.padding_bits != 0 || s.fraction_bits > f.fraction_bits ||
      s.min_exponent != f.min_exponent() || s.max_exponent != f.max_exponent() ||
      unit.zero_sign != ZeroSign::positive) {
    return false;
  }
  node.up = f.fraction_bits - s.fraction_bits;
  node.sign_down = 32 - f.storage_bits;
  const std::uint32_t infinity = static_cast<std::uint32_t>(detail::low_mask(f.exponent_bits)) << f.fraction_bits;
  node.largest = infinity - (1u << node.up);
  const bool to_infinity = s.overflow == Overflow::infinity || (s.overflow == Overflow::ieee && node.to_nearest);
  node.beyond = to_infinity ? infinity : node.largest;
  return true;
}

/// What patches want to know of the datapath; false if there is something in it that they cannot do.
bool make_patches(PortableDatapath& d) {
  constexpr int kMostPlaces = 32;        // whose signs are bits of a word
  constexpr int kMostFractionBits = 28;  // a product of them fits 30
  constexpr int kSumBits = 29;           // each product is below 2^(fraction_bits + 2) units
  const bool known_c = d.c.id == FormatId::fp32 || d.c.id == FormatId::fp16;
  if (d.k > kMostPlaces || d.nodes > PortableDatapath::kMostPatchNodes || !known_c ||
      d.c_rule.subnormals == Subnormals::flushed) {
    return false;
  }
  for (int i = 0; i < d.nodes; ++i) {
    const PortableNode& from = d.node[i];
    const Unit& unit = d.units[from.unit];
    PatchNode& node = d.patch[i];
    node.first = from.first;
    node.count = from.count;
    node.places = from.count == 0 ? 0 : ~0u >> (kMostPlaces - from.count) << from.first;
    node.is_pair = from.is_pair;
    for (const int other : from.others) {
      if (other >= 0 && other != i - 1) return false;
      if (other >= 0) node.takes_before = true;
      if (other == PortableNode::kAccumulator) node.takes_c = true;
    }
    if (i > 0 && d.c_rule.subnormal_exponent == SubnormalExponent::minimum) {
      node.before_floor = d.units[d.node[i - 1].unit].result.step[0].min_exponent;
    }
    if (unit.zero_exponent.kind == ZeroExponentKind::floor) {
      node.alignment = std::max(node.alignment, unit.zero_exponent.value);
    }
    node.fraction_bits = from.is_pair ? 0 : unit.fraction_bits;
    if (!make_rounding(d, unit, i + 1 == d.nodes, node)) return false;
    if (from.is_pair) continue;
    if (unit.align_rounding != Rounding::toward_zero || unit.fraction_bits > kMostFractionBits ||
        from.count > 1 << (kSumBits - unit.fraction_bits)) {
      return false;
    }
  }
  return true;
}

PortableDatapath make(const Datapath& datapath) {
  const Numerics& n = datapath.numerics;
  const Tree& tree = datapath.tree;
  PortableDatapath to;
  to.a = format(n.a.format);
  to.b = format(n.b.format);
  to.c = format(n.c.format);
  to.result = format(n.result);
  to.c_rule = n.c;
  to.nan = n.nan;
  to.a_fields = fields_of(to.a, n.a);
  to.b_fields = fields_of(to.b, n.b);
  to.c_fields = fields_of(to.c, n.c);
  require(!n.scales, "block scales");
  require(tree.k <= PortableDatapath::kMostProducts, "so many products");
  require(tree.nodes.size() <= PortableDatapath::kMostNodes, "so many sums");
  to.k = tree.k;
  to.nodes = static_cast<int>(tree.nodes.size());
  std::copy(n.units.begin(), n.units.end(), to.units);

  if (const std::vector<int> order = fma_chain_order(n, tree); !order.empty()) {
    to.kind = PortableDatapath::Kind::fma_chain;
    for (std::size_t p = 0; p < order.size(); ++p) to.place[order[p]] = static_cast<std::uint16_t>(p);
    return to;
  }
  if (const auto units = integer_units(n, tree)) {
    to.kind = PortableDatapath::Kind::integers;
    to.integers = *units;
  } else {
    check_sums(n);
  }

  int place = 0;
  for (int i = 0; i < to.nodes; ++i) {
    const Node& node = tree.nodes[static_cast<std::size_t>(i)];
    const Unit& unit = n.units[static_cast<std::size_t>(node.unit)];
    const PortableNode& made = to.node[i] = make_node(node, to, place);
    if (to.kind == PortableDatapath::Kind::integers) continue;
    check_result(unit);
    if (unit.fraction_bits == kExact) {
      require(made.count == 0 && node.terms.size() == 2 && !unit.first_fraction_bits && !unit.drop_below,
              "exact sums but of two numbers that are no products");
      const bool steps_fit = std::none_of(unit.result.begin(), unit.result.end(), [](const RoundStep& s) {
        return s.from_alignment || s.fraction_bits > kResultBits;
      });
      require(steps_fit, "exact sums that are cut below their alignment");
      to.node[i].is_pair = true;
    } else {
      check_sum(unit);
    }
  }
  to.takes_patches = to.kind == PortableDatapath::Kind::sums && make_patches(to);
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
