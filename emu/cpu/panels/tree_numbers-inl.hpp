// The numbers of tree panels: vectors of them, what they are aligned with, and how they are cut and rounded.
// Compiled once for each CPU, as tree_kernels.cpp is, which includes this.
#if defined(TCNUM_TREE_NUMBERS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_TREE_NUMBERS_INL
#undef TCNUM_TREE_NUMBERS_INL
#else
#define TCNUM_TREE_NUMBERS_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "doubles-inl.hpp"
#include "tree_kernels.hpp"

#include "has_fma-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

namespace hn = hwy::HWY_NAMESPACE;

/// Exponents of operands, and as many as there are numbers in a vector.
using TS = hn::CappedTag<std::int16_t, kColumns>;
using TFew = hn::Rebind<std::int16_t, TI>;
inline constexpr std::size_t kTreeLanes = kDoubleLanes, kShortLanes = hn::MaxLanes(TS());

/// Of a panel's columns, vectors that go through a sum's operations together: with those of all rows, enough that none
/// waits for itself, and what all share is loaded, and told, once.
inline constexpr std::size_t kVectorsAtOnce = 2;
static_assert(kColumns % (kVectorsAtOnce * kTreeLanes) == 0);
/// Of these, of all rows. What is done to all goes step by step.
using Vectors = TV[kVectorsAtOnce][kTreeRows];
template <class Step>
HWY_INLINE void each(const Step& step) {
#pragma GCC unroll 2
  for (std::size_t v = 0; v < kVectorsAtOnce; ++v) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) step(v, r);
  }
}

/// Numbers are aligned with powers of two, and with 0 where they take no part. Those of products with an operand that
/// takes none are below kNoPart, and those of all others above.
inline constexpr double kNoPart = 0x1p-820;
/// What a zero is as a biased operand: with any other one it is below every unit.
inline constexpr double kBiasedZero = 0x1p-700;

/// Of the first 16 bits of powers of two, negative of those too small for a double: these are 0.
HWY_INLINE TV power_of_top(hn::Vec<TFew> tops) {
  const auto within = hn::Max(tops, hn::Zero(TFew()));
#if TCNUM_ROUNDS_EACH
  return as_numbers(hn::ShiftLeft<kFraction - kTopFraction>(TVI{_mm512_cvtepi16_epi64(within.raw)}));
#else
  const hn::Rebind<std::int32_t, TI> wider;
  return as_numbers(hn::ShiftLeft<kFraction - kTopFraction>(hn::PromoteTo(TI(), hn::PromoteTo(wider, within))));
#endif
}

/// A number and, where it is asked for, the power of two that it is aligned with. A zero's is the natural one if the
/// plan has zeros that align, and else 0.
struct Aligned {
  TV x, power;
};

/// Whether numbers are zero, infinite, or at least the least normal number: their bits are those of what a step below
/// the leading bit rounds. A NaN's are not, as rounding its payload up may leave no NaN.
HWY_INLINE bool are_normal(const TreeStep& how, const Aligned* v) {
  const TV least = number(how.least > 0 ? how.least : 0x1p-850);
  const auto is_normal = [&](TV x) HWY_ATTR { return hn::Or(hn::Eq(x, zero()), hn::Ge(hn::Abs(x), least)); };
  TMask all = is_normal(v[0].x);
#pragma GCC unroll 4
  for (std::size_t r = 1; r < kTreeRows; ++r) all = hn::And(all, is_normal(v[r].x));
  return hn::AllTrue(TD(), all);
}

/// x modulo a power of two, from minus half of it on. A double holds x plus that half.
HWY_INLINE TV wrapped(TV x, double count) {
  const TV turns = hn::Floor(hn::MulAdd(x, number(1 / count), number(0.5)));
  return hn::NegMulAdd(turns, number(count), x);
}

