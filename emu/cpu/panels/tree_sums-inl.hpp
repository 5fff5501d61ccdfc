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

/// What sums that go on unrounded are aligned with, if anybody asks.
HWY_INLINE void align_unrounded(const TreeWork& w, const TreeNode& node, std::size_t column,
                                Aligned (&sums)[kTreeRows]) {
  if (!node.wants_exponent || !node.unit.result.empty() || node.unit.scale_exponents_alone) return;
  TV alignment[kTreeRows];
  for (TV& of_row : alignment) of_row = zero();
  for (const TreeTerm& t : node.terms) {
    Aligned rows[kTreeRows];
    load_rows<true>(w, t, column, rows);
    align_rows(*w.plan, node, t, rows, alignment);
  }
  for (std::size_t r = 0; r < kTreeRows; ++r)
    sums[r].power = alignment_or_one(*w.plan, node, with_floor(node, alignment[r]));
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

/// Sums of terms that are in memory, those of one row so far apart. The first of two sums is exact, of their multiples
/// of a unit; what is left of each goes to the second. Sets bits of `left` where two doubles cannot hold the sum.
TV far_sum(const TreeNode& node, const double* terms, std::size_t stride, std::int64_t* left) {
  const std::size_t count = node.terms.size() - 1;  // the last comes after these
  const auto term = [&](std::size_t i) HWY_ATTR { return hn::Load(TD(), terms + i * stride); };
  TV most = zero();
  for (std::size_t i = 0; i < count; ++i) most = hn::Max(most, hn::Abs(term(i)));
  constexpr int kFirstSumBits = 49;
  const TV grid = grid_of(scaled(hn::Max(binade_of(most), number(0x1p-850)), node.carry_bits - kFirstSumBits));
  TV first = zero(), second = zero();
  TMask lost = hn::Lt(zero(), zero());
  for (std::size_t i = 0; i < count; ++i) {
    const TV x = term(i), kept = hn::Sub(hn::Add(x, grid), grid);
    first = hn::Add(first, kept);
    const TwoSum rests = two_sum(second, hn::Sub(x, kept));
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

/// Terms of a node, to memory: cut and dropped one by one, to any bits, or plain. Returns what they are aligned with.
void put_terms(const TreeWork& w, const TreeNode& node, std::size_t column, Aligned (&sums)[kTreeRows]) {
  const std::size_t count = node.terms.size();
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) sums[r] = {zero(), zero()};
  const auto term = [&](std::size_t i, std::size_t r) HWY_ATTR { return w.terms + i * kOfTerm + r * kTreeLanes; };
  if (!node.cuts_first) {
    for (std::size_t i = 0; i < count; ++i) {
      Aligned rows[kTreeRows];
      load_rows<false>(w, node.terms[i], column, rows);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) hn::Store(rows[r].x, TD(), term(i, r));
    }
    align_unrounded(w, node, column, sums);
    return;
  }
  const std::size_t of_powers = count * kOfTerm;
  TV alignment[kTreeRows];
#pragma GCC unroll 4
  for (TV& of_row : alignment) of_row = zero();
  for (std::size_t i = 0; i < count; ++i) {
    Aligned rows[kTreeRows];
    const TreeTerm& t = node.terms[i];
    load_rows<true>(w, t, column, rows);
    align_rows(*w.plan, node, t, rows, alignment);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) hn::Store(rows[r].x, TD(), term(i, r));
    if (!t.may_drop) continue;
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) hn::Store(rows[r].power, TD(), term(i, r) + of_powers);
  }
  TV grid[kTreeRows], least[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    alignment[r] = with_floor(node, alignment[r]);
    sums[r].power = alignment_or_one(*w.plan, node, alignment[r]);
    grid[r] = with_grid(alignment[r]);
    least[r] = hn::Mul(alignment[r], number(node.drop_power));
  }
  const auto each_row = [&](std::size_t i, const auto& change) HWY_ATTR {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) hn::Store(change(hn::Load(TD(), term(i, r)), r), TD(), term(i, r));
  };
  with_mode(node.unit.align_rounding, [&](auto mode) HWY_ATTR {
    for (std::size_t i = 0; i < count; ++i) {
      const TreeTerm& t = node.terms[i];
      if (t.may_drop) {
        each_row(i, [&](TV x, std::size_t r) HWY_ATTR {
          const TMask is_far = hn::Lt(hn::Load(TD(), term(i, r) + of_powers), least[r]);
          return hn::IfThenZeroElse(hn::And(is_far, is_finite(x)), x);
        });
      }
      if (node.sum == TreeSum::cut || node.sum == TreeSum::cut_products) {  // a grid holds it
        each_row(i, [&](TV x, std::size_t r)
                        HWY_ATTR { return cut<decltype(mode)::value>(x, scaled(grid[r], -t.fraction_bits)); });
      } else if (t.fraction_bits != kExact) {
        each_row(i, [&](TV x, std::size_t r)
                        HWY_ATTR { return cut_any<decltype(mode)::value>(x, scaled(grid[r], -t.fraction_bits)); });
      }
    }
  });
}

