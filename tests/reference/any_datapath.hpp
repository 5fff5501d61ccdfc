// Datapaths from all of the range that docs/datapath.md describes, further out than those that the emulators are tuned
// for (tests/generators.hpp).
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "../generators.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum::test {

/// Once in so many times.
inline bool seldom(int times) { return *rc::gen::inRange(0, times) == times - 1; }
inline int between(int first, int last) { return *rc::gen::inRange(first, last + 1); }

inline FormatId any_result_format() {
  using enum FormatId;
  return *rc::gen::element(fp32, fp16, bf16, tf32, fp8e5m2, fp64);
}
inline FormatId any_operand_format() {
  using enum FormatId;
  return *rc::gen::element(fp16, bf16, tf32, fp8e4m3, fp8e5m2, fp6e3m2, fp6e2m3, fp4e2m1, fp8e4m3fnuz, fp8e5m2fnuz,
                           fp32, fp64);
}

/// Any step that a unit may have on the way to the result, with exponents near those of the result's format.
inline RoundStep any_step(FormatId result, bool may_be_from_alignment) {
  const Format& f = format(result);
  RoundStep s;
  s.rounding = *any_rounding();
  s.from_alignment = may_be_from_alignment && seldom(3);
  if (!s.from_alignment && seldom(3))
    s = round_to(format(any_result_format()), s.rounding);
  else
    s.fraction_bits = *rc::gen::weightedOneOf<int>({{4, rc::gen::inRange(0, 40)}, {1, rc::gen::inRange(40, 201)}});
  if (seldom(3)) s.min_exponent = between(f.min_exponent() - 30, f.min_exponent() + 20);
  if (seldom(3)) s.max_exponent = between(std::max(-20, s.min_exponent), f.max_exponent() + 4);
  if (s.min_exponent != -kUnbounded && seldom(8))
    s.max_exponent = s.min_exponent - between(0, s.fraction_bits > 0 ? 1 : 0);
  s.max_exponent = std::max(s.max_exponent, s.min_exponent - (s.fraction_bits > 0 ? 1 : 0));
  s.overflow = *rc::gen::element(Overflow::ieee, Overflow::infinity, Overflow::max_finite);
  s.subnormals = *rc::gen::element(Subnormals::kept, Subnormals::kept, Subnormals::flushed);
  return s;
}

/// A step that leaves only numbers of the format, sometimes fewer than there are.
inline RoundStep any_last_step(FormatId result) {
  RoundStep s = random_step(result);
  const Format& f = format(result);
  if (seldom(4)) s.fraction_bits = between(0, f.fraction_bits);
  if (seldom(4)) s.min_exponent += between(0, 10);
  if (seldom(4)) s.max_exponent -= between(0, 10);
  return s;
}

inline ZeroExponent any_zero_exponent(FormatId result) {
  ZeroExponent z = random_zero_exponent(result);
  const bool has_value = z.kind == ZeroExponentKind::floor || z.kind == ZeroExponentKind::zeros;
  if (has_value && seldom(2)) z.value = between(-40, 40);
  return z;
}

inline Unit any_unit(FormatId result) {
  Unit u;
  u.fraction_bits = *rc::gen::weightedOneOf<int>(
      {{4, rc::gen::inRange(0, 45)}, {1, rc::gen::inRange(45, 201)}, {1, rc::gen::just(kExact)}});
  if (seldom(4)) u.first_fraction_bits = seldom(3) ? kExact : between(0, 60);
  if (seldom(4)) u.drop_below = between(0, 60);
  u.align_rounding = *any_rounding();
  u.zero_exponent = any_zero_exponent(result);
  const int steps = between(0, 3);
  for (int i = 0; i < steps; ++i) {
    u.result.step[static_cast<std::size_t>(u.result.count++)] = any_step(result, u.fraction_bits != kExact);
  }
  u.zero_sign = *rc::gen::element(ZeroSign::positive, ZeroSign::ieee);
  u.underflow_sign = *rc::gen::element(UnderflowSign::kept, UnderflowSign::positive);
  return u;
}

/// A NaN rule with any code that is a NaN of the format.
inline NanRule any_nan_rule(FormatId result) {
  NanRule rule;
  const Format& f = format(result);
  rule.code = nan_code(f);
  // A signalling one: its leading fraction bit is clear, another one set.
  if (f.non_finite == NonFinite::ieee && f.fraction_bits > 1 && seldom(3))
    rule.code = infinity_code(f, false) | std::uint64_t{1} << (f.padding_bits + between(0, f.fraction_bits - 2));
  if (seldom(2)) rule.code |= std::uint64_t{1} << (f.storage_bits - 1);
  rule.propagate = seldom(2);
  for (int i = rule.propagate ? between(0, 5) : 0; i > 0; --i) {
    std::next_permutation(rule.order.begin(), rule.order.end());
  }
  return rule;
}

inline void add_products(Datapath& d) {
  ProductRule& product = d.numerics.product;
  const FormatId result = d.numerics.result;
  product.exponent = *rc::gen::element(ProductExponent::sum, ProductExponent::normalised);
  if (seldom(4)) {
    product.round = {any_step(result, false)};
    if (seldom(3)) product.round.step[static_cast<std::size_t>(product.round.count++)] = any_step(result, false);
  }
  if (seldom(4)) product.infinite_from = format(result).max_exponent() + between(-20, 3);
}

