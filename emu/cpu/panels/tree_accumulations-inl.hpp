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

#include "prefetch.hpp"
#include "tree_cuts-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

/// Rounds to nearest fp32, where nothing overflows and nothing is below fp32's last bit; before, if kDown, down to so
/// many fraction bits below the leading one.
template <bool kDown>
HWY_INLINE TV to_ordinary_single(int down_bits, TV x) {
  const int bits = format(FormatId::fp32).fraction_bits;
#if TCNUM_ROUNDS_EACH
  const TV power = binade_of(x), last = grids(bits);
  if constexpr (kDown) {
    const TV first = grids(down_bits);  // and what is left to the larger grid, which then rounds what is cut
    return off_grid(power, last, hn::MulAdd(power, hn::Sub(last, first), on_grid(power, first, x)));
  }
  return off_grid(power, last, hn::MulAdd(power, last, x));
#else
  if constexpr (kDown) x = rounded_bits<Rounding::down>(down_bits, x);
  return rounded_bits<Rounding::nearest_even>(bits, x);
#endif
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

/// Some vectors' sums of a node's products, of which align_products() found the alignments.
HWY_INLINE void add_unrounded(const TreeWork& w, std::size_t number, const std::int16_t* alignments, std::size_t first,
                              Unrounded (&sums)[kCutVectors][kTreeRows]) {
  const auto alignment_of = [&](std::size_t row, std::size_t column)
                                HWY_ATTR { return alignment_of_products(alignments, row, column); };
  const TreeNode& node = w.plan->nodes[number];
  const TV of_units = grids(node.unit.fraction_bits);
  CutProducts products;
  add_cut_products(w, node, number, first, alignment_of, products);
#pragma GCC unroll 2
  for (std::size_t v = 0; v < kCutVectors; ++v) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r)
      sums[v][r] = {off_grid(products.alignment[v][r], of_units, products.sum[v][r]), products.alignment[v][r]};
  }
}

/// One accumulation of all of a panel's columns, onto c of all rows.
template <bool kInPairs, bool kDrops, bool kDown>
HWY_NOINLINE void accumulate(const TreeWork& w, const TreeAccumulation& of) {
  const TD d;
  const std::vector<TreeNode>& nodes = w.plan->nodes;
  const TreeNode& node = nodes[of.sum];
  const TV drop = number(node.drop_power);
  const TV of_pairs = grids(nodes[of.pair].unit.fraction_bits);
  const TV of_sums = grids(node.terms[0].fraction_bits), of_c = grids(node.terms[1].fraction_bits);
  const int down_bits = node.result.steps.front().step.fraction_bits;
  double* const HWY_RESTRICT c = w.values;
  constexpr std::size_t kSums = kInPairs ? 2 : 1;
  HWY_ALIGN std::int16_t alignments[kSums][kTreeRows * kColumns];
  for (std::size_t i = 0; i < kSums; ++i) align_products(w, nodes[of.products[i]], alignments[i]);
  // The first sums of pairs wait in memory: registers do not hold both.
  HWY_ALIGN double waiting[kInPairs ? 2 * kTreeRows * kColumns : 1];
  const auto waiting_at = [&](std::size_t r, std::size_t column) { return waiting + 2 * (r * kColumns + column); };
  for (std::size_t first = 0; kInPairs && first < kColumns; first += kCutVectors * kTreeLanes) {
    Unrounded sums[kCutVectors][kTreeRows];
    add_unrounded(w, of.products[0], alignments[0], first, sums);
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kCutVectors; ++v) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) {
        double* const to = waiting_at(r, first + v * kTreeLanes);
        hn::Store(sums[v][r].x, d, to);
        hn::Store(sums[v][r].alignment, d, to + kTreeLanes);
      }
    }
  }
  for (std::size_t first = 0; first < kColumns; first += kCutVectors * kTreeLanes) {
    Unrounded sums[kCutVectors][kTreeRows];
    add_unrounded(w, of.products[kSums - 1], alignments[kSums - 1], first, sums);
    if constexpr (kInPairs) {
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kCutVectors; ++v) {
#pragma GCC unroll 4
        for (std::size_t r = 0; r < kTreeRows; ++r) {
          const double* const from = waiting_at(r, first + v * kTreeLanes);
          const Unrounded x = {hn::Load(d, from), hn::Load(d, from + kTreeLanes)}, &y = sums[v][r];
          const TV alignment = larger_power(x, larger_power(y, zero()));
          const TV both = rounded_sum<Rounding::down>(on_grid(alignment, of_pairs, x.x), y.x);
          sums[v][r] = {off_grid(alignment, of_pairs, both), alignment};
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
        const TV cut_c = off_grid(alignment, of_c, on_grid(alignment, of_c, before[r]));
        const TV both = hn::Add(on_grid(alignment, of_sums, sum.x), cut_c);
        total[r] = to_ordinary_single<kDown>(down_bits, off_grid(alignment, of_sums, both));
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
  const Reach products = w.a_reach * w.b_reach;
  return w.are_finite && products.lowest >= kLeastOrdinaryProduct && std::ldexp(sums, products.top) < kOrdinary &&
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
  const TreeNode& node = plan.nodes.back();
  const auto accumulate_one =
      kAccumulate[plan.accumulations.front().in_pairs][node.drop_power > 0][node.is_down_single];
  {
    const MachineRoundingHere rounding(Rounding::toward_zero);
    TreeWork at = w;
    for (std::size_t link = 0; link < w.links; ++link, next_link(at)) {
      prefetch_part(w.next, kTreeRows * kColumns, link, w.links);
      for (const TreeAccumulation& of : plan.accumulations) accumulate_one(at, of);
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
