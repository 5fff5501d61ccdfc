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
HWY_INLINE void to_ordinary_single([[maybe_unused]] const TreeAccumulation& of, [[maybe_unused]] int down_bits,
                                   Vectors& x) {
#if TCNUM_ROUNDS_EACH
  // Down on the one grid, and to nearest on the other, which is larger.
  const TV last = number(of.single_grid), first = number(of.down_grid), more = number(of.down_to_single);
  Vectors power;
  each([&](std::size_t v, std::size_t r) HWY_ATTR { power[v][r] = binade_of(x[v][r]); });
  if constexpr (kDown)
    each([&](std::size_t v, std::size_t r) HWY_ATTR { x[v][r] = on_grid(power[v][r], first, x[v][r]); });
  each([&](std::size_t v, std::size_t r) HWY_ATTR { x[v][r] = hn::MulAdd(power[v][r], more, x[v][r]); });
  each([&](std::size_t v, std::size_t r) HWY_ATTR { x[v][r] = off_grid(power[v][r], last, x[v][r]); });
#else
  const int bits = format(FormatId::fp32).fraction_bits;
  each([&](std::size_t v, std::size_t r) HWY_ATTR {
    TV& of_lane = x[v][r];
    of_lane =
        kDown ? rounded_down_and_even(down_bits, bits, of_lane) : rounded_bits<Rounding::nearest_even>(bits, of_lane);
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
  Starts starts;
  Operands operands;

  Surveyed(const TreeWork& w, std::size_t number)
      : starts(w, number), operands(w.a_biased, w.b_biased, w.plan->nodes[number]) {
    align_products(w, w.plan->nodes[number], alignments);
  }
};

/// Some vectors' sums of a node's products.
HWY_INLINE void add_unrounded(const Surveyed& surveyed, TV grid, std::size_t first, Unrounded& sums) {
  const auto alignment_of = [&](std::size_t row, std::size_t column)
                                HWY_ATTR { return alignment_of_products(surveyed.alignments, row, column); };
  CutProducts products;
  add_cut_products(surveyed.operands, surveyed.starts, first, alignment_of, products);
  each([&](std::size_t v, std::size_t r) HWY_ATTR {
    sums.x[v][r] = off_grid(products.alignment[v][r], grid, products.sum[v][r]);
    sums.alignment[v][r] = products.alignment[v][r];
  });
}

/// Adds numbers, each cut down to its unit: onto the coarse one's grid, which then becomes the fine one's, on which
/// that one is added. The total is the second.
HWY_INLINE void add_cut(const TreeAccumulation& of, const Vectors& alignment, const Vectors& coarse, Vectors& fine) {
  const TV of_coarse = number(of.coarse_grid), finer = number(of.coarse_to_fine), of_fine = number(of.fine_grid);
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
  constexpr std::size_t kLast = kInPairs ? 1 : 0;
  const TV drop = number(node.drop_power);
  const TV of_products = number(of.grid_of_products[kLast]), of_pairs = number(of.grid_of_pair);
  const int down_bits = node.result.steps.front().step.fraction_bits;
  double* const HWY_RESTRICT c = w.values;
  // The first sums of pairs wait in memory: registers do not hold both.
  HWY_ALIGN double waiting[kInPairs ? 2 * kTreeRows * kColumns : 1];
  const auto waiting_at = [&](std::size_t r, std::size_t column) { return waiting + 2 * (r * kColumns + column); };
  if constexpr (kInPairs) {
    const Surveyed surveyed(w, of.products[0]);
    for (std::size_t first = 0; first < kColumns; first += kVectorsAtOnce * kTreeLanes) {
      Unrounded sums;
      add_unrounded(surveyed, number(of.grid_of_products[0]), first, sums);
      each([&](std::size_t v, std::size_t r) HWY_ATTR {
        double* const to = waiting_at(r, first + v * kTreeLanes);
        hn::Store(sums.x[v][r], d, to);
        hn::Store(sums.alignment[v][r], d, to + kTreeLanes);
      });
    }
  }
  const Surveyed surveyed(w, of.products[kLast]);
  for (std::size_t first = 0; first < kColumns; first += kVectorsAtOnce * kTreeLanes) {
    Unrounded sums;
    add_unrounded(surveyed, of_products, first, sums);
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
    if (of.c_is_coarse) {
      add_cut(of, sums.alignment, x, sums.x);
      each([&](std::size_t v, std::size_t r) HWY_ATTR { x[v][r] = sums.x[v][r]; });
    } else {
      add_cut(of, sums.alignment, sums.x, x);
    }
    to_ordinary_single<kDown>(of, down_bits, x);
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
  const double sums = static_cast<double>(w.k_steps * w.plan->depth);
  const Reach products = w.a_reach * w.b_reach;
  return w.are_finite && products.lowest >= kLeastOrdinaryProduct && std::ldexp(sums, products.top) < kOrdinary &&
         kOrdinary <= w.plan->infinite_from;
}

/// Goes along a work's k-steps, all of whose sums are accumulations; if operands or c are not ordinary, it says so and
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
    const PrefetchInParts prefetch_next(w.next, kTreeRows * kColumns, w.k_steps);
    for (std::size_t k_step = 0; k_step < w.k_steps; ++k_step, next_k_step(at)) {
      prefetch_next(k_step);
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