/// Floating-point operands of any formats; with `scales`, scaled blocks.
inline Datapath any_floating_datapath(bool scales) {
  Datapath d;
  Numerics& n = d.numerics;
  n.a = random_operand(any_operand_format());
  n.b = random_operand(any_operand_format());
  n.c = random_operand(seldom(2) ? any_operand_format() : any_result_format());
  n.result = seldom(2) ? any_result_format() : format(n.c.format).has_infinity() ? n.c.format : FormatId::fp32;
  add_products(d);
  n.nan = any_nan_rule(n.result);
  const int units = between(scales ? 2 : 1, static_cast<int>(kMaxUnits));
  for (int u = 0; u < units; ++u) n.units[static_cast<std::size_t>(u)] = any_unit(n.result);
  if (!scales) {
    d.tree = random_tree(*rc::gen::element(1, 2, 4, 8, 16), units);
  } else {
    n.scales = ScaleRule{*rc::gen::element(FormatId::ue8m0, FormatId::ue4m3), *rc::gen::element(1, 2, 4, 8)};
    const int blocks = between(1, 3);
    if (seldom(3)) {
      d.tree = random_tree(blocks * n.scales->block_k, units);  // each product times its scales
    } else {
      n.units[0].scaled = true;
      if (seldom(3)) {
        n.units[0].result = {};
        n.units[0].scale_exponents_alone = true;
      }
      d.tree.k = blocks * n.scales->block_k;
      std::vector<Term> open;
      const int part = std::max(1, n.scales->block_k / *rc::gen::element(1, 2));
      for (int k = 0; k < d.tree.k; ++k) {
        if (k % part == 0) {
          d.tree.nodes.push_back({0, {}});
          open.push_back({Term::Kind::node, static_cast<int>(d.tree.nodes.size()) - 1});
        }
        d.tree.nodes.back().terms.push_back({Term::Kind::product, k});
      }
      if (!seldom(8)) open.push_back({Term::Kind::accumulator, 0});
      join_terms(d.tree, open, 1, units);
    }
  }
  n.units[static_cast<std::size_t>(d.tree.nodes.back().unit)].scale_exponents_alone = false;
  RoundSteps& last = n.units[static_cast<std::size_t>(d.tree.nodes.back().unit)].result;
  last.count = std::min(last.count + 1, 3);
  last.step[static_cast<std::size_t>(last.count - 1)] = any_last_step(n.result);
  drop_unused_units(d, units);
  return d;
}

/// Integers, with alignments and cuts too.
inline Datapath any_integer_datapath() {
  Datapath d = random_integer_datapath();
  Numerics& n = d.numerics;
  for (OperandRule* operand : {&n.a, &n.b, &n.c}) *operand = random_operand(operand->format);
  n.product.exponent = *rc::gen::element(ProductExponent::sum, ProductExponent::normalised);
  for (std::size_t u = 0; u < d.unit_names.size(); ++u) {
    Unit& unit = n.units[u];
    if (seldom(2)) unit.fraction_bits = between(0, 40);
    if (seldom(3)) unit.first_fraction_bits = between(0, 40);
    if (seldom(3)) unit.drop_below = between(0, 30);
    unit.zero_exponent = any_zero_exponent(n.result);
  }
  return d;
}

/// Any of these; rare features as often in the first datapath as in the last, whatever RapidCheck's size is.
inline rc::Gen<Datapath> any_datapath() {
  const auto draw = [] {
    const int kind = between(0, 11);
    if (kind == 0) return random_datapath();
    if (kind == 1) return random_fma_chain();
    if (kind == 2) return random_integer_datapath();
    if (kind == 3) return any_integer_datapath();
    return any_floating_datapath(kind < 8);
  };
  return rc::gen::resize(100, rc::gen::exec(draw));
}

/// Trees over any number of products, of which the generators know powers of two.
inline Datapath with_any_k(Datapath d) {
  if (d.numerics.scales) return d;
  const int units = static_cast<int>(d.unit_names.size());
  const Unit root = d.numerics.units[static_cast<std::size_t>(d.tree.nodes.back().unit)];
  d.tree =
      random_tree(*rc::gen::weightedOneOf<int>({{3, rc::gen::inRange(1, 40)}, {1, rc::gen::inRange(40, 300)}}), units);
  d.numerics.units[static_cast<std::size_t>(d.tree.nodes.back().unit)] = root;  // it rounds to the result's format
  drop_unused_units(d, units);
  return d;
}

/// Of the ranges that the emulators are tuned for and of all that the description allows, as the emulators are compared
/// and timed on.
inline Datapath datapath_of_any_kind() {
  switch (between(0, 9)) {
    case 0:
      return random_scaled_datapath();
    case 1:
      return random_single_precision_datapath();
    case 2:
      return with_any_k(*any_datapath());
    case 3:
      return random_patch_datapath();
    case 4:
      return random_chain_of_integers();
    case 5:
      return random_operations();
    case 6:
      return with_far_alignments(*rc::gen::arbitrary<bool>() ? *any_datapath() : random_patch_datapath());
    case 7:
      return with_integer_operands(*rc::gen::arbitrary<bool>() ? *any_datapath() : random_patch_datapath());
    default:
      return *any_datapath();
  }
}

}  // namespace tcnum::test
