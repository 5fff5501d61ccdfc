#include "plan.hpp"

#include <algorithm>
#include <cmath>

#include "emu/bit_width.hpp"
#include "emu/gpu/gpu_datapath.hpp"
#include "emu/gpu/requirements.hpp"

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

/// Whether the node takes one number beside its products, c or the result before, which is an fp32.
bool continues_plain_chain(const NodePlan& node, bool is_first) {
  constexpr int kMostAlignment = 100;
  const NumberRounding& r = node.rounding[0];
  return !node.is_pair && node.takes_c == is_first && node.takes_before == !is_first && node.roundings == 1 &&
         !r.to_nearest && r.min_exponent == format(FormatId::fp32).min_exponent() &&
         node.lowest_alignment <= kMostAlignment;
}

/// Whether floats hold a node's sum, with room for its carries: docs/patches.md, with 23 in place of 52.
bool floats_hold(const NodePlan& node, int product_bits) {
  constexpr int kMostFractionBits = 13, kMostProductBits = 13, kMostCount = 32;
  return node.fraction_bits <= kMostFractionBits && node.rounding[0].fraction_bits <= node.fraction_bits &&
         product_bits <= kMostProductBits && node.count <= kMostCount;
}

}  // namespace

WhyNot why_no_panels(const Numerics& numerics, const SortedTree& tree) { return gpu::why_no_patches(numerics, tree); }

Plan make_plan(const Datapath& datapath) {
  const GpuDatapath from = make_gpu_datapath(datapath).datapath.value();
  const Numerics& n = datapath.numerics;
  Plan plan;
  plan.a = n.a.format;
  plan.b = n.b.format;
  plan.c = n.c.format;
  plan.result = n.result;
  plan.a_rule = n.a;
  plan.b_rule = n.b;
  plan.depth = from.k;
  plan.places.assign(from.place, from.place + from.k);
  plan.in_order = std::ranges::is_sorted(plan.places);
  plan.nan = n.nan.code;
  for (int i = 0; i < from.nodes; ++i) {
    const PatchNode& patch = from.patch[i];
    const Unit& unit = n.units[static_cast<std::size_t>(from.node[i].unit)];
    NodePlan node;
    node.first = patch.first;
    node.count = patch.count;
    node.takes_c = patch.takes_c;
    node.takes_before = patch.takes_before;
    node.is_pair = patch.is_pair;
    put_rounding(unit, patch.rounding, node);
    if (!node.is_pair) {
      node.fraction_bits = unit.fraction_bits;
      node.lowest_alignment = std::max(patch.alignment, kNoFloor);
      node.c_floor = patch.c_floor == 0 ? kNoFloor : exponent_of_high_word(patch.c_floor);
      node.before_floor = patch.before_floor == 0 ? kNoFloor : exponent_of_high_word(patch.before_floor);
    }
    plan.nodes.push_back(node);
  }
  bool is_first = true;
  plan.is_plain_chain = plan.c == FormatId::fp32;
  plan.fits_floats = true;
  const int product_bits = format(plan.a).fraction_bits + format(plan.b).fraction_bits;
  for (const NodePlan& node : plan.nodes) {
    plan.is_plain_chain = plan.is_plain_chain && continues_plain_chain(node, is_first);
    plan.fits_floats = plan.fits_floats && floats_hold(node, product_bits);
    is_first = false;
  }
  plan.fits_floats = plan.fits_floats && plan.is_plain_chain;
  return plan;
}

}  // namespace tcnum::panels
