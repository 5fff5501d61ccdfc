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
HWY_INLINE void to_ordinary_single(int down_bits, Vectors& x) {
  const int bits = format(FormatId::fp32).fraction_bits;
#if TCNUM_ROUNDS_EACH
  const TV last = grids(bits), first = kDown ? grids(down_bits) : zero();
  const TV more = hn::Sub(last, first);  // to the larger grid, which then rounds what is cut
  Vectors power;
  each([&](std::size_t v, std::size_t r) HWY_ATTR { power[v][r] = binade_of(x[v][r]); });
  if constexpr (kDown)
    each([&](std::size_t v, std::size_t r) HWY_ATTR { x[v][r] = on_grid(power[v][r], first, x[v][r]); });
  each([&](std::size_t v, std::size_t r) HWY_ATTR { x[v][r] = hn::MulAdd(power[v][r], more, x[v][r]); });
  each([&](std::size_t v, std::size_t r) HWY_ATTR { x[v][r] = off_grid(power[v][r], last, x[v][r]); });
#else
  each([&](std::size_t v, std::size_t r) HWY_ATTR {
    TV& of = x[v][r];
    of = kDown ? rounded_down_and_even(down_bits, bits, of) : rounded_bits<Rounding::nearest_even>(bits, of);
  });
#endif
}

/// Sums, and the powers of two that they are aligned with, which take no part in the next alignment if they are zero.
struct Unrounded {
  Vectors x, alignment;
};
/// The larger of a power and that of a sum that takes part.
HWY_INLINE TV larger_power(TV sum, TV alignment, TV power) {
  const TMask takes_part = hn::Ne(sum, zero());
#if TCNUM_ROUNDS_EACH
  return TV{_mm512_mask_max_pd(power.raw, takes_part.raw, power.raw, alignment.raw)};
#else
  return hn::Max(power, hn::IfThenElseZero(takes_part, alignment));
#endif
}

/// What is known of a node's products, of all rows and columns.
struct Surveyed {
  HWY_ALIGN std::int16_t alignments[kTreeRows * kColumns];
  HWY_ALIGN std::uint8_t negatives[kTreeRows * kColumns];

  void survey(const TreeWork& w, std::size_t number) {
    const TreeNode& node = w.plan->nodes[number];
    align_products(w, node, alignments);
    if (counts_apart(node.products.size())) count_negatives(w, node, number, negatives);
  }
};

/// Some vectors' sums of a node's products.
HWY_INLINE void add_unrounded(const TreeWork& w, std::size_t number, const Surveyed& surveyed, std::size_t first,
                              Unrounded& sums) {
  const auto alignment_of = [&](std::size_t row, std::size_t column)
                                HWY_ATTR { return alignment_of_products(surveyed.alignments, row, column); };
  const TreeNode& node = w.plan->nodes[number];
  const TV of_units = grids(node.unit.fraction_bits);
  CutProducts products;
  add_cut_products(w, node, number, surveyed.negatives, first, alignment_of, products);
  each([&](std::size_t v, std::size_t r) HWY_ATTR {
    sums.x[v][r] = off_grid(products.alignment[v][r], of_units, products.sum[v][r]);
    sums.alignment[v][r] = products.alignment[v][r];
  });
}

