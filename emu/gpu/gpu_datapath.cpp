#include "gpu_datapath.hpp"

#include <algorithm>
#include <cmath>

#include "conversions.hpp"
#include "emu/fma_chain.hpp"
#include "requirements.hpp"

namespace tcnum {
namespace {

GpuFields fields_of(const Format& f, const OperandRule& rule) {
  if (f.storage_bits > 32) return {};  // of no datapath of sums
  const auto top = static_cast<std::uint32_t>(detail::low_mask(f.exponent_bits));
  const auto first_special = static_cast<std::uint32_t>(f.first_non_finite());
  GpuFields fields{f.storage_bits, f.fraction_bits, f.padding_bits, f.bias, top, first_special};
  fields.smallest = rule.subnormals == Subnormals::flushed ? 1u << f.fraction_bits : 1;
  fields.floor = rule.subnormal_exponent == SubnormalExponent::minimum ? f.min_exponent() : -2000;
  fields.infinity = f.has_infinity() ? first_special : first_special - 1;
  fields.zero_is_nan = f.non_finite == NonFinite::nan_negative_zero;
  return fields;
}

/// Gives the node's products the next places.
GpuNode make_node(const SortedNode& node, const Unit& unit, GpuDatapath& to, int& place) {
  GpuNode made;
  made.unit = static_cast<std::int16_t>(node.unit);
  made.first = static_cast<std::int16_t>(place);
  made.count = static_cast<std::int16_t>(node.products.size());
  for (const int k : node.products) to.place[k] = static_cast<std::uint16_t>(place++);
  int others = 0;
  if (node.others.size() <= GpuNode::kMostOthers) {  // else the sum of all scaled ones
    for (const Term& t : node.others) {
      made.others[others++] =
          static_cast<std::int16_t>(t.kind == Term::Kind::accumulator ? GpuNode::kAccumulator : t.index);
    }
  }
  made.other_is_first = !node.terms.empty() && node.terms.front().kind != Term::Kind::product;
  made.is_pair = unit.fraction_bits == kExact && node.products.empty() && others == 2;
  return made;
}

/// How many products have places side by side, wherever they are.
int adjacent_products(const GpuDatapath& d) {
  for (const int adjacent : {4, 2}) {
    bool all = d.k % adjacent == 0 && d.scaling.block_k % adjacent == 0;  // and one scale is all of theirs
    for (int i = 0; i < d.k; ++i) {
      const int first = d.place[i - i % adjacent];
      all = all && first % adjacent == 0 && d.place[i] == first + i % adjacent;
    }
    if (all) return adjacent;
  }
  return 1;
}

/// Fills in how the node rounds.
void put_rounding(const Unit& unit, gpu::RoundingOfPatch how, PatchNode& node) {
  const Format f = format(how.result);
  const RoundStep& s = unit.result.step[0];
  node.rounding = how.rounding;
  if (unit.underflow_sign != UnderflowSign::kept) node.dropped = 1u << (f.storage_bits - 1);
  if (how.rounding != PatchRounding::fp32_toward_zero) return;
  const int cut = f.fraction_bits - s.fraction_bits;
  const std::uint32_t infinity = static_cast<std::uint32_t>(detail::low_mask(f.exponent_bits)) << f.fraction_bits;
  node.kept_bits = ~0u << cut;
  node.overflow = std::ldexp(1.0, s.max_exponent + 1);
  node.beyond = s.overflow == Overflow::infinity ? infinity : infinity - (1u << cut);
}

/// An exponent, or a distance of two, as the high word of doubles has it.
std::uint32_t as_high_word(int exponent) { return static_cast<std::uint32_t>(exponent) << gpu::kHighFraction; }
/// From an alignment, as high words, to 1.5 · 2^52 units of so many bits below it.
std::uint32_t grid_below_alignment(int fraction_bits) {
  return as_high_word(52 - fraction_bits) + (1u << (gpu::kHighFraction - 1));
}
/// How the node aligns its terms, of which the one before has that format.
void put_alignment(const GpuDatapath& d, const Unit& unit, FormatId before, PatchNode& node) {
  using gpu::high_word, gpu::power_of_two;
  if (unit.zero_exponent.kind == ZeroExponentKind::floor) {
    node.alignment = std::max(node.alignment, unit.zero_exponent.value);
  }
  if (d.c_rule.subnormal_exponent == SubnormalExponent::minimum) {
    node.c_floor = high_word(power_of_two(d.c.min_exponent()));
    node.before_floor = high_word(power_of_two(format(before).min_exponent()));
  }
  node.grid = grid_below_alignment(unit.fraction_bits);
}

/// Which products are the node's.
void put_products(const GpuNode& from, PatchNode& node) {
  constexpr int kWordBits = 32;
  node.first = from.first;
  node.count = from.count;
  node.places = from.count == 0 ? 0 : ~0u >> (kWordBits - from.count) << from.first;
}

/// What patches want to know of the datapath, which is one of theirs.
void put_patches(GpuDatapath& d) {
  FormatId before = d.c.id;
  for (int i = 0; i < d.nodes; ++i) {
    const GpuNode& from = d.node[i];
    const Unit& unit = d.units[from.unit];
    const gpu::RoundingOfPatch rounding = gpu::rounding_of_patch(unit).value();
    PatchNode& node = d.patch[i];
    put_products(from, node);
    node.is_pair = from.is_pair;
    node.before_is_half = format(before).storage_bits == 16;
    for (const int other : from.others) {
      if (other >= 0) node.takes_before = true;
      if (other == GpuNode::kAccumulator) node.takes_c = true;
    }
    put_rounding(unit, rounding, node);
    if (!from.is_pair) put_alignment(d, unit, before, node);
    before = rounding.result;
  }
}

/// What is wanted of the sum of c and all scaled sums.
void put_sum_of_scaled(GpuDatapath& d) {
  const Unit& unit = d.units[d.node[d.nodes - 1].unit];
  PatchNode& node = d.patch[0];
  put_rounding(unit, gpu::rounding_of_patch(unit).value(), node);
  put_alignment(d, unit, d.c.id, node);
}

/// The floor under an alignment.
std::uint32_t floor_of(const Unit& unit) {
  const bool has_one = unit.zero_exponent.kind == ZeroExponentKind::floor;
  return as_high_word(std::max(PatchNode::kLowest, has_one ? unit.zero_exponent.value : PatchNode::kLowest) +
                      gpu::kBias);
}

/// What accumulations want to know of the datapath, which is one of theirs.
void put_accumulations(const SortedTree& tree, GpuDatapath& d) {
  Accumulations& to = d.accumulations;
  const std::vector<gpu::Accumulation> all = gpu::accumulations_of(tree);
  const auto unit_at = [&](int node) -> const Unit& { return d.units[d.node[node].unit]; };
  for (const gpu::Accumulation& from : all) {
    Accumulations::Step& step = to.step[to.steps++];
    for (const std::size_t i : {0, 1}) {
      const int number = from.products[i];
      step.products[i] = number;
      if (number < 0) continue;
      PatchNode& products = d.patch[number];
      put_products(d.node[number], products);
      put_alignment(d, unit_at(number), d.c.id, products);
      step.places |= products.places;
      step.count += products.count;
    }
  }
  const Unit &of_products = unit_at(all[0].products[0]), &of_sum = unit_at(all[0].sum);
  const auto is_ieee = [](const Unit& unit) { return unit.zero_sign == ZeroSign::ieee; };
  to.in_pairs = all[0].pair >= 0;
  to.negative_zeros = is_ieee(of_products) && is_ieee(of_sum);
  to.grid = grid_below_alignment(of_products.fraction_bits);
  if (to.in_pairs) {
    const Unit& pair = unit_at(all[0].pair);
    to.negative_zeros = to.negative_zeros && is_ieee(pair);
    to.pair_floor = floor_of(pair);
  }
  to.floor = floor_of(of_sum);
  const int first = of_sum.first_fraction_bits.value_or(of_sum.fraction_bits);
  to.first_grid = grid_below_alignment(first);
  to.second_grid = grid_below_alignment(of_sum.fraction_bits);
  // Nothing is further below than doubles go.
  constexpr int kFar = 2000;
  to.drop_below = as_high_word(std::min(of_sum.drop_below.value_or(kFar), kFar));
  const RoundStep& cut = of_sum.result.step[0];
  if (of_sum.result.count < 2) return;
  if (cut.from_alignment) {
    if (first > cut.fraction_bits) to.kept_bits = ~0u << (first - cut.fraction_bits);
  } else {
    to.cuts_below_leading = true;
    to.least = as_high_word(std::max(PatchNode::kLowest, cut.min_exponent) + gpu::kBias);
    to.cut_grid = grid_below_alignment(cut.fraction_bits);
  }
}

GpuSingles singles_of(const Numerics& n) {
  const auto flushes = [](const RoundSteps& steps) {
    return !steps.empty() && steps.step[0].subnormals == Subnormals::flushed;
  };
  GpuSingles singles;
  singles.rounds_products = !n.product.round.empty();
  singles.flushes_products = flushes(n.product.round);
  for (std::size_t i = 0; i < kMaxUnits; ++i) singles.flushes[i] = flushes(n.units[i].result);
  return singles;
}

/// Which results are kept.
void put_kept(GpuDatapath& d) {
  for (int i = 0; i < d.nodes; ++i) {
    for (const int other : d.node[i].others) {
      if (other >= 0 && other != i - 1) d.kept |= 1u << other;
    }
  }
}

GpuDatapath make(const Numerics& n, const SortedTree& tree, GpuEvaluator evaluator) {
  GpuDatapath to;
  to.evaluator = evaluator;
  to.a = format(n.a.format);
  to.b = format(n.b.format);
  to.c = format(n.c.format);
  to.result = format(n.result);
  to.a_rule = n.a;
  to.b_rule = n.b;
  to.c_rule = n.c;
  to.product = n.product;
  to.nan = n.nan;
  to.quiet = to.result.floating ? nan_code(to.result) : 0;
  to.a_fields = fields_of(to.a, n.a);
  to.b_fields = fields_of(to.b, n.b);
  to.c_fields = fields_of(to.c, n.c);
  to.k = tree.tree.k;
  to.nodes = static_cast<int>(tree.nodes.size());
  std::ranges::copy(n.units, to.units);
  if (n.scales) to.scaling = {n.scales->block_k, format(n.scales->format)};
  int place = 0;
  for (int i = 0; i < to.nodes; ++i) {
    const SortedNode& node = tree.nodes[static_cast<std::size_t>(i)];
    to.node[i] = make_node(node, n.units[static_cast<std::size_t>(node.unit)], to, place);
  }
  to.adjacent = adjacent_products(to);
  put_kept(to);
  switch (evaluator) {
    case GpuEvaluator::fma_chain:
      to.fma_rounding = fma_chain_of(n, tree).rounding;
      break;
    case GpuEvaluator::integers:
      to.integers = integer_units_of(n, tree);
      break;
    case GpuEvaluator::scaled_sums:
      put_sum_of_scaled(to);
      break;
    case GpuEvaluator::scaled_patches:
    case GpuEvaluator::patches:
      put_patches(to);
      break;
    case GpuEvaluator::single_precision:
      to.singles = singles_of(n);
      break;
    case GpuEvaluator::accumulations:
      put_accumulations(tree, to);
      break;
    case GpuEvaluator::brackets:
      break;
  }
  return to;
}

}  // namespace

Datapath in_shortest_k_steps(const Datapath& datapath) {
  const std::vector<Node>& nodes = datapath.tree.nodes;
  const auto count = static_cast<int>(nodes.size()), k = datapath.tree.k / count;
  const Numerics& n = datapath.numerics;
  const Unit& unit = n.units[static_cast<std::size_t>(nodes[0].unit)];
  const bool has_zero_of_c = unit.zero_exponent.kind == ZeroExponentKind::natural;  // which is not that of a result
  if (datapath.tree.k != count * k || n.c.format != n.result || n.c.subnormals != Subnormals::kept || n.nan.propagate ||
      n.scales || has_zero_of_c)
    return datapath;
  for (int i = 0; i < count; ++i) {
    std::vector<Term> as_first = nodes[static_cast<std::size_t>(i)].terms;
    for (Term& t : as_first) {
      if (t.kind == Term::Kind::product) t.index -= i * k;
      if (t == Term{Term::Kind::node, i - 1}) t = {Term::Kind::accumulator, 0};
    }
    const bool takes_c = std::ranges::count(as_first, Term{Term::Kind::accumulator, 0}) == 1;
    if (nodes[static_cast<std::size_t>(i)].unit != nodes[0].unit || as_first != nodes[0].terms || !takes_c)
      return datapath;
  }
  Datapath shortest = datapath;
  shortest.tree = {k, {nodes[0]}};
  return shortest;
}

MadeGpuDatapath make_gpu_datapath(const Datapath& datapath, GpuWork work) {
  const SortedTree tree(datapath.tree);
  const auto [evaluator, why_not] = choose_on_gpu(datapath.numerics, tree, work);
  if (!evaluator) return {std::nullopt, why_not};
  return {make(datapath.numerics, tree, *evaluator), {}};
}

}  // namespace tcnum
