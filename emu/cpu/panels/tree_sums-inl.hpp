// Sums of tree panels that lose nothing: exact, or rounded to odd. docs/panels.md proves that this suffices.
// Compiled once for each CPU, as tree_kernels.cpp is, which includes this.
#if defined(TCNUM_TREE_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_TREE_SUMS_INL
#undef TCNUM_TREE_SUMS_INL
#else
#define TCNUM_TREE_SUMS_INL
#endif

#include <limits>

#include "tree_numbers-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

HWY_INLINE void scale_terms(const TreeWork& w, const TreeNode& node, std::size_t column, Aligned (&terms)[kTreeRows]) {
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) terms[r].x = scaled_term(w, node, r, column, terms[r].x);
}

/// What sums that go on unrounded are aligned with, if anybody asks.
HWY_INLINE void align_unrounded(const TreeWork& w, const TreeNode& node, std::size_t column,
                                Aligned (&sums)[kTreeRows]) {
  if (!node.wants_exponent || !node.unit.result.empty() || node.unit.scale_exponents_alone) return;
  for (std::size_t r = 0; r < kTreeRows; ++r)
    sums[r].power = alignment_or_one(*w.plan, node, alignment_of(*w.plan, node, Terms(w, r, column)));
}

/// kProducts: some terms are products, which may have to be rounded; a call would cost the others their registers.
template <bool kProducts>
void exact_sums(const TreeWork& w, const TreeNode& node, std::size_t column) {
  Aligned sums[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) sums[r] = {zero(), zero()};
  for (const TreeTerm& t : node.terms) {
    Aligned rows[kTreeRows];
    if constexpr (kProducts) load_rows<false>(w, t, column, rows);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r)
      sums[r].x = hn::Add(sums[r].x, kProducts ? rows[r].x : Terms(w, r, column).value_of_place(t));
  }
  align_unrounded(w, node, column, sums);
  finish(w, node, column, sums);
}

/// Sums of terms that are in memory, those of one row so far apart. Sets bits of `left` where two doubles cannot hold
/// the sum.
TV far_sum(const TreeNode& node, const double* terms, std::size_t stride, std::int64_t* left) {
  const auto term = [&](std::size_t i) HWY_ATTR { return hn::Load(TD(), terms + i * stride); };
  const std::size_t count = node.terms.size() - 1;  // the last comes after these
  TV most = zero();
  for (std::size_t i = 0; i < count; ++i) most = hn::Max(most, hn::Abs(term(i)));
  constexpr int kFirstSumBits = 49;
  const TV unit = scaled(hn::Max(binade_of(most), number(0x1p-850)), node.carry_bits - kFirstSumBits);
  const TV grid = grid_of(unit);
  TV first = zero(), second = zero();
  TMask lost = hn::Lt(zero(), zero());
  for (std::size_t i = 0; i < count; ++i) {
    const TV x = term(i), t = hn::Sub(hn::Add(x, grid), grid);
    first = hn::Add(first, t);
    const TwoSum rests = two_sum(second, hn::Sub(x, t));
    second = rests.sum;
    lost = hn::Or(lost, hn::Gt(hn::Abs(rests.rest), zero()));
  }
  const TVI flags = hn::VecFromMask(TI(), hn::RebindMask(TI(), lost));
  hn::Store(hn::Or(hn::Load(TI(), left), flags), TI(), left);
  const TV last = term(count);
  return finite_or(first, last, sum_of_three_to_odd(last, first, second));
}

/// From one term in memory to the next: a vector for each row.
inline constexpr std::size_t kOfTerm = kTreeRows * kTreeLanes;

void far_sums(const TreeWork& w, const TreeNode& node, std::size_t column) {
  for (std::size_t i = 0; i < node.terms.size(); ++i) {
    Aligned rows[kTreeRows];
    load_rows<false>(w, node.terms[i], column, rows);
    if (node.scales_terms) scale_terms(w, node, column, rows);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) hn::Store(rows[r].x, TD(), w.terms + i * kOfTerm + r * kTreeLanes);
  }
  Aligned sums[kTreeRows];
  for (std::size_t r = 0; r < kTreeRows; ++r)
    sums[r] = {far_sum(node, w.terms + r * kTreeLanes, kOfTerm, w.left[r] + column), zero()};
  align_unrounded(w, node, column, sums);
  finish(w, node, column, sums);
}

