// RapidCheck generators: datapaths anywhere in the description's range, and operands that reach every corner of them.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/format.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum::test {

inline rc::Gen<Rounding> any_rounding() {
  return rc::gen::element(Rounding::toward_zero, Rounding::nearest_even, Rounding::nearest_away, Rounding::up,
                          Rounding::down);
}

inline RoundStep random_step(FormatId result) {
  const Format& f = format(result);
  RoundStep s = round_to(f, *any_rounding());
  s.fraction_bits = *rc::gen::inRange(std::max(1, f.fraction_bits - 12), f.fraction_bits + 1);
  s.overflow = *rc::gen::element(Overflow::ieee, Overflow::infinity, Overflow::max_finite);
  s.subnormals = *rc::gen::element(Subnormals::kept, Subnormals::flushed);
  return s;
}

inline ZeroExponent random_zero_exponent(FormatId result) {
  const int low = format(result).min_exponent();
  const auto kind = *rc::gen::element(ZeroExponentKind::none, ZeroExponentKind::natural, ZeroExponentKind::floor,
                                      ZeroExponentKind::zeros);
  const bool has_value = kind == ZeroExponentKind::floor || kind == ZeroExponentKind::zeros;
  return {kind, has_value ? *rc::gen::inRange(low - 30, low + 20) : 0};
}

inline Unit random_unit(FormatId result) {
  Unit u;
  u.fraction_bits = *rc::gen::weightedOneOf<int>(
      {{3, rc::gen::inRange(4, 45)}, {1, rc::gen::inRange(45, 100)}, {1, rc::gen::just(kExact)}});
  if (*rc::gen::inRange(0, 6) == 0) {
    u.first_fraction_bits = *rc::gen::inRange(4, 60);
    if (u.fraction_bits != kExact && *rc::gen::inRange(0, 4) == 0) u.first_fraction_bits = kExact;
  }
  if (*rc::gen::inRange(0, 6) == 0) u.drop_below = *rc::gen::inRange(0, 40);
  u.align_rounding = *any_rounding();
  u.zero_exponent = random_zero_exponent(result);
  if (u.fraction_bits != kExact && *rc::gen::inRange(0, 4) == 0) {
    RoundStep first;  // a cut of the sum before the result's own rounding
    first.from_alignment = *rc::gen::inRange(0, 2) == 0;
    first.fraction_bits = *rc::gen::inRange(4, 40);
    first.rounding = *any_rounding();
    u.result = {first, random_step(result)};
  } else {
    u.result = {random_step(result)};
  }
  u.zero_sign = *rc::gen::element(ZeroSign::positive, ZeroSign::ieee);
  u.underflow_sign = *rc::gen::element(UnderflowSign::kept, UnderflowSign::positive);
  return u;
}

/// Joins random groups of terms under random units, from `first_unit` to `end_unit` − 1, until one node is left.
inline void join_terms(Tree& tree, const std::vector<Term>& open, int first_unit, int end_unit) {
  const auto order = *rc::gen::container<std::vector<std::uint32_t>>(open.size(), rc::gen::arbitrary<std::uint32_t>());
  std::vector<std::size_t> index(open.size());
  std::iota(index.begin(), index.end(), 0);
  std::stable_sort(index.begin(), index.end(), [&](std::size_t x, std::size_t y) { return order[x] < order[y]; });
  std::vector<Term> shuffled;
  for (std::size_t i : index) shuffled.push_back(open[i]);
  const bool few_nodes = *rc::gen::inRange(0, 2) == 0;
  while (true) {
    const int most = static_cast<int>(shuffled.size());
    const int count = *rc::gen::inRange(few_nodes ? std::max(2, most / 2) : 2, std::max(3, most + 1));
    Node node;
    node.unit = *rc::gen::inRange(first_unit, end_unit);
    const auto end = shuffled.begin() + std::min(count, most);
    node.terms.assign(shuffled.begin(), end);
    shuffled.erase(shuffled.begin(), end);
    tree.nodes.push_back(node);
    shuffled.push_back({Term::Kind::node, static_cast<int>(tree.nodes.size()) - 1});
    if (shuffled.size() == 1) return;
  }
}

/// A random tree over k products and, mostly, c.
inline Tree random_tree(int k, int units) {
  Tree tree;
  tree.k = k;
  std::vector<Term> open;
  for (int i = 0; i < k; ++i) open.push_back({Term::Kind::product, i});
  if (*rc::gen::inRange(0, 10) != 0) open.push_back({Term::Kind::accumulator, 0});
  join_terms(tree, open, 0, units);
  return tree;
}

/// Drops units that no node uses and numbers the rest in order.
inline void drop_unused_units(Datapath& d, int units) {
  int next = 0;
  std::array<int, kMaxUnits> renamed{};
  Numerics out = d.numerics;
  out.units = {};
  for (int u = 0; u < units; ++u) {
    const bool used = std::any_of(d.tree.nodes.begin(), d.tree.nodes.end(), [&](const Node& n) { return n.unit == u; });
    if (!used) continue;
    renamed[static_cast<std::size_t>(u)] = next;
    out.units[static_cast<std::size_t>(next)] = d.numerics.units[static_cast<std::size_t>(u)];
    ++next;
  }
  for (Node& n : d.tree.nodes) n.unit = renamed[static_cast<std::size_t>(n.unit)];
  d.numerics = out;
  d.unit_names.clear();
  for (int u = 0; u < next; ++u) d.unit_names.push_back("unit" + std::to_string(u));
}