/// What becomes of rounded numbers that are too large. Few are.
HWY_INLINE void limit(const TreeStep& how, const Aligned* before, TV (&rounded)[kTreeRows]) {
  const TV overflow = number(how.overflow);
  TMask none = hn::Lt(hn::Abs(rounded[0]), overflow);
#pragma GCC unroll 4
  for (std::size_t r = 1; r < kTreeRows; ++r) none = hn::And(none, hn::Lt(hn::Abs(rounded[r]), overflow));
  if (hn::AllTrue(TD(), none)) return;
  const bool to_infinity = how.beyond[0] == HUGE_VAL && how.beyond[1] == HUGE_VAL;
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    const TV x = before[r].x, t = rounded[r];
    TMask large = hn::Ge(hn::Abs(t), overflow);
    if (how.step.overflow == Overflow::wrap) {
      rounded[r] = hn::IfThenElse(large, wrapped(t, 2 * how.overflow), t);
      continue;
    }
    if (!to_infinity) large = hn::And(large, is_finite(x));
    const TV beyond = hn::IfThenElse(is_negative(x), number(how.beyond[1]), number(how.beyond[0]));
    rounded[r] = hn::IfThenElse(large, hn::Or(beyond, sign_of(x)), t);
  }
}

/// One rounding step of all rows; of each sum, the alignment is a power of two.
template <Rounding kMode>
void round_once(const TreeStep& how, bool drops_sign_of_zero, const TV* alignment, Aligned* v) {
  const RoundStep& s = how.step;
  const TV least = number(how.least > 0 ? how.least : 0x1p-850);
  const bool wraps = s.overflow == Overflow::wrap;
  const bool are_bits = !wraps && !s.from_alignment && !how.keeps_all && s.fraction_bits > 0 && are_normal(how, v);
  TV rounded[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    const TV x = v[r].x;
    TV t;
    if (how.keeps_small) {
      t = x;
    } else if (s.from_alignment && how.keeps_all) {
      t = x;
    } else if (how.keeps_all) {
      const TV small = hn::Or(cut_any<kMode>(x, scaled(least, -s.fraction_bits)), sign_of(x));
      t = how.least > 0 ? hn::IfThenElse(hn::Lt(hn::Abs(x), least), small, x) : x;
    } else if (wraps) {
      const TV binade = hn::Max(hn::Min(binade_of(x), number(how.most)), least);
      t = hn::Or(cut_any<kMode>(x, scaled(binade, -s.fraction_bits)), sign_of(x));
    } else if (are_bits) {
      t = rounded_bits<kMode>(s.fraction_bits, x);
    } else {
      const TV binade = s.from_alignment ? alignment[r] : hn::Max(binade_of(x), least);
      t = hn::Or(cut<kMode>(x, scaled(binade, -s.fraction_bits)), sign_of(x));
    }
    if (s.subnormals == Subnormals::flushed && !are_bits)
      t = hn::IfThenElse(hn::Lt(hn::Abs(t), number(how.least)), sign_of(x), t);
    if (drops_sign_of_zero) {
      const TMask vanished = hn::And(hn::Eq(t, zero()), hn::Ne(x, zero()));
      t = hn::IfThenElse(vanished, zero(), t);
    }
    rounded[r] = t;
  }
  if (how.overflow < HUGE_VAL) limit(how, v, rounded);
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) v[r].x = rounded[r];
}

/// The powers that numbers are aligned with after a rounding step of their own.
HWY_INLINE void powers_of_rounded(const TreePlan& plan, const TreeStep& last, Aligned* v) {
  const TV least = number(plan.normalises_small ? 0.0 : last.least);
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) v[r].power = power_of(v[r].x, least);
  if (!plan.zeros_align) return;  // zeros' are seen to where numbers are put
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r)
    v[r].power = hn::IfThenElse(hn::Eq(v[r].x, zero()), number(last.power_of_zero), v[r].power);
}

