// Chains of accumulations in tree panels: a sum of products, or of two such sums, goes on unrounded to its sum with c,
// which is the c of the next. docs/panels.md says what is asked of numbers, and why nothing else need be.
// Compiled once for each CPU, as tree_kernels.cpp is, which includes this.
#if defined(TCNUM_TREE_ACCUMULATIONS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_TREE_ACCUMULATIONS_INL
#undef TCNUM_TREE_ACCUMULATIONS_INL
#else
#define TCNUM_TREE_ACCUMULATIONS_INL
#endif

#include <cmath>
#include <cstring>

#include "tree_cuts-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

/// x cut down to a grid, by instructions that round down, or in a machine that rounds toward zero: no sum with a grid
/// is negative.
HWY_INLINE TV cut_down(TV x, TV grid) { return hn::Sub(rounded_sum<Rounding::down>(x, grid), grid); }

/// Rounds to nearest fp32, where nothing overflows and nothing is below fp32's last bit.
HWY_INLINE TV to_ordinary_single(TV x) {
  if constexpr (TCNUM_ROUNDS_EACH) return to_single(x);
  return rounded_bits<Rounding::nearest_even>(format(FormatId::fp32).fraction_bits, x);
}

/// A sum, and the power of two that it is aligned with, which takes no part in the next alignment if it is zero.
struct Unrounded {
  TV x, alignment;
};
/// The larger of a power and that of a sum that takes part.
HWY_INLINE TV larger_power(const Unrounded& sum, TV power) {
  const TMask takes_part = hn::Ne(sum.x, zero());
#if TCNUM_ROUNDS_EACH
  return TV{_mm512_mask_max_pd(power.raw, takes_part.raw, power.raw, sum.alignment.raw)};
#else
  return hn::Max(power, hn::IfThenElseZero(takes_part, sum.alignment));
#endif
}

/// Some vectors' sums of a node's products.
HWY_INLINE void add_unrounded(const TreeWork& w, std::size_t number, std::size_t first,
                              Unrounded (&sums)[kCutVectors][kTreeRows]) {
  CutProducts products;
  add_cut_products(w, w.plan->nodes[number], number, first, products);
#pragma GCC unroll 2
  for (std::size_t v = 0; v < kCutVectors; ++v) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r)
      sums[v][r] = {hn::Sub(products.sum[v][r], products.grid[v][r]), products.alignment[v][r]};
  }
}

/// One accumulation of all of a panel's columns, onto c of all rows. `fields`: of the alignments of the two sums of
/// products, the second's if they are in pairs.
template <bool kInPairs, bool kDrops, bool kDown>
HWY_NOINLINE void accumulate(const TreeWork& w, const TreeAccumulation& of, std::int16_t* const (&fields)[2]) {
  const TD d;
  const std::vector<TreeNode>& nodes = w.plan->nodes;
  const TreeNode& node = nodes[of.sum];
  const TV drop = number(node.drop_power);
  const int pair_bits = nodes[of.pair].unit.fraction_bits;
  const int first_bits = node.terms[0].fraction_bits, c_bits = node.terms[1].fraction_bits;
  const int down_bits = node.result.steps.front().step.fraction_bits;
  double* const HWY_RESTRICT c = w.values;
  TreeWork at[2] = {w, w};
  for (std::size_t i = 0; i < (kInPairs ? 2 : 1); ++i) {
    at[i].fields = fields[i];
    align_products(at[i], nodes[of.products[i]]);
  }
  for (std::size_t first = 0; first < kColumns; first += kCutVectors * kTreeLanes) {
    Unrounded sums[kCutVectors][kTreeRows];
    add_unrounded(at[0], of.products[0], first, sums);
    if constexpr (kInPairs) {
      Unrounded second[kCutVectors][kTreeRows];
      add_unrounded(at[1], of.products[1], first, second);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kCutVectors; ++v) {
#pragma GCC unroll 4
        for (std::size_t r = 0; r < kTreeRows; ++r) {
          const Unrounded &x = sums[v][r], &y = second[v][r];
          const TV alignment = larger_power(x, larger_power(y, zero())), grid = grid_of(alignment, pair_bits);
          sums[v][r] = {hn::Add(cut_down(x.x, grid), cut_down(y.x, grid)), alignment};
        }
      }
    }
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kCutVectors; ++v) {
      TV before[kTreeRows], total[kTreeRows];
      double* const HWY_RESTRICT at_c = c + first + v * kTreeLanes;
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) before[r] = hn::Load(d, at_c + r * kColumns);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) {
        const Unrounded& sum = sums[v][r];
        const TV own = binade_of(before[r]), alignment = larger_power(sum, own);
        if constexpr (kDrops) before[r] = hn::IfThenElseZero(hn::Ge(own, hn::Mul(alignment, drop)), before[r]);
        const TV cut_c = cut_down(before[r], grid_of(alignment, c_bits));
        total[r] = hn::Add(cut_down(sum.x, grid_of(alignment, first_bits)), cut_c);
        if constexpr (kDown) total[r] = rounded_bits<Rounding::down>(down_bits, total[r]);
        total[r] = to_ordinary_single(total[r]);
      }
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) hn::Store(total[r], d, at_c + r * kColumns);
    }
  }
}