inline OperandRule random_operand(FormatId f) {
  return {f, *rc::gen::element(Subnormals::kept, Subnormals::flushed),
          *rc::gen::element(SubnormalExponent::minimum, SubnormalExponent::normalised)};
}

inline Datapath random_datapath() {
  Datapath d;
  struct Types {
    FormatId a, b, c, result;
  };
  using enum FormatId;
  const Types types = *rc::gen::elementOf(std::vector<Types>{{fp16, fp16, fp32, fp32},
                                                             {fp16, fp16, fp16, fp16},
                                                             {bf16, bf16, fp32, fp32},
                                                             {tf32, tf32, fp32, fp32},
                                                             {fp8e4m3, fp8e5m2, fp32, fp32},
                                                             {fp8e5m2, fp8e4m3, fp16, fp16},
                                                             {fp4e2m1, fp6e3m2, fp32, fp32},
                                                             {fp8e4m3fnuz, fp8e5m2fnuz, fp32, fp32},
                                                             {fp32, fp32, fp32, fp32},
                                                             {fp64, fp64, fp64, fp64}});
  d.numerics.a = random_operand(types.a);
  d.numerics.b = random_operand(types.b);
  d.numerics.c = random_operand(types.c);
  d.numerics.result = types.result;
  d.numerics.product.exponent = *rc::gen::element(ProductExponent::sum, ProductExponent::normalised);
  if (*rc::gen::inRange(0, 5) == 0) d.numerics.product.round = {random_step(types.result)};
  if (*rc::gen::inRange(0, 8) == 0) d.numerics.product.infinite_from = format(types.result).max_exponent() + 1;
  const int units = *rc::gen::inRange(1, 4);
  for (int u = 0; u < units; ++u) d.numerics.units[static_cast<std::size_t>(u)] = random_unit(types.result);
  const Format& r = format(types.result);
  d.numerics.nan.code = nan_code(r);
  if (*rc::gen::inRange(0, 3) == 0) {
    d.numerics.nan.propagate = true;
    using enum NanOperand;
    d.numerics.nan.order = *rc::gen::elementOf(
        std::vector<std::array<NanOperand, 3>>{{a, b, c}, {a, c, b}, {b, a, c}, {b, c, a}, {c, a, b}, {c, b, a}});
  }
  d.tree = random_tree(*rc::gen::elementOf(std::vector<int>{1, 2, 4, 8, 16, 32}), units);
  drop_unused_units(d, units);
  return d;
}

/// Scales of blocks that divide k.
inline ScaleRule random_scale_rule(int k) {
  std::vector<int> blocks;
  for (int block = 1; block <= k; block *= 2) {
    if (k % block == 0) blocks.push_back(block);
  }
  return {*rc::gen::element(FormatId::ue8m0, FormatId::ue4m3), *rc::gen::elementOf(blocks)};
}

/// With block scales: of each product, or of the sums of a first layer of nodes.
inline Datapath random_scaled_datapath() {
  Datapath d = random_datapath();
  Numerics& n = d.numerics;
  n.scales = random_scale_rule(d.tree.k);
  if (*rc::gen::arbitrary<bool>()) return d;
  const int k = d.tree.k, block = n.scales->block_k;
  n.units[1] = n.units[0];
  n.units[0].scaled = true;
  n.units[0].scale_exponents_alone = n.units[0].result.empty() && *rc::gen::arbitrary<bool>();
  d.unit_names = {"block", "total"};
  d.tree.nodes.clear();
  Node total{1, {{Term::Kind::accumulator, 0}}};
  for (int first = 0; first < k; first += block) {
    Node sum{0, {}};
    for (int i = first; i < first + block; ++i) sum.terms.push_back({Term::Kind::product, i});
    total.terms.push_back({Term::Kind::node, static_cast<int>(d.tree.nodes.size())});
    d.tree.nodes.push_back(std::move(sum));
  }
  d.tree.nodes.push_back(std::move(total));
  return d;
}

/// Operations of fp32: sums of one or two products or results, and FMAs, the last of which may be rounded to fp16.
/// Mostly those of IEEE 754, or with subnormals flushed, else with one rule changed.
inline Datapath random_single_precision_datapath() {
  using enum FormatId;
  Datapath d;
  Numerics& n = d.numerics;
  const bool half = *rc::gen::arbitrary<bool>(), rounds_products = *rc::gen::arbitrary<bool>();
  n.a.format = half ? fp16 : *rc::gen::element(fp16, bf16, tf32, fp32);
  n.b.format = half ? fp16 : *rc::gen::element(fp16, bf16, tf32, fp32);
  n.c.format = *rc::gen::element(fp16, fp32);
  n.result = *rc::gen::element(fp16, fp32);
  n.nan.code = nan_code(format(n.result));
  const bool flushes = *rc::gen::inRange(0, 3) == 0;
  const auto kept_or_flushed = [&] {
    return flushes ? *rc::gen::element(Subnormals::kept, Subnormals::flushed) : Subnormals::kept;
  };
  const auto single = [&] { return round_to(format(fp32), Rounding::nearest_even, Overflow::ieee, kept_or_flushed()); };
  for (OperandRule* rule : {&n.a, &n.b, &n.c}) rule->subnormals = kept_or_flushed();
  if (rounds_products) n.product.round = {single()};
  n.units[0].result = {single()};
  n.units[1].result = {single()};
  if (n.result == fp16) n.units[1].result = {single(), round_to(format(fp16), Rounding::nearest_even)};
  for (Unit& unit : n.units) unit.zero_sign = *rc::gen::element(ZeroSign::ieee, ZeroSign::positive);
  switch (*rc::gen::inRange(0, 16)) {
    case 0:
      n.units[1].result.step[0].rounding = Rounding::toward_zero;
      break;
    case 1:
      n.units[0].underflow_sign = UnderflowSign::positive;
      break;
    case 2:
      n.product.infinite_from = 128;
      break;
    case 3:
      n.nan.propagate = true;
      break;
    default:
      break;
  }
  d.unit_names = {"sum", "last"};
  d.tree.k = *rc::gen::element(1, 2, 4, 8);
  Term sum{Term::Kind::accumulator, 0};
  const auto result_of_last = [&] { return Term{Term::Kind::node, static_cast<int>(d.tree.nodes.size()) - 1}; };
  for (int k = 0; k < d.tree.k; ++k) {
    Term product{Term::Kind::product, k};
    const bool two = (half || rounds_products) && k + 1 < d.tree.k && *rc::gen::inRange(0, 3) == 0;
    if (two)
      d.tree.nodes.push_back({0, {product, {Term::Kind::product, ++k}}});
    else if (*rc::gen::arbitrary<bool>())  // rounded before it is added
      d.tree.nodes.push_back({0, {product}});
    if (!d.tree.nodes.empty() && result_of_last() != sum) product = result_of_last();
    d.tree.nodes.push_back({k + 1 == d.tree.k ? 1 : 0, {product, sum}});
    sum = result_of_last();
  }
  drop_unused_units(d, 2);
  return d;
}