/// All steps. The power of a sum is what it was aligned to.
HWY_NOINLINE void round_rows(const TreePlan& plan, const TreeSteps& steps, bool wants_power, Aligned* v) {
  TV alignment[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) alignment[r] = with_grid(v[r].power);
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const TreeStep& s = steps.steps[i];
    if (s.is_single && !steps.drops_sign_of_zero) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) v[r].x = to_single(v[r].x);
    } else {
      with_mode(s.step.rounding, [&](auto mode) HWY_ATTR {
        round_once<decltype(mode)::value>(s, steps.drops_sign_of_zero, alignment, v);
      });
    }
    if (wants_power && steps.last_own == i) powers_of_rounded(plan, s, v);
  }
}

/// Rounds a product of each row as the datapath does, whatever the rows' powers are.
HWY_INLINE void round_products(const TreePlan& plan, bool wants_power, Aligned (&rows)[kTreeRows]) {
  round_rows(plan, plan.product, wants_power, rows);
  if (!wants_power || plan.zeros_align) return;
    // Where zeros do not align, a product that became one does not either.
#pragma GCC unroll 4
  for (Aligned& row : rows) row.power = hn::IfThenElseZero(hn::Ne(row.x, zero()), row.power);
}

/// Operands of a node's products, at hand for loops: a compiler that sees vectors stored would read a work's members
/// anew, as they might be stored there.
struct Operands {
  const double* a[kTreeRows];
  const double* b;  ///< of the first column
  const int *first, *last;

  Operands(const TreeRows<double>& of_a, const double* of_b, const TreeNode& node)
      : b(of_b), first(node.products.data()), last(first + node.products.size()) {
    for (std::size_t r = 0; r < kTreeRows; ++r) a[r] = of_a[r];
  }
};

/// Adds the products of some columns to sums, by one multiply-add each.
template <class MultiplyAdd>
HWY_INLINE void add_products(const Operands& operands, std::size_t column, Vectors& sum,
                             const MultiplyAdd& multiply_add) {
  const TD d;
  const double* const HWY_RESTRICT b = operands.b + column;
  static_assert(kTreeRows == 4 && kVectorsAtOnce == 2);
  const double *const a0 = operands.a[0], *const a1 = operands.a[1], *const a2 = operands.a[2],
                      *const a3 = operands.a[3];
  for (const int* at = operands.first; at != operands.last; ++at) {
    const auto k = static_cast<std::size_t>(*at);
    const TV b0 = hn::Load(d, b + k * kColumns), b1 = hn::Load(d, b + k * kColumns + kTreeLanes);
    const TV a[kTreeRows] = {hn::Set(d, a0[k]), hn::Set(d, a1[k]), hn::Set(d, a2[k]), hn::Set(d, a3[k])};
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      sum[0][r] = multiply_add(a[r], b0, sum[0][r]);
      sum[1][r] = multiply_add(a[r], b1, sum[1][r]);
    }
  }
}

/// The terms of a node, in some lanes of a row.
class Terms {
 public:
  Terms(const TreeWork& w, std::size_t row, std::size_t column) : w_(w), row_(row), column_(column) {}

  TV a(int k) const { return hn::Set(TD(), w_.a[row_][k]); }
  TV b(int k) const { return hn::Load(TD(), w_.b + static_cast<std::size_t>(k) * kColumns + column_); }
  /// What the operands' exponents say that their product is aligned with.
  TV natural_power(int k) const {
    const auto a_tops = hn::Set(TFew(), static_cast<std::int16_t>(w_.a_tops[row_][k]));
    const auto b_tops = hn::Load(TFew(), w_.b_tops + static_cast<std::size_t>(k) * kColumns + column_);
    return power_of_top(hn::Add(a_tops, b_tops));
  }

  std::size_t at(int place) const { return (static_cast<std::size_t>(place) * kTreeRows + row_) * kColumns + column_; }
  TV value_of_place(const TreeTerm& t) const { return hn::Load(TD(), w_.values + at(t.at)); }
  Aligned aligned_of_place(const TreeTerm& t) const {
    return {value_of_place(t), hn::Load(TD(), w_.powers + at(t.at))};
  }