/// By kInPairs, kDrops and kDown.
constexpr decltype(&accumulate<false, false, false>) kAccumulate[2][2][2] = {
    {{accumulate<false, false, false>, accumulate<false, false, true>},
     {accumulate<false, true, false>, accumulate<false, true, true>}},
    {{accumulate<true, false, false>, accumulate<true, false, true>},
     {accumulate<true, true, false>, accumulate<true, true, true>}}};

/// Whether a row's c are +0, or so large that no sum of fp32 and them is below fp32's normal numbers.
bool are_ordinary_c(const double* c) {
  const TV least = number(kLeastOrdinaryC), most = number(kOrdinary);
  TMask all = hn::Eq(zero(), zero());
  for (std::size_t j = 0; j < kColumns; j += kTreeLanes) {
    const TV x = hn::Load(TD(), c + j), magnitude = hn::Abs(x);
    const TMask is_zero = hn::RebindMask(TD(), hn::Eq(bits_of(x), hn::Zero(TI())));
    all = hn::And(all, hn::Or(is_zero, hn::And(hn::Ge(magnitude, least), hn::Lt(magnitude, most))));
  }
  return hn::AllTrue(TD(), all);
}

/// Whether products are finite, and no sum of all of a work's comes near fp32's largest number.
bool are_ordinary_products(const TreeWork& w) {
  const double sums = static_cast<double>(w.links * w.plan->depth);
  return w.are_finite && w.products_lowest >= kLeastOrdinaryProduct && std::ldexp(sums, w.products_top) < kOrdinary &&
         kOrdinary <= w.plan->infinite_from;
}

/// Goes along a work's links, all of whose sums are accumulations; if operands or c are not ordinary, it says so and
/// changes nothing.
bool run_accumulations(const TreeWork& w) {
  const TreePlan& plan = *w.plan;
  if (!are_ordinary_products(w)) return false;
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    if (!are_ordinary_c(w.results[r])) return false;
    std::memcpy(w.values + r * kColumns, w.results[r], kColumns * sizeof(double));
  }
  HWY_ALIGN std::int16_t second_fields[kTreeRows * kColumns];
  std::int16_t* const fields[2] = {w.fields, second_fields};
  const TreeNode& node = plan.nodes.back();
  const auto accumulate_one =
      kAccumulate[plan.accumulations.front().in_pairs][node.drop_power > 0][node.is_down_single];
  {
    const MachineRoundingHere rounding(Rounding::toward_zero);
    TreeWork at = w;
    for (std::size_t link = 0; link < w.links; ++link, next_link(at)) {
      for (const TreeAccumulation& of : plan.accumulations) accumulate_one(at, of, fields);
    }
  }
  for (std::size_t r = 0; r < kTreeRows; ++r)
    std::memcpy(w.results[r], w.values + r * kColumns, kColumns * sizeof(double));
  return true;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