/// Sums of products and of two others in any tree, whose results are fp32 numbers or go on unrounded.
inline Datapath random_tree_of_sums() {
  using enum FormatId;
  Datapath d;
  Numerics& n = d.numerics;
  n.a = random_operand(*rc::gen::element(fp16, fp16, fp8e4m3, fp8e5m2, fp8e4m3fnuz, fp8e5m2fnuz, fp4e2m1));
  n.b = random_operand(*rc::gen::element(fp16, fp16, fp8e4m3, fp8e5m2, fp8e4m3fnuz, fp8e5m2fnuz, fp4e2m1));
  n.c = random_operand(fp32);
  n.c.subnormals = Subnormals::kept;
  n.nan.code = nan_code(format(fp32));
  if (*rc::gen::arbitrary<bool>()) n.product.infinite_from = 128;
  const auto to_single = [] {
    const auto overflow = *rc::gen::element(Overflow::ieee, Overflow::infinity);
    return round_to(format(fp32), *rc::gen::element(Rounding::toward_zero, Rounding::nearest_even), overflow);
  };
  for (Unit& unit : n.units) {
    unit.fraction_bits = *rc::gen::inRange(8, 29);
    if (*rc::gen::inRange(0, 3) == 0) unit.zero_exponent = {ZeroExponentKind::floor, *rc::gen::inRange(-140, 10)};
    unit.zero_sign = *rc::gen::element(ZeroSign::ieee, ZeroSign::positive);
    unit.underflow_sign = *rc::gen::element(UnderflowSign::kept, UnderflowSign::positive);
    unit.result = {to_single()};
  }
  enum { products, unrounded, rounded, addition };
  if (*rc::gen::arbitrary<bool>()) n.units[products].result = {};
  n.units[unrounded].result = {};
  for (const int others : {unrounded, rounded}) {
    Unit& unit = n.units[static_cast<std::size_t>(others)];
    unit.align_rounding = *rc::gen::element(Rounding::down, Rounding::toward_zero);
    if (*rc::gen::arbitrary<bool>()) unit.first_fraction_bits = *rc::gen::inRange(8, 41);
    if (*rc::gen::inRange(0, 3) == 0) unit.drop_below = *rc::gen::inRange(5, 40);
  }
  if (*rc::gen::arbitrary<bool>()) {
    RoundStep cut;
    cut.from_alignment = true;
    cut.fraction_bits = *rc::gen::inRange(15, 41);
    cut.rounding = *rc::gen::element(Rounding::down, Rounding::toward_zero);
    n.units[rounded].result = {cut, to_single()};
  }
  n.units[addition].fraction_bits = kExact;
  n.units[addition].result = {round_to(format(fp32), Rounding::nearest_even)};
  d.unit_names = {"products", "unrounded", "rounded", "addition"};

  const int blocks = *rc::gen::element(1, 2, 4), size = *rc::gen::element(1, 2, 4, 8);
  d.tree.k = blocks * size;
  std::vector<Term> open = {{Term::Kind::accumulator, 0}};
  const auto add_node = [&](Node node) {
    d.tree.nodes.push_back(std::move(node));
    open.push_back({Term::Kind::node, static_cast<int>(d.tree.nodes.size()) - 1});
  };
  for (int block = 0; block < blocks; ++block) {
    Node node{products, {}};
    for (int i = 0; i < size; ++i) node.terms.push_back({Term::Kind::product, i * blocks + block});
    add_node(std::move(node));
  }
  while (open.size() > 1) {
    Node node{rounded, {}};
    for (int i = 0; i < 2; ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, open.size());
      node.terms.push_back(open[at]);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    }
    if (open.empty())
      node.unit = *rc::gen::element<int>(rounded, addition);
    else
      node.unit = *rc::gen::element<int>(unrounded, rounded, addition);
    add_node(std::move(node));
  }
  drop_unused_units(d, 4);
  return d;
}