 private:
  const TreeWork& w_;
  std::size_t row_, column_;
};

/// Products of all rows as a plan takes them, with powers if they are wanted and nothing rounds products, but whatever
/// their size.
template <bool kWantsPower>
HWY_INLINE void multiply_rows(const TreeWork& w, int k, std::size_t column, Aligned (&rows)[kTreeRows]) {
  const TreePlan& plan = *w.plan;
  const bool wants_power = kWantsPower && plan.product.steps.empty();
  const bool by_leading_bits = wants_power && plan.product_exponent == ProductExponent::normalised;
  TV a[kTreeRows], b[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    const Terms terms(w, r, column);
    a[r] = terms.a(k);
    b[r] = terms.b(k);
    rows[r].power = wants_power ? terms.natural_power(k) : zero();
  }
  const auto align = [&](std::size_t r, TV product) HWY_ATTR {
    const TMask is_zero = hn::Eq(product, zero());
    rows[r].power = hn::IfThenElse(is_zero, rows[r].power, power_of(product, zero()));
  };
  if (plan.operation == ProductOperation::exclusive_or) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) rows[r].x = hn::Abs(hn::Sub(a[r], b[r]));
  } else {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) rows[r].x = hn::Mul(a[r], b[r]);
    if (plan.products_to_odd) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) rows[r].x = to_odd({rows[r].x, hn::MulSub(a[r], b[r], rows[r].x)});
    }
  }
  if (!by_leading_bits) return;
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) align(r, rows[r].x);
}

/// A term of all rows. Without powers these mean nothing.
template <bool kWantsPower>
HWY_INLINE void load_rows(const TreeWork& w, const TreeTerm& t, std::size_t column, Aligned (&rows)[kTreeRows]) {
  if (!t.is_product) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      const Terms terms(w, r, column);
      rows[r] = kWantsPower ? terms.aligned_of_place(t) : Aligned{terms.value_of_place(t), zero()};
    }
    return;
  }
  multiply_rows<kWantsPower>(w, t.at, column, rows);
  if (w.plan->infinite_from < HUGE_VAL) {
    const TV infinite_from = number(w.plan->infinite_from);
#pragma GCC unroll 4
    for (Aligned& row : rows) {
      const TMask is_large = hn::Ge(hn::Abs(row.x), infinite_from);
      row.x = hn::IfThenElse(is_large, hn::Or(number(HUGE_VAL), sign_of(row.x)), row.x);
    }
  }
  if (!w.plan->product.steps.empty()) round_products(*w.plan, kWantsPower, rows);
}

/// The power with which a term takes part in its node's alignment.
HWY_INLINE TV aligning_power(const TreePlan& plan, const TreeNode& node, const TreeTerm& t, const Aligned& v) {
  const ZeroExponentKind kind = node.unit.zero_exponent.kind;
  if (!plan.zeros_align) return v.power;
  if (kind == ZeroExponentKind::natural) return hn::Abs(v.power);
  const TV of_zero = number(kind == ZeroExponentKind::zeros ? node.zero_power : 0.0);
  if (t.by_scales_alone) return hn::IfThenElse(is_negative(v.power), of_zero, v.power);
  return hn::IfThenElse(hn::Eq(v.x, zero()), of_zero, v.power);
}
/// Takes a term of all rows into their alignments.
HWY_INLINE void align_rows(const TreePlan& plan, const TreeNode& node, const TreeTerm& t,
                           const Aligned (&rows)[kTreeRows], TV (&alignment)[kTreeRows]) {
  if (!plan.zeros_align) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) alignment[r] = hn::Max(alignment[r], rows[r].power);
    return;
  }
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r)
    alignment[r] = hn::Max(alignment[r], aligning_power(plan, node, t, rows[r]));
}