/// Adds what put_terms() put there.
void add_terms(const TreeWork& w, const TreeNode& node, std::size_t column, Aligned (&sums)[kTreeRows]) {
  const auto term = [&](std::size_t i, std::size_t r)
                        HWY_ATTR { return hn::Load(TD(), w.terms + i * kOfTerm + r * kTreeLanes); };
  if (node.sum == TreeSum::far) {
    for (std::size_t r = 0; r < kTreeRows; ++r)
      sums[r].x = far_sum(node, w.terms + r * kTreeLanes, kOfTerm, w.left[r] + column);
  } else {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) sums[r].x = zero();
    for (std::size_t i = 0; i < node.terms.size(); ++i) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) sums[r].x = hn::Add(sums[r].x, term(i, r));
    }
  }
}

/// Sums of terms that go through memory: those that are cut first, and of many of which no double holds the sum.
void sums_of_kept(const TreeWork& w, const TreeNode& node, std::size_t column) {
  Aligned sums[kTreeRows];
  put_terms(w, node, column, sums);
  add_terms(w, node, column, sums);
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
void one_sums(const TreeWork& w, const TreeNode& node, const Operands& operands, std::size_t column) {
  const TD d;
  Vectors sum;
  each([&](std::size_t v, std::size_t r) HWY_ATTR { sum[v][r] = zero(); });
  add_products(operands, column, sum, [](TV a, TV b, TV of_before) HWY_ATTR { return hn::MulAdd(a, b, of_before); });
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

/// The terms of a pair, of which a product of more bits than a double has is two.
struct Pair {
  TwoSum x, y;
};
/// Cuts and drops them, if the node does. Of the sums it puts what they are aligned with.
HWY_INLINE void pairs_of(const TreeWork& w, const TreeNode& node, std::size_t column,
                         const Aligned (&terms)[2][kTreeRows], Aligned (&sums)[kTreeRows], Pair (&pairs)[kTreeRows]) {
  TV alignment[kTreeRows];
  for (TV& of_row : alignment) of_row = zero();
  for (std::size_t i = 0; node.cuts_first && i < 2; ++i) align_rows(*w.plan, node, node.terms[i], terms[i], alignment);
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    alignment[r] = with_floor(node, alignment[r]);
    sums[r] = {zero(), alignment_or_one(*w.plan, node, alignment[r])};
    for (std::size_t i = 0; i < 2; ++i) {
      const TreeTerm& t = node.terms[i];
      const Aligned& v = terms[i][r];
      TwoSum& to = i == 0 ? pairs[r].x : pairs[r].y;
      to = {v.x, zero()};
      if (node.has_long_product && t.is_product) {
        const TV a = Terms(w, r, column).a(t.at), b = Terms(w, r, column).b(t.at), product = hn::Mul(a, b);
        to = {product, hn::MulSub(a, b, product)};
      }
      if (node.cuts_first && t.fraction_bits != kExact) {
        with_mode(node.unit.align_rounding, [&](auto mode) HWY_ATTR {
          to = {cut_any<decltype(mode)::value>(v.x, scaled(with_grid(alignment[r]), -t.fraction_bits)), zero()};
        });
      }
      if (t.may_drop) {
        const TMask is_far = hn::Lt(v.power, hn::Mul(alignment[r], number(node.drop_power)));
        to = {hn::IfThenZeroElse(is_far, to.sum), hn::IfThenZeroElse(is_far, to.rest)};
      }
    }
  }
}

void pair_sums(const TreeWork& w, const TreeNode& node, std::size_t column) {
  Aligned terms[2][kTreeRows], sums[kTreeRows];
  if (!node.cuts_first && !node.has_long_product && !node.rounds_to_double) {
    load_rows<false>(w, node.terms[0], column, terms[0]);
    load_rows<false>(w, node.terms[1], column, terms[1]);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      const TV x = terms[0][r].x, y = terms[1][r].x;
      sums[r] = {finite_or(x, y, sum_to_odd(x, y)), zero()};
    }
  } else {
    load_rows<true>(w, node.terms[0], column, terms[0]);
    load_rows<true>(w, node.terms[1], column, terms[1]);
    Pair pairs[kTreeRows];
    pairs_of(w, node, column, terms, sums, pairs);
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      const auto& [x, y] = pairs[r];
      // Of one of both nothing is left over.
      const TwoSum high = two_sum(x.sum, y.sum),
                   all = two_sum(high.sum, sum_to_odd(high.rest, hn::Add(x.rest, y.rest)));
      TV sum = to_odd(all);
      if (node.rounds_to_double) {
        with_mode(node.result.steps.front().step.rounding,
                  [&](auto mode) HWY_ATTR { sum = to_double<decltype(mode)::value>(all); });
      }
      sums[r].x = finite_or(terms[0][r].x, terms[1][r].x, sum);
    }
  }
  if (!node.cuts_first) align_unrounded(w, node, column, sums);
  finish(w, node, column, sums);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