/// Sums of products, or of two such sums, that are added to c one after the other, mostly as the GPU's accumulations
/// take them. CDNA3's are of this kind.
inline Datapath random_chain_of_accumulations() {
  using enum FormatId;
  Datapath d;
  Numerics& n = d.numerics;
  n.a = random_operand(*rc::gen::element(fp16, bf16, tf32, fp8e4m3, fp8e5m2, fp8e4m3fnuz, fp8e5m2fnuz, fp4e2m1));
  n.b = random_operand(*rc::gen::element(fp16, bf16, tf32, fp8e4m3, fp8e5m2, fp8e4m3fnuz, fp8e5m2fnuz, fp4e2m1));
  n.c = {fp32, Subnormals::kept, SubnormalExponent::minimum};
  n.nan.code = nan_code(format(fp32));
  if (*rc::gen::arbitrary<bool>()) n.product.infinite_from = *rc::gen::element(102, 128);
  enum { sum, products, pair };
  const int most_bits = *rc::gen::element(8, 24, 26);
  for (Unit& unit : n.units) {
    unit.fraction_bits = most_bits;
    unit.align_rounding = Rounding::down;
    unit.zero_sign = *rc::gen::element(ZeroSign::ieee, ZeroSign::ieee, ZeroSign::positive);
    if (*rc::gen::inRange(0, 3) == 0)
      unit.zero_exponent = {ZeroExponentKind::floor, *rc::gen::element(-160, -126, -20, 5, 100)};
  }
  n.units[products].align_rounding = Rounding::toward_zero;
  Unit& last = n.units[sum];
  last.fraction_bits = *rc::gen::inRange(8, 33);
  if (*rc::gen::arbitrary<bool>()) last.first_fraction_bits = *rc::gen::inRange(last.fraction_bits, 41);
  if (*rc::gen::inRange(0, 3) == 0) last.drop_below = *rc::gen::inRange(0, 40);
  const RoundStep to_single = round_to(format(fp32), Rounding::nearest_even);
  last.result = {to_single};
  RoundStep cut;
  cut.fraction_bits = *rc::gen::inRange(12, 41);
  cut.rounding = Rounding::down;
  cut.from_alignment = *rc::gen::arbitrary<bool>();
  if (!cut.from_alignment && *rc::gen::arbitrary<bool>()) cut.min_exponent = *rc::gen::element(-126, -10);
  if (*rc::gen::inRange(0, 4) != 0) last.result = {cut, to_single};
  d.unit_names = {"sum", "products", "pair"};

  const int steps = *rc::gen::element(1, 2, 3), size = *rc::gen::element(1, 2, 4, 8);
  const bool in_pairs = steps < 3 && *rc::gen::arbitrary<bool>();
  std::vector<Node>& nodes = d.tree.nodes;
  const auto result_of_last = [&] { return Term{Term::Kind::node, static_cast<int>(nodes.size()) - 1}; };
  const auto add_products = [&] {
    Node node{products, {}};
    for (int i = 0; i < size; ++i) node.terms.push_back({Term::Kind::product, d.tree.k++});
    nodes.push_back(std::move(node));
    return result_of_last();
  };
  Term before{Term::Kind::accumulator, 0};
  for (int step = 0; step < steps; ++step) {
    Term of_products = add_products();
    if (in_pairs) {
      nodes.push_back({pair, {of_products, add_products()}});
      of_products = result_of_last();
    }
    nodes.push_back({sum, {of_products, before}});
    before = result_of_last();
  }
  drop_unused_units(d, 3);
  return d;
}

/// Sums that patches and panels evaluate, mostly: cut toward zero, and rounded as the machine converts.
inline Datapath random_patch_datapath() {
  using enum FormatId;
  Datapath d;
  Numerics& n = d.numerics;
  const auto any_operand = [&] {
    OperandRule rule = random_operand(*rc::gen::element(fp16, bf16, tf32, fp8e4m3, fp8e5m2, fp6e3m2, fp4e2m1));
    return rule;
  };
  n.a = any_operand();
  n.b = any_operand();
  n.result = *rc::gen::element(fp32, fp32, fp16);
  n.c = random_operand(n.result);
  n.c.subnormals = Subnormals::kept;
  n.nan.code = nan_code(format(n.result));
  const auto toward_zero = [&] {
    RoundStep s = round_to(format(fp32), Rounding::toward_zero,
                           *rc::gen::element(Overflow::ieee, Overflow::infinity, Overflow::max_finite));
    s.fraction_bits = *rc::gen::element(23, 23, 13, 10, 16);
    return s;
  };
  const int most_bits = format(n.a.format).fraction_bits + format(n.b.format).fraction_bits > 20 ? 26 : 28;
  for (Unit& unit : n.units) {
    unit.fraction_bits =
        *rc::gen::weightedOneOf<int>({{1, rc::gen::element(13, 23, 24, 25)}, {1, rc::gen::inRange(3, most_bits)}});
    const int low = format(n.result).min_exponent();
    if (*rc::gen::arbitrary<bool>())
      unit.zero_exponent = {ZeroExponentKind::floor,
                            *rc::gen::element(*rc::gen::inRange(low - 30, low + 20), *rc::gen::inRange(-60, 20))};
    unit.zero_sign = *rc::gen::element(ZeroSign::positive, ZeroSign::positive, ZeroSign::ieee);
    unit.underflow_sign = *rc::gen::element(UnderflowSign::positive, UnderflowSign::kept);
    RoundStep single = toward_zero();
    if (n.result == fp32) {
      unit.result = {*rc::gen::inRange(0, 3) == 0 ? round_to(format(fp32), Rounding::nearest_even) : single};
    } else {
      const RoundStep half = round_to(format(fp16), Rounding::nearest_even);
      single.fraction_bits = 23;
      if (*rc::gen::arbitrary<bool>())
        unit.result = {half};
      else
        unit.result = {single, half};
    }
  }
  // A chain of blocks from c on, which may leave c for an addition at the end; products in any order.
  const int blocks = *rc::gen::element(1, 1, 2, 4), size = *rc::gen::element(1, 2, 4, 8);
  const bool c_last = *rc::gen::inRange(0, 4) == 0;
  d.tree.k = blocks * size;
  const int stride = *rc::gen::element(1, blocks);
  Term sum{Term::Kind::accumulator, 0};
  for (int block = 0; block < blocks; ++block) {
    Node node{*rc::gen::inRange(0, 2), {}};
    if (block > 0 || !c_last) node.terms.push_back(sum);
    for (int i = 0; i < size; ++i)
      node.terms.push_back({Term::Kind::product, stride == 1 ? block * size + i : i * blocks + block});
    d.tree.nodes.push_back(std::move(node));
    sum = {Term::Kind::node, block};
  }
  if (c_last) {
    n.units[2] = {};
    n.units[2].zero_sign = *rc::gen::element(ZeroSign::positive, ZeroSign::ieee);
    n.units[2].result = {round_to(format(n.result), Rounding::nearest_even)};
    const bool nearest = n.result == fp16 || *rc::gen::arbitrary<bool>();
    for (int u = 0; nearest && u < 2; ++u)
      n.units[static_cast<std::size_t>(u)].result = {round_to(format(n.result), Rounding::nearest_even)};
    d.tree.nodes.push_back({2, {sum, {Term::Kind::accumulator, 0}}});
  }
  drop_unused_units(d, 3);
  return d;
}