/// Adds numbers, each cut down to its unit, of which the second one's is no larger: onto the first's grid, which then
/// becomes the second's, on which that one is added. The total is the second.
HWY_INLINE void add_cut(const Vectors& alignment, TV of_coarse, const Vectors& coarse, TV of_fine, Vectors& fine) {
  const TV finer = hn::Sub(of_fine, of_coarse);
  Vectors on;
  each([&](std::size_t v, std::size_t r) HWY_ATTR { on[v][r] = on_grid(alignment[v][r], of_coarse, coarse[v][r]); });
  each([&](std::size_t v, std::size_t r) HWY_ATTR { on[v][r] = hn::MulAdd(alignment[v][r], finer, on[v][r]); });
  each([&](std::size_t v, std::size_t r) HWY_ATTR { on[v][r] = rounded_sum<Rounding::down>(on[v][r], fine[v][r]); });
  each([&](std::size_t v, std::size_t r) HWY_ATTR { fine[v][r] = off_grid(alignment[v][r], of_fine, on[v][r]); });
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
  const bool c_is_coarse = node.terms[1].fraction_bits <= node.terms[0].fraction_bits;
  const int down_bits = node.result.steps.front().step.fraction_bits;
  double* const HWY_RESTRICT c = w.values;
  constexpr std::size_t kSums = kInPairs ? 2 : 1;
  Surveyed surveyed[kSums];
  for (std::size_t i = 0; i < kSums; ++i) surveyed[i].survey(w, of.products[i]);
  // The first sums of pairs wait in memory: registers do not hold both.
  HWY_ALIGN double waiting[kInPairs ? 2 * kTreeRows * kColumns : 1];
  const auto waiting_at = [&](std::size_t r, std::size_t column) { return waiting + 2 * (r * kColumns + column); };
  for (std::size_t first = 0; kInPairs && first < kColumns; first += kVectorsAtOnce * kTreeLanes) {
    Unrounded sums;
    add_unrounded(w, of.products[0], surveyed[0], first, sums);
    each([&](std::size_t v, std::size_t r) HWY_ATTR {
      double* const to = waiting_at(r, first + v * kTreeLanes);
      hn::Store(sums.x[v][r], d, to);
      hn::Store(sums.alignment[v][r], d, to + kTreeLanes);
    });
  }
  for (std::size_t first = 0; first < kColumns; first += kVectorsAtOnce * kTreeLanes) {
    Unrounded sums;
    add_unrounded(w, of.products[kSums - 1], surveyed[kSums - 1], first, sums);
    if constexpr (kInPairs) {
      each([&](std::size_t v, std::size_t r) HWY_ATTR {
        const double* const from = waiting_at(r, first + v * kTreeLanes);
        const TV other = hn::Load(d, from);
        const TV own = larger_power(sums.x[v][r], sums.alignment[v][r], zero());
        const TV alignment = larger_power(other, hn::Load(d, from + kTreeLanes), own);
        const TV both = rounded_sum<Rounding::down>(on_grid(alignment, of_pairs, other), sums.x[v][r]);
        sums.x[v][r] = off_grid(alignment, of_pairs, both);
        sums.alignment[v][r] = alignment;
      });
    }
    Vectors x;
    double* const HWY_RESTRICT at_c = c + first;
    each([&](std::size_t v, std::size_t r) HWY_ATTR { x[v][r] = hn::Load(d, at_c + r * kColumns + v * kTreeLanes); });
    each([&](std::size_t v, std::size_t r) HWY_ATTR {
      TV& alignment = sums.alignment[v][r];
      const TV own = binade_of(x[v][r]);
      alignment = larger_power(sums.x[v][r], alignment, own);
      if constexpr (kDrops) x[v][r] = hn::IfThenElseZero(hn::Ge(own, hn::Mul(alignment, drop)), x[v][r]);
    });
    if (c_is_coarse) {
      add_cut(sums.alignment, of_c, x, of_sums, sums.x);
      each([&](std::size_t v, std::size_t r) HWY_ATTR { x[v][r] = sums.x[v][r]; });
    } else {
      add_cut(sums.alignment, of_sums, sums.x, of_c, x);
    }
    to_ordinary_single<kDown>(down_bits, x);
    each([&](std::size_t v, std::size_t r) HWY_ATTR { hn::Store(x[v][r], d, at_c + r * kColumns + v * kTreeLanes); });
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
    const PrefetchInParts prefetch_next(w.next, kTreeRows * kColumns, w.links);
    for (std::size_t link = 0; link < w.links; ++link, next_link(at)) {
      prefetch_next(link);
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