HWY_INLINE TV with_floor(const TreeNode& node, TV alignment) {
  return node.floor_power > 0 ? hn::Max(alignment, number(node.floor_power)) : alignment;
}

/// What a sum is aligned to: 2^0 where nothing took part, if anybody asks. Natural exponents always take part; 0 stands
/// for those without a lower bound, of products that were rounded so and vanished, and aligns nothing else.
HWY_INLINE TV alignment_or_one(const TreePlan& plan, const TreeNode& node, TV alignment) {
  if (!plan.zeros_align || node.unit.zero_exponent.kind == ZeroExponentKind::natural) return alignment;
  return hn::IfThenElse(hn::Lt(alignment, number(kNoPart)), number(1), alignment);
}

/// A sum that is exactly zero has the sign that its terms give it in IEEE 754.
HWY_INLINE TV with_sign_of_zero(const TreeNode& node, const Terms& terms, TV sum) {
  const TMask is_zero = hn::Eq(sum, zero());
  TV all = number(-0.0), any = zero();
  for (const TreeTerm& t : node.terms) {
    const TV sign = sign_of(t.is_product ? hn::Xor(terms.a(t.at), terms.b(t.at)) : terms.value_of_place(t));
    all = hn::And(all, sign);
    any = hn::Or(any, sign);
  }
  return hn::IfThenElse(is_zero, node.rounds_down ? any : all, sum);
}

/// x + y + z, of which z is what is left of finite terms; if x + y is not finite, that.
HWY_INLINE TV finite_or(TV x, TV y, TV sum) {
  const TV plain = hn::Add(x, y);
  return hn::IfThenElse(is_finite(plain), sum, plain);
}

/// Cuts numbers toward zero by leaving bits of them out; if not all are zero or numbers that are normal before and
/// after, it says so and changes nothing.
HWY_INLINE bool cut_bits(const TreeStep& s, Aligned (&v)[kTreeRows]) {
  const TV least = number(std::max(s.least, 0x1p-850)), overflow = number(s.overflow);
  const TV kept = as_numbers(integer(-(std::int64_t{1} << std::max(0, kFraction - s.step.fraction_bits))));
  TMask are_normal = hn::Eq(zero(), zero());
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    const TV magnitude = hn::Abs(v[r].x);
    const TMask is_normal = hn::And(hn::Ge(magnitude, least), hn::Lt(magnitude, overflow));
    are_normal = hn::And(are_normal, hn::Or(is_normal, hn::Eq(magnitude, zero())));
  }
  if (!hn::AllTrue(TD(), are_normal)) return false;
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) v[r].x = hn::And(v[r].x, kept);
  return true;
}

/// What is done to a node's sums, as far as the compiler knows: it then need not keep registers for the rest.
enum class Finish : std::uint8_t {
  any,
  none,    ///< nothing
  single,  ///< IEEE 754's rounding to nearest in fp32 (TreeNode::is_single)
  scaled,  ///< they are multiplied by scales, which alone tell what they are aligned with
};
inline Finish finish_of(const TreeNode& node) {
  if (node.unit.scale_exponents_alone && !node.has_sign_of_zero) return Finish::scaled;  // no step rounds those
  if (node.scale_block) return Finish::any;
  if (node.result.steps.empty()) return Finish::none;
  return node.is_single ? Finish::single : Finish::any;
}