/// Patches' sums of scaled products.
inline Datapath random_scaled_patch_datapath() {
  using enum FormatId;
  Datapath d = random_patch_datapath();
  Numerics& n = d.numerics;
  for (OperandRule* rule : {&n.a, &n.b}) rule->format = *rc::gen::element(fp8e4m3, fp8e5m2, fp6e3m2, fp6e2m3, fp4e2m1);
  n.scales = random_scale_rule(d.tree.k);
  return d;
}

/// Sums that scale exact sums of their blocks' products and add them to c.
inline Datapath random_scaled_sums_datapath() {
  using enum FormatId;
  Datapath d = random_patch_datapath();
  Numerics& n = d.numerics;
  for (OperandRule* rule : {&n.a, &n.b}) rule->format = *rc::gen::element(fp6e3m2, fp6e2m3, fp4e2m1);
  Unit last = n.units[0];
  if (last.fraction_bits == kExact) last.fraction_bits = 25;
  const int block = *rc::gen::element(1, 4, 16, 32), sums = *rc::gen::inRange(1, 9);
  d.tree.k = block * sums;
  n.scales = ScaleRule{*rc::gen::element(ue8m0, ue4m3), block};
  Unit sum;
  sum.scaled = true;
  sum.scale_exponents_alone = *rc::gen::arbitrary<bool>();
  n.units = {sum, last};
  d.unit_names = {"scaled", "last"};
  d.tree.nodes.clear();
  Node total{1, {{Term::Kind::accumulator, 0}}};
  for (int i = 0; i < sums; ++i) {
    Node of_block{0, {}};
    for (int k = i * block; k < (i + 1) * block; ++k) of_block.terms.push_back({Term::Kind::product, k});
    total.terms.push_back({Term::Kind::node, i});
    d.tree.nodes.push_back(std::move(of_block));
  }
  d.tree.nodes.push_back(std::move(total));
  return d;
}

/// Exact sums of blocks, one after the other from c on, each rounded once to fp32.
inline Datapath random_chain_of_exact_sums() {
  using enum FormatId;
  Datapath d;
  Numerics& n = d.numerics;
  n.a = random_operand(*rc::gen::element(fp16, fp16, bf16, tf32, fp32, fp8e4m3, fp8e5m2fnuz));
  n.b = random_operand(*rc::gen::element(fp16, fp16, bf16, tf32, fp32, fp8e4m3, fp8e5m2fnuz));
  n.c = random_operand(fp32);
  n.c.subnormals = Subnormals::kept;
  n.nan.code = nan_code(format(fp32));
  const auto overflow = *rc::gen::element(Overflow::ieee, Overflow::infinity);
  n.units[0].result = {round_to(format(fp32), Rounding::nearest_even, overflow)};
  n.units[0].zero_sign = *rc::gen::element(ZeroSign::ieee, ZeroSign::positive);
  d.unit_names = {"sum"};
  const int blocks = *rc::gen::element(1, 2, 4), size = *rc::gen::element(1, 2, 4, 8);
  d.tree.k = blocks * size;
  Term before{Term::Kind::accumulator, 0};
  for (int block = 0; block < blocks; ++block) {
    Node node{0, {before}};
    for (int i = 0; i < size; ++i) node.terms.push_back({Term::Kind::product, i * blocks + block});
    d.tree.nodes.push_back(std::move(node));
    before = {Term::Kind::node, block};
  }
  return d;
}