/// Sums of terms that are cut and dropped one by one, to any bits, and then added as those of which nothing is cut.
void sums_cut_first(const TreeWork& w, const TreeNode& node, std::size_t column) {
  const std::size_t count = node.terms.size();
  double* const powers = w.terms + count * kOfTerm;
  Aligned sums[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) sums[r] = {zero(), zero()};
  for (std::size_t i = 0; i < count; ++i) {
    Aligned rows[kTreeRows];
    const TreeTerm& t = node.terms[i];
    load_rows<true>(w, t, column, rows);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      sums[r].power = hn::Max(sums[r].power, aligning_power(*w.plan, node, t, rows[r]));
      hn::Store(rows[r].x, TD(), w.terms + i * kOfTerm + r * kTreeLanes);
      hn::Store(rows[r].power, TD(), powers + i * kOfTerm + r * kTreeLanes);
    }
  }
  TV grid[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    sums[r].power = with_floor(node, sums[r].power);
    grid[r] = with_grid(sums[r].power);
  }
  with_mode(node.unit.align_rounding, [&](auto mode) HWY_ATTR {
    for (std::size_t i = 0; i < count; ++i) {
      const TreeTerm& t = node.terms[i];
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) {
        const std::size_t at = i * kOfTerm + r * kTreeLanes;
        TV x = hn::Load(TD(), w.terms + at);
        if (t.may_drop) {
          const TV least = hn::Mul(sums[r].power, number(node.drop_power)), power = hn::Load(TD(), powers + at);
          x = hn::IfThenZeroElse(hn::And(hn::Lt(power, least), is_finite(x)), x);
        }
        if (t.fraction_bits != kExact) x = cut_any<decltype(mode)::value>(x, scaled(grid[r], -t.fraction_bits));
        if (node.scales_terms) x = scaled_term(w, node, r, column, x);
        hn::Store(x, TD(), w.terms + at);
      }
    }
  });
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    const double* const terms = w.terms + r * kTreeLanes;
    const auto term = [&](std::size_t i) HWY_ATTR { return hn::Load(TD(), terms + i * kOfTerm); };
    if (node.sum == TreeSum::pair) {
      sums[r].x = finite_or(term(0), term(1), sum_to_odd(term(0), term(1)));
    } else if (node.sum == TreeSum::far) {
      sums[r].x = far_sum(node, terms, kOfTerm, w.left[r] + column);
    } else {
      for (std::size_t i = 0; i < count; ++i) sums[r].x = hn::Add(sums[r].x, term(i));
    }
    sums[r].power = alignment_or_one(*w.plan, node, sums[r].power);
  }
  finish(w, node, column, sums);
}

/// high + low + last, rounded to odd: docs/panels.md says why this suffices where the three are those of near_sums().
HWY_INLINE TV near_sum_to_odd(TV high, TV low, TV last) {
  const TwoSum products = fast_two_sum(high, low), all = two_sum(products.sum, last);
  return sum_to_odd(all.sum, hn::Add(all.rest, products.rest));
}

/// Where one double holds the products' sum, as their ranges say; all is finite. kFits: it holds their sum with the
/// other term, too.
template <Finish kFinish, bool kFits>
void one_sums(const TreeWork& w, const TreeNode& node, std::size_t column) {
  const TD d;
  Vectors sum;
  each([&](std::size_t v, std::size_t r) HWY_ATTR { sum[v][r] = zero(); });
  for (const int k : node.products) {
    const double* const of_k = w.b + static_cast<std::size_t>(k) * kColumns + column;
    TV b[kVectorsAtOnce];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectorsAtOnce; ++v) b[v] = hn::Load(d, of_k + v * kTreeLanes);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      const TV a = hn::Set(d, w.a[r][k]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kVectorsAtOnce; ++v) sum[v][r] = hn::MulAdd(a, b[v], sum[v][r]);
    }
  }
#pragma GCC unroll 2
  for (std::size_t v = 0; v < kVectorsAtOnce; ++v) {
    const std::size_t at = column + v * kTreeLanes;
    Aligned sums[kTreeRows];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      if (!node.others.empty()) {
        const TV other = hn::Load(d, w.values + Terms(w, r, at).at(node.others[0].at));
        sum[v][r] = kFits ? hn::Add(sum[v][r], other) : sum_to_odd(sum[v][r], other);
      }
      sums[r] = {sum[v][r], zero()};
    }
    align_unrounded(w, node, at, sums);
    finish<kFinish>(w, node, at, sums);
  }
}

template <bool kFinite, Finish kFinish = Finish::any>
void near_sums(const TreeWork& w, const TreeNode& node, std::size_t column) {
  const TD d;
  const TV grid = number(node.grid);
  TV first[kTreeRows], second[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    first[r] = grid;
    second[r] = zero();
  }
  int other = -1;
  for (const TreeTerm& t : node.terms) {
    if (!t.is_product) {
      other = t.at;
      continue;
    }
    const TV b = hn::Load(d, w.b + static_cast<std::size_t>(t.at) * kColumns + column);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      const TV a = hn::Set(d, w.a[r][t.at]), sum = hn::MulAdd(a, b, first[r]), kept = hn::Sub(sum, first[r]);
      second[r] = hn::Add(second[r], hn::MulSub(a, b, kept));
      first[r] = sum;
    }
  }
  Aligned sums[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    const TV high = hn::Sub(first[r], grid);
    const TV last = other < 0 ? zero() : hn::Load(d, w.values + Terms(w, r, column).at(other));
    const TV sum = near_sum_to_odd(high, second[r], last);
    sums[r] = {kFinite ? sum : finite_or(high, last, sum), zero()};
  }
  align_unrounded(w, node, column, sums);
  finish<kFinish>(w, node, column, sums);
}

void pair_sums(const TreeWork& w, const TreeNode& node, std::size_t column) {
  Aligned x[kTreeRows], y[kTreeRows];
  load_rows<false>(w, node.terms[0], column, x);
  load_rows<false>(w, node.terms[1], column, y);
  if (node.scales_terms) {
    scale_terms(w, node, column, x);
    scale_terms(w, node, column, y);
  }
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) x[r] = {finite_or(x[r].x, y[r].x, sum_to_odd(x[r].x, y[r].x)), zero()};
  align_unrounded(w, node, column, x);
  finish(w, node, column, x);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