/// Multiplies a node's sums, and what they are aligned with, by their block's scales, which is exact. Where the scales
/// alone tell what sums are aligned with, those of zeros, or with a scale of zero, take no part
/// (TreeTerm::by_scales_alone).
template <bool kByScalesAlone>
HWY_INLINE void multiply_by_scales(const TreeWork& w, const TreeNode& node, std::size_t column,
                                   Aligned (&v)[kTreeRows]) {
  const TD d;
  const std::size_t block = *node.scale_block;
  const TV b_scale = hn::Load(d, w.b_scales + block * kColumns + column);
  const TV b_power = hn::Load(d, w.b_scale_powers + block * kColumns + column);
  [[maybe_unused]] const TVI of_b = hn::Load(TI(), w.b_flags + node.number * kColumns + column);
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    const TV scale = hn::Mul(hn::Set(d, w.a_scales[r][block]), b_scale);
    const TV power = hn::Mul(hn::Set(d, w.a_scale_powers[r][block]), b_power);
    v[r].x = hn::Mul(v[r].x, scale);
    if constexpr (kByScalesAlone) {
      const TVI not_zero = hn::And(integer(w.a_flags[r][node.number]), of_b);
      const TMask are_zeros = hn::RebindMask(d, hn::Eq(not_zero, hn::Zero(TI())));
      v[r].power = !w.plan->zeros_align
                       ? hn::IfThenZeroElse(are_zeros, power)
                       : hn::IfThenElse(hn::Or(are_zeros, hn::Eq(scale, zero())), hn::Neg(power), power);
    } else {
      v[r].power = hn::Min(hn::Mul(v[r].power, power), number(kMostGrid));  // an infinite sum's may be more
    }
  }
}

/// Rounds a node's sums in some lanes of all rows, side by side as one would wait for itself, and puts them where they
/// belong.
template <Finish kFinish = Finish::any>
HWY_INLINE void finish(const TreeWork& w, const TreeNode& node, std::size_t column, Aligned (&v)[kTreeRows]) {
  const TD d;
  bool may_be_zero = true;  // some of the results
  if constexpr (kFinish == Finish::scaled) {
    multiply_by_scales<true>(w, node, column, v);
  } else if (!node.has_sign_of_zero) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) v[r].x = hn::Add(v[r].x, zero());
  } else {
    TMask any_zero = hn::Eq(v[0].x, zero());
#pragma GCC unroll 4
    for (std::size_t r = 1; r < kTreeRows; ++r) any_zero = hn::Or(any_zero, hn::Eq(v[r].x, zero()));
    may_be_zero = !hn::AllFalse(d, any_zero);
    if (may_be_zero) {
      for (std::size_t r = 0; r < kTreeRows; ++r) v[r].x = with_sign_of_zero(node, Terms(w, r, column), v[r].x);
    }
  }
  const bool by_scales_alone = kFinish == Finish::scaled || (kFinish == Finish::any && node.unit.scale_exponents_alone);
  if (kFinish == Finish::any && node.scale_block) {
    if (by_scales_alone)
      multiply_by_scales<true>(w, node, column, v);
    else
      multiply_by_scales<false>(w, node, column, v);
    may_be_zero = true;
  }
  if (kFinish == Finish::single || (kFinish == Finish::any && !node.result.steps.empty())) {
    may_be_zero = true;
    if (kFinish == Finish::single || node.is_single) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) v[r].x = to_single(v[r].x);
      if (node.wants_exponent) powers_of_rounded(*w.plan, node.result.steps.back(), v);
    } else if (node.is_cut && cut_bits(node.result.steps.front(), v)) {
      if (node.wants_exponent) powers_of_rounded(*w.plan, node.result.steps.back(), v);
    } else {
      Aligned rows[kTreeRows];  // a copy, as what is handed to a call is in memory, and v else in registers
      std::copy_n(v, kTreeRows, rows);
      round_rows(*w.plan, node.result, node.wants_exponent, rows);
      std::copy_n(rows, kTreeRows, v);
    }
  }
  const std::size_t at = Terms(w, 0, column).at(node.place);
  double* const HWY_RESTRICT values = w.values + at;
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) hn::Store(v[r].x, d, values + r * kColumns);
  if (!node.wants_exponent) return;
  double* const HWY_RESTRICT powers = w.powers + at;
  if (!w.plan->zeros_align && may_be_zero && !by_scales_alone) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) v[r].power = hn::IfThenZeroElse(hn::Eq(v[r].x, zero()), v[r].power);
  }
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) hn::Store(v[r].power, d, powers + r * kColumns);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