/// Sums of integers in a chain of blocks that begins with c, which all wrap or all clamp.
inline Datapath random_chain_of_integers() {
  using enum FormatId;
  Datapath d;
  d.numerics.a.format = *rc::gen::element(s8, u8, s4, u4, b1);
  d.numerics.b.format = *rc::gen::element(s8, u8, s4, u4, b1);
  if (d.numerics.a.format == b1 || d.numerics.b.format == b1) d.numerics.a.format = d.numerics.b.format = b1;
  d.numerics.c.format = d.numerics.result = s32;
  d.numerics.nan.code = 0;
  const Overflow overflow = *rc::gen::element(Overflow::wrap, Overflow::max_finite);
  d.numerics.units[0].result = {round_to(format(s32), Rounding::toward_zero, overflow)};
  d.unit_names = {"sum"};
  const int blocks = *rc::gen::element(1, 2, 4), size = *rc::gen::element(1, 3, 8, 32);
  d.tree.k = blocks * size;
  Term sum{Term::Kind::accumulator, 0};
  for (int block = 0; block < blocks; ++block) {
    Node node{0, {sum}};
    for (int i = 0; i < size; ++i) node.terms.push_back({Term::Kind::product, i * blocks + block});
    d.tree.nodes.push_back(std::move(node));
    sum = {Term::Kind::node, block};
  }
  return d;
}

/// A chain of fp64 FMAs: mostly those of IEEE 754, which the machine has, else with one rule changed.
inline Datapath random_fma_chain() {
  Datapath d;
  Numerics& n = d.numerics;
  n.a.format = n.b.format = n.c.format = n.result = FormatId::fp64;
  n.nan.code = nan_code(format(FormatId::fp64));
  n.nan.propagate = *rc::gen::arbitrary<bool>();
  RoundStep step =
      round_to(format(FormatId::fp64), *rc::gen::element(Rounding::nearest_even, Rounding::nearest_even,
                                                         Rounding::toward_zero, Rounding::down, Rounding::up));
  Unit& unit = n.units[0];
  const bool other = *rc::gen::element(false, false, true);
  switch (other ? *rc::gen::inRange(0, 8) : -1) {
    case 0:
      step.rounding = Rounding::nearest_away;
      break;
    case 1:
      step.overflow = *rc::gen::element(Overflow::infinity, Overflow::max_finite);
      break;
    case 2:
      step.subnormals = Subnormals::flushed;
      break;
    case 3:
      step.fraction_bits = 51;
      break;
    case 4:
      unit.zero_sign = ZeroSign::positive;
      break;
    case 5:
      unit.underflow_sign = UnderflowSign::positive;
      break;
    case 6:
      n.a.subnormals = Subnormals::flushed;
      break;
    case 7:
      n.product.infinite_from = 1000;
      break;
    default:
      break;
  }
  unit.result = {step};
  d.tree.k = *rc::gen::inRange(1, 17);
  Term sum{Term::Kind::accumulator, 0};
  const bool descending = *rc::gen::arbitrary<bool>(), product_first = *rc::gen::arbitrary<bool>();
  for (int i = 0; i < d.tree.k; ++i) {
    const Term product{Term::Kind::product, descending ? d.tree.k - 1 - i : i};
    d.tree.nodes.push_back({0, product_first ? std::vector{product, sum} : std::vector{sum, product}});
    sum = {Term::Kind::node, i};
  }
  d.unit_names = {"fma"};
  return d;
}

/// Trees of which mostly each node is one operation of IEEE 754, with or without subnormal numbers.
inline Datapath random_operations() {
  using enum FormatId;
  Datapath d;
  Numerics& n = d.numerics;
  n.result = *rc::gen::element(fp32, fp32, fp32, fp64);
  const auto any_operand = [&] {
    if (n.result == fp64 && *rc::gen::arbitrary<bool>()) return random_operand(fp64);
    return random_operand(*rc::gen::element(fp32, tf32, bf16, fp16, fp16, fp8e4m3fnuz, fp8e5m2));
  };
  n.a = any_operand();
  n.b = any_operand();
  n.c = random_operand(n.result);
  n.nan.code = nan_code(format(n.result));
  const auto rounding = *rc::gen::element(Rounding::nearest_even, Rounding::nearest_even, Rounding::toward_zero,
                                          Rounding::down, Rounding::up);
  const auto any_step = [&] {
    RoundStep s = round_to(format(n.result), rounding);
    s.subnormals = *rc::gen::element(Subnormals::kept, Subnormals::flushed);
    return s;
  };
  const bool rounds_products = *rc::gen::arbitrary<bool>();
  if (rounds_products) n.product.round = {any_step()};
  n.units[0].result = {any_step()};
  n.units[1].result = {any_step()};
  d.tree.k = *rc::gen::element(1, 2, 3, 4, 8, 16);
  std::vector<Term> products, sums{{Term::Kind::accumulator, 0}};
  for (int k = 0; k < d.tree.k; ++k) products.push_back({Term::Kind::product, k});
  const auto add_node = [&](std::vector<Term> terms) {
    d.tree.nodes.push_back({*rc::gen::inRange(0, 2), std::move(terms)});
    return Term{Term::Kind::node, static_cast<int>(d.tree.nodes.size()) - 1};
  };
  const auto take = [](std::vector<Term>& from) {
    const auto at = from.begin() + *rc::gen::inRange<int>(0, static_cast<int>(from.size()));
    const Term t = *at;
    from.erase(at);
    return t;
  };
  while (!products.empty() || sums.size() > 1) {
    const int what = *rc::gen::inRange(0, 3);
    if (what == 0 && sums.size() > 1) {
      const Term x = take(sums), y = take(sums);
      sums.push_back(add_node({x, y}));
    } else if (what == 1 && !products.empty()) {
      const Term x = take(products), y = take(sums);
      sums.push_back(*rc::gen::arbitrary<bool>() ? add_node({x, y}) : add_node({y, x}));
    } else if (!products.empty() && rounds_products && products.size() > 1) {
      const Term x = take(products), y = take(products);
      sums.push_back(add_node({x, y}));
    } else if (!products.empty() && !rounds_products) {
      sums.push_back(add_node({take(products)}));
    }
  }
  d.unit_names = {"unit0", "unit1"};
  drop_unused_units(d, 2);
  return d;
}

