#include "plan.hpp"

#include <algorithm>
#include <cmath>

#include "emu/gpu/gpu_datapath.hpp"
#include "emu/gpu/requirements.hpp"
#include "emu/required_formats.hpp"
#include "emu/rounding_steps.hpp"
#include "emu/units.hpp"

namespace tcnum::panels {
namespace {

/// Of a double's exponent.
constexpr int kBias = 1023, kHighFraction = 20;
/// Alignment where there is no floor: below those of all terms that are not zero, but not so far that a zero, which
/// stands in memory as a number of 2^-500, would reach the last bit that is kept.
constexpr int kNoFloor = -320;

int exponent_of_high_word(std::uint32_t word) { return static_cast<int>(word >> kHighFraction) - kBias; }

NumberRounding toward_zero(const RoundStep& step, FormatId id) {
  const Format& f = format(id);
  const double largest = std::ldexp(2 - std::ldexp(1.0, -step.fraction_bits), f.max_exponent());
  return {false, step.fraction_bits, f.min_exponent(), std::ldexp(1.0, f.max_exponent() + 1),
          step.overflow == Overflow::infinity ? HUGE_VAL : largest};
}

NumberRounding to_nearest(FormatId id) {
  const Format& f = format(id);
  return {true, f.fraction_bits, f.min_exponent(), std::ldexp(1.0, f.max_exponent() + 1), HUGE_VAL};
}

void put_rounding(const Unit& unit, PatchRounding how, NodePlan& node) {
  const RoundStep& first = unit.result.step[0];
  switch (how) {
    case PatchRounding::fp32_toward_zero:
      node.rounding[0] = toward_zero(first, FormatId::fp32);
      break;
    case PatchRounding::fp32_nearest:
      node.rounding[0] = to_nearest(FormatId::fp32);
      break;
    case PatchRounding::fp16_nearest:
      node.rounding[0] = to_nearest(FormatId::fp16);
      break;
    case PatchRounding::fp16_nearest_of_fp32:
      node.rounding[0] = toward_zero(first, FormatId::fp32);
      node.rounding[1] = to_nearest(FormatId::fp16);
      node.roundings = 2;
      break;
  }
  node.drops_sign_of_zero = unit.underflow_sign != UnderflowSign::kept;
}

/// What ordinary kernels have: sums of products and at most one other number, and pairs.
WhyNot why_no_ordinary_sums(const Numerics& n, const SortedTree& tree) {
  constexpr int kMostAlignment = 100;
  for (const SortedNode& node : tree.nodes) {
    const Unit& unit = n.units[static_cast<std::size_t>(node.unit)];
    const ZeroExponent& zero = unit.zero_exponent;
    if (!node.products.empty() && node.others.size() > 1) return "a sum of products takes both c and a result";
    if (node.products.empty() && unit.fraction_bits != kExact) return "a sum of other terms than products is cut";
    if (zero.kind == ZeroExponentKind::floor && zero.value > kMostAlignment)
      return "the floor under an alignment is too high";
  }
  return {};
}

/// Whether floats hold a node's sum, with room for its carries (docs/panels.md), and round it.
bool floats_hold(const NodePlan& node, int product_bits) {
  constexpr int kMostFractionBits = 13, kMostProductBits = 13, kMostCount = 32;
  const NumberRounding& r = node.rounding[0];
  const bool short_result = r.fraction_bits <= (r.to_nearest ? kMostFractionBits : node.fraction_bits);
  return !node.is_pair && node.roundings == 1 && node.fraction_bits <= kMostFractionBits && short_result &&
         product_bits <= kMostProductBits && node.count <= kMostCount;
}

/// Whether products are far from where floats end, as those of fp8 are.
bool floats_hold_products(const Numerics& n) {
  constexpr int kMostExponent = 60;
  const Format &a = format(n.a.format), &b = format(n.b.format);
  const int least = a.min_exponent() - a.fraction_bits + b.min_exponent() - b.fraction_bits;
  return a.max_exponent() + b.max_exponent() <= kMostExponent && least >= -kMostExponent;
}

// --- Block scales.

/// Doubles hold such operands times their scales, and 16 bits hold the exponents of their products.
bool are_scalable(FormatId operand) { return format(operand).storage_bits <= 8; }

/// Panels are patches. What is not ordinary goes as a tree of sums.
WhyNot why_no_patches(const Numerics& n, const SortedTree& tree) {
  Numerics unscaled = n;
  unscaled.scales.reset();
  if (const WhyNot why_not = gpu::why_no_patches(unscaled, tree); !why_not.empty()) return why_not;
  if (const WhyNot why_not = why_no_ordinary_sums(n, tree); !why_not.empty()) return why_not;
  return why_no_tree_panels(n, tree);
}

}  // namespace

std::vector<Place> places_of(const Plan& plan, std::size_t k_steps) {
  std::vector<Place> places;
  for (std::size_t k_step = 0; k_step < k_steps; ++k_step) {
    for (const int place : plan.places) {
      std::size_t number = 0;
      while (place < plan.nodes[number].first || place >= plan.nodes[number].first + plan.nodes[number].count) ++number;
      places.push_back({k_step * plan.places.size() + static_cast<std::size_t>(place),
                        k_step * plan.nodes.size() + number, place - plan.nodes[number].first, 1});
    }
  }
  for (std::size_t k = places.size() - 1; k-- > 0;) {
    const Place& next = places[k + 1];
    if (next.word == places[k].word && next.place == places[k].place + 1)
      places[k].side_by_side = next.side_by_side + 1;
  }
  return places;
}

WhyNot why_no_panels(const Numerics& numerics, const SortedTree& tree) {
  if (const WhyNot why_not = why_no_own_formats(numerics); !why_not.empty()) return why_not;
  if (const WhyNot why_not = why_no_signs(numerics); !why_not.empty()) return why_not;
  if (numerics.scales && (!are_scalable(numerics.a.format) || !are_scalable(numerics.b.format)))
    return "its scaled operands are wide";
  return scales_sums(numerics) ? "it scales sums, not products" : why_no_patches(numerics, tree);
}

Plan make_plan(const Datapath& datapath) {
  const Numerics& n = datapath.numerics;
  Plan plan;
  plan.a = n.a.format;
  plan.b = n.b.format;
  plan.c = n.c.format;
  plan.result = n.result;
  plan.a_rule = n.a;
  plan.b_rule = n.b;
  plan.depth = datapath.tree.k;
  plan.nan = n.nan.code;
  plan.scales = n.scales;
  Datapath unscaled = datapath;
  unscaled.numerics.scales.reset();
  const GpuDatapath from = make_gpu_datapath(unscaled).datapath.value();
  plan.places.assign(from.place, from.place + from.k);
  plan.in_order = std::ranges::is_sorted(plan.places);
  for (int i = 0; i < from.nodes; ++i) {
    const PatchNode& patch = from.patch[i];
    const Unit& unit = n.units[static_cast<std::size_t>(from.node[i].unit)];
    NodePlan node;
    node.first = patch.first;
    node.count = patch.count;
    node.takes_c = patch.takes_c;
    node.takes_before = patch.takes_before;
    node.is_pair = patch.is_pair;
    node.takes_half = node.takes_c ? format(plan.c).storage_bits == 16 : patch.before_is_half;
    put_rounding(unit, patch.rounding, node);
    if (!node.is_pair) {
      node.fraction_bits = unit.fraction_bits;
      node.lowest_alignment = std::max(patch.alignment, kNoFloor);
      node.c_floor = patch.c_floor == 0 ? kNoFloor : exponent_of_high_word(patch.c_floor);
      node.before_floor = patch.before_floor == 0 ? kNoFloor : exponent_of_high_word(patch.before_floor);
    }
    plan.nodes.push_back(node);
  }
  const int product_bits = format(plan.a).fraction_bits + format(plan.b).fraction_bits;
  plan.fits_floats =
      !plan.scales && plan.nodes.front().takes_c && floats_hold_products(n) &&
      std::ranges::all_of(plan.nodes, [&](const NodePlan& node) { return floats_hold(node, product_bits); });
  plan.otherwise = std::make_shared<const TreePlan>(make_tree_plan(n, SortedTree(datapath.tree)));
  return plan;
}

}  // namespace tcnum::panels