/// A step that clamps or wraps integers to the result's range or, so that this happens more often, to less.
inline RoundStep random_integer_step(FormatId result, bool whole_range) {
  RoundStep s = round_to(format(result), *any_rounding(), *rc::gen::element(Overflow::max_finite, Overflow::wrap));
  if (*rc::gen::inRange(0, 16) == 0) s.subnormals = Subnormals::flushed;  // as all integers are
  if (whole_range) return s;
  const int bits = *rc::gen::inRange(1, s.fraction_bits + 1);  // of the magnitude
  s.fraction_bits = s.min_exponent = bits;
  s.max_exponent = bits - 1;
  if (s.overflow == Overflow::max_finite) s.twos_complement = *rc::gen::arbitrary<bool>();
  return s;
}

/// Exact sums of integers; now and then with a cut, or with a step that rounds, as if they were anything else.
inline Datapath random_integer_datapath() {
  Datapath d;
  Numerics& n = d.numerics;
  using enum FormatId;
  const FormatId operands = *rc::gen::element(s8, s4, b1);
  const auto any_sign = [&] {
    if (operands == b1 || *rc::gen::arbitrary<bool>()) return operands;
    return operands == s8 ? u8 : u4;
  };
  n.a.format = any_sign();
  n.b.format = any_sign();
  n.c.format = *rc::gen::element(s32, s32, s32, s8);
  n.result = *rc::gen::element(s32, s32, s32, s8);
  n.nan.code = 0;
  if (operands == b1 && *rc::gen::arbitrary<bool>()) n.product.operation = ProductOperation::exclusive_or;
  const bool odd = *rc::gen::inRange(0, 4) == 0;
  if (odd && *rc::gen::arbitrary<bool>()) n.product.round = {random_integer_step(n.result, false)};
  const int units = *rc::gen::inRange(1, 4);
  for (int u = 0; u < units; ++u) {
    Unit& unit = n.units[static_cast<std::size_t>(u)];
    if (odd)
      unit.fraction_bits = *rc::gen::weightedOneOf<int>({{1, rc::gen::inRange(0, 40)}, {1, rc::gen::just(kExact)}});
    unit.align_rounding = *any_rounding();
    RoundStep first = random_integer_step(n.result, false);
    if (odd) first.fraction_bits = std::max(0, first.fraction_bits - *rc::gen::inRange(0, 4));
    if (*rc::gen::arbitrary<bool>())
      unit.result = {first, random_integer_step(n.result, true)};
    else
      unit.result = {random_integer_step(n.result, *rc::gen::arbitrary<bool>())};
  }
  d.tree = random_tree(*rc::gen::elementOf(std::vector<int>{1, 2, 4, 8, 32, 128}), units);
  if (*rc::gen::arbitrary<bool>()) {  // intermediate sums need no step
    const int root = d.tree.nodes.back().unit;
    for (int u = 0; u < units; ++u) {
      if (u != root) n.units[static_cast<std::size_t>(u)].result = {};
    }
  }
  drop_unused_units(d, units);
  return d;
}

/// The same with some operands that are integers, or have no sign, if its results are neither.
inline Datapath with_integer_operands(Datapath d) {
  Numerics& n = d.numerics;
  if (!format(n.result).floating) return d;
  using enum FormatId;
  for (OperandRule* operand : {&n.a, &n.b, &n.c}) {
    if (*rc::gen::arbitrary<bool>()) *operand = random_operand(*rc::gen::element(s32, s8, u8, s4, u4, b1, ue4m3));
  }
  return d;
}

/// The same with operands of few bits, and alignments and least exponents that may be far above theirs, so that what is
/// rounded away from zero may grow far.
inline Datapath with_far_alignments(Datapath d) {
  using enum FormatId;
  Numerics& n = d.numerics;
  const auto any = [](int first, int last) { return *rc::gen::inRange(first, last + 1); };
  const auto seldom = [&] { return any(0, 2) == 0; };
  const bool floating = format(n.result).floating;
  if (floating) {
    for (OperandRule* operand : {&n.a, &n.b, &n.c}) {
      if (seldom()) continue;
      *operand = random_operand(*rc::gen::element(fp8e4m3, fp8e5m2, fp4e2m1, fp6e3m2, fp6e2m3, fp16, s8, u4));
    }
  }
  const auto go_far = [&](RoundStep& s) {
    if (any(0, 1) == 0) s.rounding = *rc::gen::element(Rounding::up, Rounding::down);
    if (seldom()) s.fraction_bits = any(0, 12);
    if (seldom()) {
      s.min_exponent = any(-20, 50);
      s.max_exponent = seldom() ? std::max(s.min_exponent, any(-10, 40)) : kUnbounded;
    }
  };
  for (Unit& unit : n.units) {
    ZeroExponent& zero = unit.zero_exponent;
    if (any(0, 1) == 0) {
      zero.kind = *rc::gen::element(ZeroExponentKind::none, ZeroExponentKind::natural, ZeroExponentKind::floor,
                                    ZeroExponentKind::zeros);
      const bool has_value = zero.kind == ZeroExponentKind::floor || zero.kind == ZeroExponentKind::zeros;
      zero.value = has_value ? any(-20, 70) : 0;
    }
    if (any(0, 1) == 0) unit.align_rounding = *rc::gen::element(Rounding::up, Rounding::down);
    if (!floating) continue;  // whose steps have to leave integers
    if (unit.fraction_bits != kExact && seldom()) unit.fraction_bits = any(0, 12);
    for (int i = 0; i + 1 < unit.result.count; ++i) go_far(unit.result.step[static_cast<std::size_t>(i)]);
  }
  if (floating) {
    for (int i = 0; i < n.product.round.count; ++i) go_far(n.product.round.step[static_cast<std::size_t>(i)]);
  }
  return d;
}

/// A datapath that `wanted` holds of: draws, each of any size, until there is one.
template <class Draw, class Wanted>
Datapath draw_until(const Draw& draw, const Wanted& wanted) {
  constexpr int kMostDraws = 2000, kSize = 100;  // of the full size of a generator's
  for (int i = 0; i < kMostDraws; ++i) {
    const Datapath datapath = *rc::gen::noShrink(rc::gen::resize(kSize, rc::gen::exec(draw)));
    if (wanted(datapath)) return datapath;
  }
  RC_FAIL("no such datapath was drawn");
  return {};
}

/// A code of the format, biased to what matters: zeros, subnormals, the largest and smallest, specials, powers of two,
/// and exponents near `centre` (as a fraction of the exponent range).
inline std::uint64_t random_code(const Format& f, std::uint64_t random, double centre) {
  const std::uint64_t kind = random % 32;
  const std::uint64_t bits = (random >> 8) * 0x9e3779b97f4a7c15ull;
  const bool negative = (random >> 5) & 1;
  if (kind == 0) return zero_code(f, negative);
  if (kind == 1) return max_finite_code(f, negative);
  if (kind == 2 && (random >> 6 & 3) == 0) return bits & f.code_mask();
  const int low = f.min_exponent() - f.fraction_bits, high = f.max_exponent();
  const int spread = 2 + static_cast<int>((random >> 6) % 24);
  const int middle = low + static_cast<int>(centre * (high - low));
  const int exponent =
      std::clamp(middle - spread / 2 + static_cast<int>((bits >> 40) % static_cast<std::uint64_t>(spread)), low, high);
  // One bit; few bits, of which products are exact in every format; as many as there are.
  const std::uint64_t significand = kind < 10 ? 1 : kind < 22 ? (bits & 0xffffff) | 1 : bits | std::uint64_t{1} << 63;
  const int width = kind < 10 ? 0 : kind < 22 ? 23 : 63;
  return encode(f, negative, significand, exponent - width, false, Rounding::nearest_even, Overflow::max_finite);
}

inline Tiles random_tiles(const Datapath& d, std::size_t count, std::size_t m, std::size_t n) {
  const auto& x = d.numerics;
  Tiles tiles =
      make_tiles(x.a.format, x.b.format, x.c.format, x.result, count, m, n, static_cast<std::size_t>(d.tree.k));
  std::uint64_t state = *rc::gen::arbitrary<std::uint64_t>();
  const double a_centre = *rc::gen::inRange(0, 101) / 100.0, b_centre = *rc::gen::inRange(0, 101) / 100.0;
  double c_centre = *rc::gen::inRange(0, 101) / 100.0;
  if (*rc::gen::arbitrary<bool>()) {  // where the products are
    const auto exponent = [](const Format& f, double centre) {
      const int low = f.min_exponent() - f.fraction_bits;
      return low + centre * (f.max_exponent() - low);
    };
    const Format& c = format(x.c.format);
    const double wanted = exponent(format(x.a.format), a_centre) + exponent(format(x.b.format), b_centre);
    c_centre = std::clamp((wanted - exponent(c, 0)) / (exponent(c, 1) - exponent(c, 0)), 0.0, 1.0);
  }
  const auto next = [&state] {
    state += 0x9e3779b97f4a7c15ull;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  };
  // Now and then all operands are the largest of one exponent, most of one sign: nothing adds up to more.
  const bool crowded = *rc::gen::inRange(0, 8) == 0;
  const auto fill = [&](Codes& codes, const Format& f, double centre) {
    const int low = f.min_exponent(), exponent = low + static_cast<int>(centre * (f.max_exponent() - low));
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::uint64_t random = next();
      const bool negative = random % 64 == 0;
      codes.set(i, crowded ? encode(f, negative, (uint128{1} << (f.fraction_bits + 1)) - 1, exponent - f.fraction_bits,
                                    false, Rounding::toward_zero, Overflow::max_finite)
                           : random_code(f, random, centre));
    }
  };
  fill(tiles.a, format(x.a.format), a_centre);
  fill(tiles.b, format(x.b.format), b_centre);
  fill(tiles.c, format(x.c.format), c_centre);
  if (x.scales) {
    const auto block = static_cast<std::size_t>(x.scales->block_k);
    const Format& f = format(x.scales->format);
    tiles.scale_block = x.scales->block_k;
    tiles.sa = Codes(f.storage_bytes(), count * m * (tiles.k / block));
    tiles.sb = Codes(f.storage_bytes(), count * (tiles.k / block) * n);
    const auto one = static_cast<std::uint64_t>(f.bias) << f.fraction_bits;
    for (Codes* codes : {&tiles.sa, &tiles.sb}) {
      for (std::size_t i = 0; i < codes->size(); ++i) {  // near one, or any
        const std::uint64_t random = next();
        codes->set(i, random % 8 == 0 ? random >> 8 & f.code_mask() : one + (random >> 8 & 15) - 8);
      }
    }
  }
  return tiles;
}

}  // namespace tcnum::test
