// Compiled once for each CPU by Highway. What is said here of exactness is proven in docs/panels.md.
#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/cpu/panels/tree_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which compiles this file anew for each target.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "emu/machine_rounding.hpp"
#include "tree_kernels.hpp"

#undef TCNUM_HAS_FMA
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
#define TCNUM_HAS_FMA 1
#else
#define TCNUM_HAS_FMA 0
#endif

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

namespace hn = hwy::HWY_NAMESPACE;

using TD = hn::CappedTag<double, kColumns>;
using TV = hn::Vec<TD>;
using TMask = hn::Mask<TD>;
using TI = hn::RebindToSigned<TD>;
using TVI = hn::Vec<TI>;
/// Exponents of operands, and as many as there are numbers in a vector.
using TS = hn::CappedTag<std::int16_t, kColumns>;
using TFew = hn::Rebind<std::int16_t, TI>;
inline constexpr std::size_t kTreeLanes = hn::MaxLanes(TD()), kShortLanes = hn::MaxLanes(TS());

inline constexpr int kFraction = 52, kBias = 1023;
inline constexpr std::int64_t kExponentBits = std::int64_t{0x7ff} << kFraction;
/// Numbers are aligned with powers of two, and with 0 where they take no part. Those of products with an operand that
/// takes none are below kNoPart, and those of all others above.
inline constexpr double kNoPart = 0x1p-820;
/// Powers that grids come from stay within these; beyond are those of zeros and infinities alone, where grids do not
/// matter.
inline constexpr double kLeastGrid = 0x1p-500, kMostGrid = 0x1p900;
/// What a zero is as a grown operand: with any other one it is below every unit.
inline constexpr double kGrownZero = 0x1p-700;

HWY_INLINE TV zero() { return hn::Zero(TD()); }
HWY_INLINE TV number(double x) { return hn::Set(TD(), x); }
HWY_INLINE TVI integer(std::int64_t x) { return hn::Set(TI(), x); }
HWY_INLINE TV as_numbers(TVI bits) { return hn::BitCast(TD(), bits); }
HWY_INLINE TVI bits_of(TV x) { return hn::BitCast(TI(), x); }
HWY_INLINE TV sign_of(TV x) { return hn::And(x, number(-0.0)); }
HWY_INLINE TMask is_negative(TV x) { return hn::RebindMask(TD(), hn::Lt(bits_of(x), hn::Zero(TI()))); }
HWY_INLINE TMask is_finite(TV x) { return hn::Lt(hn::Abs(x), number(HUGE_VAL)); }
/// 2^the exponent of a number's leading bit.
HWY_INLINE TV binade_of(TV x) { return hn::And(x, as_numbers(integer(kExponentBits))); }
/// 2^e · 2^more.
HWY_INLINE TV scaled(TV power_of_two, int more) {
  return as_numbers(hn::Add(bits_of(power_of_two), integer(static_cast<std::int64_t>(more) << kFraction)));
}
/// 2^e, or 0 for those that a double has not; e is biased as a double's exponent.
HWY_INLINE TV power_of_field(hn::Vec<TFew> biased) {
  const hn::Rebind<std::int32_t, TI> wider;
  return as_numbers(hn::ShiftLeft<kFraction>(hn::PromoteTo(TI(), hn::PromoteTo(wider, biased))));
}
HWY_INLINE TV power_of_two(hn::Vec<TFew> e) {
  return power_of_field(hn::Max(hn::Add(e, hn::Set(TFew(), kBias)), hn::Zero(TFew())));
}
HWY_INLINE TV with_grid(TV power) { return hn::Max(power, number(kLeastGrid)); }
/// 1.5 · 2^52 units: adding it rounds to a multiple of the unit, and taking it away again is exact.
HWY_INLINE TV grid_of(TV unit) {
  constexpr std::int64_t kUp = (std::int64_t{kFraction} << kFraction) + (std::int64_t{1} << (kFraction - 1));
  return as_numbers(hn::Add(bits_of(unit), integer(kUp)));
}

/// x cut to a multiple of the unit. Infinities and NaNs stay what they are, as no comparison holds. A zero may have any
/// sign.
template <Rounding kMode>
HWY_INLINE TV cut(TV x, TV unit) {
  const TV grid = grid_of(unit), of = kMode == Rounding::toward_zero ? hn::Abs(x) : x;
  const TV t = hn::Sub(hn::Add(of, grid), grid);  // the nearest
  switch (kMode) {
    case Rounding::nearest_even:
      return t;
    case Rounding::toward_zero:
      return hn::Or(hn::IfThenElse(hn::Lt(of, t), hn::Sub(t, unit), t), sign_of(x));
    case Rounding::down:
      return hn::IfThenElse(hn::Lt(x, t), hn::Sub(t, unit), t);
    case Rounding::up:
      return hn::IfThenElse(hn::Lt(t, x), hn::Add(t, unit), t);
    case Rounding::nearest_away: {
      const TV half = hn::Or(hn::Mul(unit, number(0.5)), sign_of(x));
      return hn::IfThenElse(hn::Eq(hn::Sub(x, t), half), hn::Add(t, hn::Add(half, half)), t);
    }
  }
  return t;
}

/// Calls with a rounding that the compiler knows.
template <class With>
HWY_INLINE void with_mode(Rounding mode, const With& with) {
  switch (mode) {
    case Rounding::toward_zero:
      return with(std::integral_constant<Rounding, Rounding::toward_zero>());
    case Rounding::nearest_even:
      return with(std::integral_constant<Rounding, Rounding::nearest_even>());
    case Rounding::nearest_away:
      return with(std::integral_constant<Rounding, Rounding::nearest_away>());
    case Rounding::up:
      return with(std::integral_constant<Rounding, Rounding::up>());
    case Rounding::down:
      return with(std::integral_constant<Rounding, Rounding::down>());
  }
}

/// That of a number that is no zero, by itself.
HWY_INLINE TV power_of(TV x, TV least) { return hn::Min(hn::Max(binade_of(x), least), number(kMostGrid)); }

HWY_INLINE TV to_single(TV x) {
  const hn::Rebind<float, TD> narrow;
  return hn::PromoteTo(TD(), hn::DemoteTo(narrow, x));
}

/// A number and, where it is asked for, the power of two that it is aligned with. A zero's is the natural one if the
/// plan has zeros that align, and else 0.
struct Aligned {
  TV x, power;
};

/// One rounding step of all rows; of each sum, the alignment is a power of two.
template <Rounding kMode>
void round_once(const TreeStep& how, bool drops_sign_of_zero, const TV* alignment, Aligned* v) {
  const RoundStep& s = how.step;
  const TV least = number(how.least > 0 ? how.least : 0x1p-850);
  const bool to_infinity = how.beyond[0] == HUGE_VAL && how.beyond[1] == HUGE_VAL;
  // Bits of a normal number that are cut off are bits of the double.
  const TV kept = as_numbers(integer(-(std::int64_t{1} << std::max(0, kFraction - s.fraction_bits))));
  bool are_bits = kMode == Rounding::toward_zero && !s.from_alignment && s.fraction_bits > 0;
  if (are_bits) {
    TMask any_small = hn::Lt(hn::Abs(v[0].x), least);
#pragma GCC unroll 4
    for (std::size_t r = 1; r < kTreeRows; ++r) any_small = hn::Or(any_small, hn::Lt(hn::Abs(v[r].x), least));
    are_bits = hn::AllFalse(TD(), any_small);
  }
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    const TV x = v[r].x;
    TV t;
    if (are_bits) {
      t = hn::And(x, kept);
    } else {
      const TV binade = s.from_alignment ? alignment[r] : hn::Max(binade_of(x), least);
      t = hn::Or(cut<kMode>(x, scaled(binade, -s.fraction_bits)), sign_of(x));
    }
    if (s.subnormals == Subnormals::flushed) t = hn::IfThenElse(hn::Lt(hn::Abs(t), number(how.least)), sign_of(x), t);
    if (how.overflow < HUGE_VAL) {
      TMask large = hn::Ge(hn::Abs(t), number(how.overflow));
      if (!to_infinity) large = hn::And(large, is_finite(x));
      const TV beyond = hn::IfThenElse(is_negative(x), number(how.beyond[1]), number(how.beyond[0]));
      t = hn::IfThenElse(large, hn::Or(beyond, sign_of(x)), t);
    }
    if (drops_sign_of_zero) {
      const TMask vanished = hn::And(hn::Eq(t, zero()), hn::Ne(x, zero()));
      t = hn::IfThenElse(vanished, zero(), t);
    }
    v[r].x = t;
  }
}

/// The powers that numbers are aligned with after a rounding step of their own.
HWY_INLINE void powers_of_rounded(const TreePlan& plan, const TreeStep& last, double of_zero, Aligned* v) {
  const bool minimum = plan.c.subnormal_exponent == SubnormalExponent::minimum;
  const TV least = number(minimum ? last.least : 0.0);
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) v[r].power = power_of(v[r].x, least);
  if (!plan.zeros_align) return;  // zeros' are seen to where numbers are put
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r)
    v[r].power = hn::IfThenElse(hn::Eq(v[r].x, zero()), number(of_zero), v[r].power);
}

/// All steps. The power of a sum is what it was aligned to.
HWY_NOINLINE void round_rows(const TreePlan& plan, const TreeSteps& steps, bool wants_power, Aligned* v) {
  TV alignment[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) alignment[r] = with_grid(v[r].power);
  for (const TreeStep& s : steps.steps) {
    if (s.is_single && !steps.drops_sign_of_zero) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) v[r].x = to_single(v[r].x);
    } else {
      with_mode(s.step.rounding, [&](auto mode) HWY_ATTR {
        round_once<decltype(mode)::value>(s, steps.drops_sign_of_zero, alignment, v);
      });
    }
  }
  if (wants_power && !steps.from_alignment) powers_of_rounded(plan, steps.steps.back(), steps.power_of_zero, v);
}

/// The terms of a node, in some lanes of a row.
class Terms {
 public:
  Terms(const TreeWork& w, std::size_t row, std::size_t column) : w_(w), plan_(*w.plan), row_(row), column_(column) {}

  TV a(int k) const { return hn::Set(TD(), w_.a[row_][k]); }
  TV b(int k) const { return hn::Load(TD(), w_.b + static_cast<std::size_t>(k) * kColumns + column_); }
  std::size_t at(int place) const { return (static_cast<std::size_t>(place) * kTreeRows + row_) * kColumns + column_; }

  TV value_of_place(const TreeTerm& t) const { return hn::Load(TD(), w_.values + at(t.at)); }
  Aligned aligned_of_place(const TreeTerm& t) const {
    return {value_of_place(t), hn::Load(TD(), w_.powers + at(t.at))};
  }
  TV value(const TreeTerm& t) const {
    if (!t.is_product) return value_of_place(t);
    const TV x = limited(hn::Mul(a(t.at), b(t.at)));
    return plan_.product.steps.empty() ? x : rounded(x, false).x;
  }
  Aligned aligned(const TreeTerm& t) const {
    if (!t.is_product) return aligned_of_place(t);
    const TV product = hn::Mul(a(t.at), b(t.at)), x = limited(product);
    if (!plan_.product.steps.empty()) return rounded(x, true);
    const auto b_exponents = hn::Load(TFew(), w_.b_exponents + static_cast<std::size_t>(t.at) * kColumns + column_);
    const TV natural = power_of_two(hn::Add(hn::Set(TFew(), w_.a_exponents[row_][t.at]), b_exponents));
    if (plan_.product_exponent == ProductExponent::sum) return {x, natural};
    return {x, hn::IfThenElse(hn::Eq(product, zero()), natural, power_of(product, zero()))};
  }

 private:
  /// Large products are infinite.
  TV limited(TV x) const {
    if (plan_.infinite_from == HUGE_VAL) return x;
    const TMask large = hn::Ge(hn::Abs(x), number(plan_.infinite_from));
    return hn::IfThenElse(large, hn::Or(number(HUGE_VAL), sign_of(x)), x);
  }
  Aligned rounded(TV x, bool wants_power) const {
    // As a row among others, which are not looked at.
    Aligned rows[kTreeRows];
    for (Aligned& row : rows) row = {x, zero()};
    round_rows(plan_, plan_.product, wants_power, rows);
    return rows[0];
  }

  const TreeWork& w_;
  const TreePlan& plan_;
  std::size_t row_, column_;
};

/// The power with which a term takes part in its node's alignment.
HWY_INLINE TV aligning_power(const TreePlan& plan, const TreeNode& node, const Aligned& v) {
  const ZeroExponentKind kind = node.unit.zero_exponent.kind;
  if (!plan.zeros_align || kind == ZeroExponentKind::natural) return v.power;
  const TV of_zero = number(kind == ZeroExponentKind::zeros ? node.zero_power : 0.0);
  return hn::IfThenElse(hn::Eq(v.x, zero()), of_zero, v.power);
}

HWY_INLINE TV with_floor(const TreeNode& node, TV alignment) { return hn::Max(alignment, number(node.floor_power)); }

/// What a sum is aligned to, of which nothing may have taken part: 2^0 if anybody asks.
HWY_INLINE TV alignment_or_one(const TreePlan& plan, TV alignment) {
  if (!plan.zeros_align) return alignment;
  return hn::IfThenElse(hn::Lt(alignment, number(kNoPart)), number(1), alignment);
}

/// A sum that is exactly zero has the sign that its terms give it in IEEE 754.
HWY_INLINE TV with_sign_of_zero(const TreeNode& node, const Terms& terms, TV sum) {
  const TMask is_zero = hn::Eq(sum, zero());
  TV all = number(-0.0), any = zero();
  for (const TreeTerm& t : node.terms) {
    const TV sign = sign_of(t.is_product ? hn::Xor(terms.a(t.at), terms.b(t.at)) : terms.value(t));
    all = hn::And(all, sign);
    any = hn::Or(any, sign);
  }
  return hn::IfThenElse(is_zero, node.rounds_down ? any : all, sum);
}

/// The nearest double to a sum, and what is left over: the two are the sum.
struct TwoSum {
  TV sum, rest;
};
HWY_INLINE TwoSum two_sum(TV x, TV y) {
  const TV sum = hn::Add(x, y), of_y = hn::Sub(sum, x), of_x = hn::Sub(sum, of_y);
  return {sum, hn::Add(hn::Sub(x, of_x), hn::Sub(y, of_y))};
}

/// The same where x is a multiple of y's last bit, or of larger magnitude.
HWY_INLINE TwoSum fast_two_sum(TV x, TV y) {
  const TV sum = hn::Add(x, y);
  return {sum, hn::Sub(y, hn::Sub(sum, x))};
}

/// A sum with something left over as a double whose last bit is set: what it is rounded to with fewer bits is then what
/// the sum would be rounded to. Rounds toward zero, and sets the bit.
HWY_INLINE TV to_odd(const TwoSum& s) {
  const auto inexact = hn::RebindMask(TI(), hn::Gt(hn::Abs(s.rest), zero()));  // no NaN
  const TVI sum = bits_of(s.sum);
  const TVI opposite = hn::BroadcastSignBit(hn::Xor(sum, bits_of(s.rest)));  // −1 where the sum was rounded away
  const TVI odd = hn::Or(hn::Add(sum, opposite), integer(1));
  return as_numbers(hn::IfThenElse(inexact, odd, sum));
}

/// The same of three numbers: S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved
/// algorithms using rounding to odd", IEEE Trans. Computers 57 (2008).
HWY_INLINE TV sum_of_three_to_odd(TV x, TV y, TV z) {
  const TwoSum low = two_sum(y, z), high = two_sum(x, low.sum);
  return to_odd(two_sum(high.sum, to_odd(two_sum(high.rest, low.rest))));
}

/// x + y + z, of which z is what is left of finite terms; if x + y is not finite, that.
HWY_INLINE TV finite_or(TV x, TV y, TV sum) {
  const TV plain = hn::Add(x, y);
  return hn::IfThenElse(is_finite(plain), sum, plain);
}

/// Rounds a node's sums in some lanes of all rows, side by side as one would wait for itself, and puts them where they
/// belong.
HWY_INLINE void finish(const TreeWork& w, const TreeNode& node, std::size_t column, Aligned (&v)[kTreeRows]) {
  const TD d;
  if (node.unit.zero_sign == ZeroSign::positive) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) v[r].x = hn::Add(v[r].x, zero());
  } else {
    TMask any_zero = hn::Eq(v[0].x, zero());
#pragma GCC unroll 4
    for (std::size_t r = 1; r < kTreeRows; ++r) any_zero = hn::Or(any_zero, hn::Eq(v[r].x, zero()));
    if (!hn::AllFalse(d, any_zero)) {
      for (std::size_t r = 0; r < kTreeRows; ++r) v[r].x = with_sign_of_zero(node, Terms(w, r, column), v[r].x);
    }
  }
  if (node.is_single) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) v[r].x = to_single(v[r].x);
    if (node.wants_exponent) powers_of_rounded(*w.plan, node.result.steps.back(), node.result.power_of_zero, v);
  } else if (!node.result.steps.empty()) {
    Aligned rows[kTreeRows];  // a copy, as what is handed to a call is in memory, and v else in registers
    std::copy_n(v, kTreeRows, rows);
    round_rows(*w.plan, node.result, node.wants_exponent, rows);
    std::copy_n(rows, kTreeRows, v);
  }
  const std::size_t at = Terms(w, 0, column).at(node.place);
  double* const HWY_RESTRICT values = w.values + at;
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) hn::Store(v[r].x, d, values + r * kColumns);
  if (!node.wants_exponent) return;
  double* const HWY_RESTRICT powers = w.powers + at;
  if (!w.plan->zeros_align) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) v[r].power = hn::IfThenZeroElse(hn::Eq(v[r].x, zero()), v[r].power);
  }
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) hn::Store(v[r].power, d, powers + r * kColumns);
}

HWY_INLINE TV alignment_of(const TreePlan& plan, const TreeNode& node, const Terms& terms) {
  TV alignment = zero();
  for (const TreeTerm& t : node.terms) alignment = hn::Max(alignment, aligning_power(plan, node, terms.aligned(t)));
  return with_floor(node, alignment);
}

/// kProducts: some terms are products, which may have to be rounded; a call would cost the others their registers.
template <Rounding kMode, bool kProducts>
void cut_sums(const TreeWork& w, const TreeNode& node, std::size_t column) {
  const Unit& unit = node.unit;
  const auto value = [&](const TreeTerm& t, std::size_t r) HWY_ATTR {
    if constexpr (kProducts) return Terms(w, r, column).value(t);
    return Terms(w, r, column).value_of_place(t);
  };
  const auto aligned = [&](const TreeTerm& t, std::size_t r) HWY_ATTR {
    if constexpr (kProducts) return Terms(w, r, column).aligned(t);
    return Terms(w, r, column).aligned_of_place(t);
  };
  TV alignment[kTreeRows];
  Aligned sums[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) alignment[r] = zero();
  for (const TreeTerm& t : node.terms) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r)
      alignment[r] = hn::Max(alignment[r], aligning_power(*w.plan, node, aligned(t, r)));
  }
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    alignment[r] = with_floor(node, alignment[r]);
    sums[r] = {zero(), alignment_or_one(*w.plan, alignment[r])};
  }
  for (const TreeTerm& t : node.terms) {
    if (t.may_drop) {
      const TV down = number(node.drop_power);
      for (std::size_t r = 0; r < kTreeRows; ++r) {
        const Aligned v = aligned(t, r);
        const TMask is_far = hn::And(hn::Lt(v.power, hn::Mul(alignment[r], down)), is_finite(v.x));
        const TV x = hn::IfThenZeroElse(is_far, v.x);
        sums[r].x = hn::Add(sums[r].x, cut<kMode>(x, scaled(with_grid(alignment[r]), -t.fraction_bits)));
      }
    } else {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) {
        const TV x = value(t, r);
        sums[r].x = hn::Add(sums[r].x, cut<kMode>(x, scaled(with_grid(alignment[r]), -t.fraction_bits)));
      }
    }
  }
  finish(w, node, column, sums);
}

/// As MachineRounding, which takes as long as some dozen products.
class MachineRoundingHere {
#if HWY_ARCH_X86
 public:
  explicit MachineRoundingHere(Rounding mode) : before_(_mm_getcsr()) {
    const unsigned bits = mode == Rounding::toward_zero ? _MM_ROUND_TOWARD_ZERO
                          : mode == Rounding::down      ? _MM_ROUND_DOWN
                                                        : _MM_ROUND_UP;
    _mm_setcsr((before_ & ~static_cast<unsigned>(_MM_ROUND_MASK)) | bits);
  }
  MachineRoundingHere(const MachineRoundingHere&) = delete;
  MachineRoundingHere& operator=(const MachineRoundingHere&) = delete;
  ~MachineRoundingHere() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#else
 public:
  explicit MachineRoundingHere(Rounding mode) : rounding_(mode) {}

 private:
  MachineRounding rounding_;
#endif
};

/// The same of results alone, all of a panel's columns, while the machine rounds as terms are cut: up, or else down.
/// All sums are exact, and so are multiples of a unit in any mode. Zeros may have any sign, as they are given theirs
/// later.
template <bool kOfMagnitudes, bool kDrops>
HWY_NOINLINE void sum_cut_results(const TreeWork& w, const TreeNode& node) {
  const TD d;
  const TV down = number(node.drop_power);
  double *const HWY_RESTRICT sums = w.sums, *const HWY_RESTRICT alignments = w.alignments;
  for (std::size_t column = 0; column < kColumns; column += kTreeLanes) {
    TV alignment[kTreeRows], grid[kTreeRows], sum[kTreeRows];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) alignment[r] = zero();
    for (const TreeTerm& t : node.terms) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) {
        const Aligned v = Terms(w, r, column).aligned_of_place(t);
        alignment[r] = hn::Max(alignment[r], aligning_power(*w.plan, node, v));
      }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      alignment[r] = with_floor(node, alignment[r]);
      hn::Store(alignment[r], d, alignments + r * kColumns + column);
      grid[r] = grid_of(with_grid(alignment[r]));
      sum[r] = zero();
    }
    for (const TreeTerm& t : node.terms) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) {
        const Aligned v = Terms(w, r, column).aligned_of_place(t);
        TV x = v.x;
        if (kDrops && t.may_drop) {
          const TMask is_far = hn::And(hn::Lt(v.power, hn::Mul(alignment[r], down)), is_finite(x));
          x = hn::IfThenZeroElse(is_far, x);
        }
        const TV sign = sign_of(x), here = scaled(grid[r], -t.fraction_bits);
        if (kOfMagnitudes) x = hn::Abs(x);
        TV kept = hn::Sub(hn::Add(x, here), here);
        if (kOfMagnitudes) kept = hn::Xor(kept, sign);
        sum[r] = hn::Add(sum[r], kept);
      }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) hn::Store(sum[r], d, sums + r * kColumns + column);
  }
}

/// The rest of it, when the machine rounds to nearest again.
void finish_cut_results(const TreeWork& w, const TreeNode& node) {
  const TD d;
  for (std::size_t column = 0; column < kColumns; column += kTreeLanes) {
    Aligned sums[kTreeRows];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      const TV alignment = hn::Load(d, w.alignments + r * kColumns + column);
      sums[r] = {hn::Load(d, w.sums + r * kColumns + column), alignment_or_one(*w.plan, alignment)};
    }
    finish(w, node, column, sums);
  }
}

void cut_results(const TreeWork& w, const TreeNode& node) {
  {
    const Rounding mode = node.unit.align_rounding;
    const MachineRoundingHere rounding(mode == Rounding::up ? Rounding::up : Rounding::down);
    const bool drops = node.unit.drop_below.has_value();
    if (mode == Rounding::toward_zero)
      drops ? sum_cut_results<true, true>(w, node) : sum_cut_results<true, false>(w, node);
    else
      drops ? sum_cut_results<false, true>(w, node) : sum_cut_results<false, false>(w, node);
  }
  finish_cut_results(w, node);
}

/// Whether the machine can round as these terms are cut, none of them a product that it rounds otherwise.
bool cuts_as_the_machine(const TreeNode& node) {
  const Rounding mode = node.unit.align_rounding;
  return node.sum == TreeSum::cut && node.products.empty() && mode != Rounding::nearest_even &&
         mode != Rounding::nearest_away;
}

Aligned exact_sum(const TreePlan& plan, const TreeNode& node, const Terms& terms) {
  TV sum = zero();
  for (const TreeTerm& t : node.terms) sum = hn::Add(sum, terms.value(t));
  const bool wants_alignment = node.wants_exponent && node.unit.result.empty();
  return {sum, wants_alignment ? alignment_or_one(plan, alignment_of(plan, node, terms)) : zero()};
}

/// Sets bits of `left` where two doubles cannot hold the sum.
TV far_sum(const TreeNode& node, const Terms& terms, std::int64_t* left) {
  const std::size_t count = node.terms.size() - 1;  // the last comes after these
  TV most = zero();
  for (std::size_t i = 0; i < count; ++i) most = hn::Max(most, hn::Abs(terms.value(node.terms[i])));
  constexpr int kFirstSumBits = 49;
  const TV unit = scaled(hn::Max(binade_of(most), number(0x1p-850)), node.carry_bits - kFirstSumBits);
  const TV grid = grid_of(unit);
  TV first = zero(), second = zero();
  TMask lost = hn::Lt(zero(), zero());
  for (std::size_t i = 0; i < count; ++i) {
    const TV x = terms.value(node.terms[i]), t = hn::Sub(hn::Add(x, grid), grid);
    first = hn::Add(first, t);
    const TwoSum rests = two_sum(second, hn::Sub(x, t));
    second = rests.sum;
    lost = hn::Or(lost, hn::Gt(hn::Abs(rests.rest), zero()));
  }
  const TVI flags = hn::VecFromMask(TI(), hn::RebindMask(TI(), lost));
  hn::Store(hn::Or(hn::Load(TI(), left), flags), TI(), left);
  const TV last = terms.value(node.terms[count]);
  return finite_or(first, last, sum_of_three_to_odd(last, first, second));
}

/// high + low + last, rounded to odd: docs/panels.md says why this suffices where the three are those of near_sums().
HWY_INLINE TV near_sum_to_odd(TV high, TV low, TV last) {
  const TwoSum products = fast_two_sum(high, low), all = two_sum(products.sum, last);
  return to_odd(fast_two_sum(all.sum, hn::Add(all.rest, products.rest)));
}

/// Where one double holds the products' sum, as their ranges say; all is finite.
void one_sums(const TreeWork& w, const TreeNode& node, std::size_t column) {
  const TD d;
  TV sum[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) sum[r] = zero();
  for (const int k : node.products) {
    const TV b = hn::Load(d, w.b + static_cast<std::size_t>(k) * kColumns + column);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) sum[r] = hn::MulAdd(hn::Set(d, w.a[r][k]), b, sum[r]);
  }
  Aligned sums[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    if (!node.others.empty())
      sum[r] = to_odd(two_sum(sum[r], hn::Load(d, w.values + Terms(w, r, column).at(node.others[0].at))));
    sums[r] = {sum[r], zero()};
  }
  finish(w, node, column, sums);
}

template <bool kFinite>
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
  finish(w, node, column, sums);
}

/// The largest exponents of a node's products, biased as a double's, into `fields`.
void align_products(const TreeWork& w, const TreeNode& node) {
  constexpr std::size_t kVectors = 2;
  static_assert(kColumns % (kVectors * kShortLanes) == 0);
  const TS d;
  for (std::size_t column = 0; column < kColumns; column += kVectors * kShortLanes) {
    hn::Vec<TS> most[kVectors][kTreeRows];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) most[0][r] = most[1][r] = hn::Set(d, -kBias);
    for (const int k : node.products) {
      const std::int16_t* const b = w.b_exponents + static_cast<std::size_t>(k) * kColumns + column;
      const auto b0 = hn::Load(d, b), b1 = hn::Load(d, b + kShortLanes);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) {
        const auto a = hn::Set(d, w.a_exponents[r][k]);
        most[0][r] = hn::Max(most[0][r], hn::Add(a, b0));
        most[1][r] = hn::Max(most[1][r], hn::Add(a, b1));
      }
    }
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r)
        hn::Store(hn::Add(most[v][r], hn::Set(d, kBias)), d, w.fields + r * kColumns + column + v * kShortLanes);
    }
  }
}

/// What the sums of a node that cuts products are aligned to, after align_products().
HWY_INLINE TV alignment_of_cut(const TreeWork& w, const TreeNode& node, std::size_t row, std::size_t column) {
  TV alignment = power_of_field(hn::Load(TFew(), w.fields + row * kColumns + column));
  for (const TreeTerm& t : node.others)
    alignment = hn::Max(alignment, aligning_power(*w.plan, node, Terms(w, row, column).aligned_of_place(t)));
  return with_floor(node, alignment);
}
HWY_INLINE TV unit_of_cut(const TreeNode& node, TV alignment) {
  return scaled(with_grid(alignment), -node.unit.fraction_bits);
}

// Sums of a node's products, cut toward zero, by one FMA for each while the machine rounds toward zero: docs/patches.md
// has the proof, and docs/panels.md what is different here. All operands are finite.

/// What sums begin with, into `sums`, and what they are aligned to.
void begin_cut_products(const TreeWork& w, const TreeNode& node, std::size_t number) {
  const TD d;
  const TI di;
  const std::int64_t* const b_negative = w.b_negative + number * kColumns;
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    const TVI a_negative = integer(w.a_negative[r][number]);
    for (std::size_t column = 0; column < kColumns; column += kTreeLanes) {
      const TV alignment = alignment_of_cut(w, node, r, column), grid = grid_of(unit_of_cut(node, alignment));
      const auto signs =
          hn::BitCast(hn::RebindToUnsigned<TI>(), hn::Xor(a_negative, hn::Load(di, b_negative + column)));
      const TVI begin = hn::Add(bits_of(grid), hn::BitCast(di, hn::PopulationCount(signs)));
      hn::Store(as_numbers(begin), d, w.sums + r * kColumns + column);
      hn::Store(alignment, d, w.alignments + r * kColumns + column);
    }
  }
}

/// Adds the products, while the machine rounds toward zero.
HWY_NOINLINE void sum_cut_products(const TreeWork& w, const TreeNode& node) {
  constexpr std::size_t kVectors = 2;  // with those of all rows, sums enough that none waits for itself
  static_assert(kColumns % (kVectors * kTreeLanes) == 0);
  const TD d;
  const std::size_t count = node.products.size();
  const int* const HWY_RESTRICT products = node.products.data();
  for (std::size_t column = 0; column < kColumns; column += kVectors * kTreeLanes) {
    double* const HWY_RESTRICT sums = w.sums + column;
    TV sum[kVectors][kTreeRows];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      sum[0][r] = hn::Load(d, sums + r * kColumns);
      sum[1][r] = hn::Load(d, sums + r * kColumns + kTreeLanes);
    }
    const double* const HWY_RESTRICT b_grown = w.b_grown + column;
    for (std::size_t i = 0; i < count; ++i) {
      const auto k = static_cast<std::size_t>(products[i]);
      const TV b0 = hn::Load(d, b_grown + k * kColumns), b1 = hn::Load(d, b_grown + k * kColumns + kTreeLanes);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) {
        const TV a = hn::Set(d, w.a_grown[r][k]);
        sum[0][r] = hn::MulAdd(a, b0, sum[0][r]);
        sum[1][r] = hn::MulAdd(a, b1, sum[1][r]);
      }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      hn::Store(sum[0][r], d, sums + r * kColumns);
      hn::Store(sum[1][r], d, sums + r * kColumns + kTreeLanes);
    }
  }
}

/// The rest of it, when the machine rounds to nearest again.
void finish_cut_products(const TreeWork& w, const TreeNode& node) {
  const TD d;
  for (std::size_t column = 0; column < kColumns; column += kTreeLanes) {
    Aligned sums[kTreeRows];
    TV unit[kTreeRows];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      const TV alignment = hn::Load(d, w.alignments + r * kColumns + column);
      unit[r] = unit_of_cut(node, alignment);
      sums[r] = {hn::Sub(hn::Load(d, w.sums + r * kColumns + column), grid_of(unit[r])), alignment};
    }
    for (const TreeTerm& t : node.others) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r)
        sums[r].x = hn::Add(sums[r].x, cut<Rounding::toward_zero>(Terms(w, r, column).value_of_place(t), unit[r]));
    }
    finish(w, node, column, sums);
  }
}

/// The same where operands are not finite.
void cut_products(const TreeWork& w, const TreeNode& node, std::size_t column) {
  const TD d;
  TV unit[kTreeRows], grid[kTreeRows];
  Aligned sums[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    const TV alignment = alignment_of_cut(w, node, r, column);
    unit[r] = unit_of_cut(node, alignment);
    grid[r] = grid_of(unit[r]);
    sums[r] = {zero(), alignment};
  }
  for (const int k : node.products) {
    const TV b = hn::Load(d, w.b + static_cast<std::size_t>(k) * kColumns + column), b_magnitude = hn::Abs(b);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      const TV a = hn::Set(d, w.a[r][k]), a_magnitude = hn::Abs(a);
      const TV nearest = hn::Sub(hn::MulAdd(a_magnitude, b_magnitude, grid[r]), grid[r]);
      const TMask above = hn::Lt(hn::MulSub(a_magnitude, b_magnitude, nearest), zero());
      const TV kept = hn::IfThenElse(above, hn::Sub(nearest, unit[r]), nearest);
      sums[r].x = hn::Add(sums[r].x, hn::Xor(kept, sign_of(hn::Xor(a, b))));
    }
  }
  for (const TreeTerm& t : node.others) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r)
      sums[r].x = hn::Add(sums[r].x, cut<Rounding::toward_zero>(Terms(w, r, column).value(t), unit[r]));
  }
  finish(w, node, column, sums);
}

void pair_sums(const TreeWork& w, const TreeNode& node, std::size_t column) {
  Aligned sums[kTreeRows];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    const Terms terms(w, r, column);
    const TV x = terms.value(node.terms[0]), y = terms.value(node.terms[1]);
    sums[r] = {finite_or(x, y, to_odd(two_sum(x, y))), zero()};
  }
  finish(w, node, column, sums);
}

/// Sums that are a row's own affair.
template <class Sum>
HWY_INLINE void sum_rows(const TreeWork& w, const TreeNode& node, std::size_t column, const Sum& sum) {
  Aligned sums[kTreeRows];
  for (std::size_t r = 0; r < kTreeRows; ++r) sums[r] = sum(Terms(w, r, column), r);
  finish(w, node, column, sums);
}

void run_node(const TreeWork& w, const TreeNode& node, std::size_t number, bool stays_finite) {
  if (node.sum == TreeSum::cut_products) align_products(w, node);
  if (node.sum == TreeSum::cut_products && w.are_finite) {
    begin_cut_products(w, node, number);
    {
      const MachineRoundingHere rounding(Rounding::toward_zero);
      sum_cut_products(w, node);
    }
    finish_cut_products(w, node);
    return;
  }
  if (cuts_as_the_machine(node)) return cut_results(w, node);
  for (std::size_t column = 0; column < kColumns; column += kTreeLanes) {
    switch (node.sum) {
      case TreeSum::cut_products:
        cut_products(w, node, column);
        break;
      case TreeSum::near:
        if (stays_finite && w.products_top + node.carry_bits - w.products_lowest < std::numeric_limits<double>::digits)
          one_sums(w, node, column);
        else if (stays_finite)
          near_sums<true>(w, node, column);
        else
          near_sums<false>(w, node, column);
        break;
      case TreeSum::cut:
        with_mode(node.unit.align_rounding, [&](auto mode) HWY_ATTR {
          if (node.products.empty())
            cut_sums<decltype(mode)::value, false>(w, node, column);
          else
            cut_sums<decltype(mode)::value, true>(w, node, column);
        });
        break;
      case TreeSum::exact:
        sum_rows(w, node, column,
                 [&](const Terms& terms, std::size_t) HWY_ATTR { return exact_sum(*w.plan, node, terms); });
        break;
      case TreeSum::pair:
        pair_sums(w, node, column);
        break;
      case TreeSum::far:
        sum_rows(w, node, column, [&](const Terms& terms, std::size_t r) HWY_ATTR {
          return Aligned{far_sum(node, terms, w.left[r] + column), zero()};
        });
        break;
    }
  }
}

/// Powers of two that numbers are aligned with: of their leading bits, but none below a format's smallest if that is
/// the rule for subnormal numbers, which is also what zeros have.
HWY_INLINE TV powers_of(const OperandRule& rule, TV least, bool of_zeros_too, TV x) {
  const bool minimum = rule.subnormal_exponent == SubnormalExponent::minimum;
  const TV power = minimum ? hn::Max(binade_of(x), least) : binade_of(x);
  const TV of_any = hn::IfThenElse(hn::Eq(x, zero()), of_zeros_too ? least : zero(), power);
  return hn::IfThenElseZero(is_finite(x), of_any);
}

void exponents(const OperandRule& rule, bool of_zeros_too, const double* numbers, std::size_t count, std::int16_t* to) {
  const TV least = number(std::ldexp(1.0, format(rule.format).min_exponent()));
  for (std::size_t i = 0; i < count; i += kTreeLanes) {
    double powers[kTreeLanes];
    hn::StoreU(powers_of(rule, least, of_zeros_too, hn::Load(TD(), numbers + i)), TD(), powers);
    for (std::size_t j = 0; j < kTreeLanes; ++j) {
      const auto field = static_cast<int>(std::bit_cast<std::uint64_t>(powers[j]) >> kFraction);
      to[i + j] = field == 0 ? kNoExponent16 : static_cast<std::int16_t>(field - kBias);
    }
  }
}

/// Operands that are a little larger, for sums that are cut toward zero.
void grow(const double* numbers, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; i += kTreeLanes) {
    const TV x = hn::Load(TD(), numbers + i), grown = as_numbers(hn::Or(bits_of(x), integer(1)));
    hn::Store(hn::IfThenElse(hn::Eq(x, zero()), hn::Or(number(kGrownZero), sign_of(x)), grown), TD(), to + i);
  }
}

bool are_finite(const double* numbers, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kTreeLanes) {
    if (!hn::AllTrue(TD(), is_finite(hn::Load(TD(), numbers + i)))) return false;
  }
  return true;
}

std::pair<double, double> extremes(const double* numbers, std::size_t count) {
  TV least = number(HUGE_VAL), greatest = zero();
  for (std::size_t i = 0; i < count; i += kTreeLanes) {
    const TV magnitude = hn::Abs(hn::Load(TD(), numbers + i));
    greatest = hn::Max(greatest, magnitude);
    least = hn::Min(least, hn::IfThenElse(hn::Eq(magnitude, zero()), number(HUGE_VAL), magnitude));
  }
  const double most = hn::GetLane(hn::MaxOfLanes(TD(), greatest));
  if (most == 0) return {1, 1};
  return {hn::GetLane(hn::MinOfLanes(TD(), least)), most};
}

/// Makes c ready for a link; whether all of it is below kOrdinary.
bool prepare_c(const TreeWork& w) {
  const TreePlan& plan = *w.plan;
  const TD d;
  const OperandRule rule = plan.c;
  const bool wants_powers = plan.wants_exponents, zeros_align = plan.zeros_align;
  const TV least = number(plan.least_c);
  double *const HWY_RESTRICT values = w.values, *const HWY_RESTRICT powers = w.powers;
  TMask are_ordinary = hn::Eq(zero(), zero());
  for (std::size_t i = 0; i < kTreeRows * kColumns; i += kTreeLanes) {
    TV c = hn::Load(d, values + i);
    if (rule.subnormals == Subnormals::flushed) {
      c = hn::IfThenElse(hn::Lt(hn::Abs(c), least), sign_of(c), c);
      hn::Store(c, d, values + i);
    }
    if (wants_powers) hn::Store(powers_of(rule, least, zeros_align, c), d, powers + i);
    are_ordinary = hn::And(are_ordinary, hn::Lt(hn::Abs(c), number(kOrdinary)));
  }
  return hn::AllTrue(d, are_ordinary);
}

void run(const TreeWork& w) {
  static_assert(kPlaceOfC == 0);
  const TreePlan& plan = *w.plan;
  for (std::size_t r = 0; r < kTreeRows; ++r)
    std::memcpy(w.values + r * kColumns, w.results[r], kColumns * sizeof(double));
  TreeWork at = w;
  for (std::size_t link = 0; link < w.links; ++link) {
    const bool needs_c = plan.wants_exponents || plan.stays_finite || plan.c.subnormals == Subnormals::flushed;
    const bool stays_finite = (!needs_c || prepare_c(at)) && plan.stays_finite && w.are_finite;
    for (std::size_t number = 0; number < plan.nodes.size(); ++number)
      run_node(at, plan.nodes[number], number, stays_finite);
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      at.a[r] += plan.depth;
      at.a_exponents[r] += plan.depth;
      at.a_grown[r] += plan.depth;
      at.a_negative[r] += plan.nodes.size();
    }
    at.b += plan.depth * kColumns;
    at.b_exponents += plan.depth * kColumns;
    at.b_grown += plan.depth * kColumns;
    at.b_negative += plan.nodes.size() * kColumns;
  }
  for (std::size_t r = 0; r < kTreeRows; ++r)
    std::memcpy(w.results[r], w.values + r * kColumns, kColumns * sizeof(double));
}

bool run_leaving(const TreeWork& w) {
  const TD d;
  double c[kTreeRows][kColumns];
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    std::memcpy(c[r], w.results[r], sizeof(c[r]));
    std::memset(w.left[r], 0, kColumns * sizeof(std::int64_t));
  }
  run(w);
  TMask any_left = hn::Lt(zero(), zero());
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    for (std::size_t column = 0; column < kColumns; column += kTreeLanes) {
      const TV result = hn::Load(d, w.results[r] + column);
      TVI left = hn::Load(TI(), w.left[r] + column);
      // Which NaN comes back is left to others.
      if (w.plan->nan.propagate) left = hn::Or(left, bits_of(hn::VecFromMask(d, hn::IsNaN(result))));
      const TMask is_left = hn::RebindMask(d, hn::Ne(left, hn::Zero(TI())));
      any_left = hn::Or(any_left, is_left);
      hn::Store(left, TI(), w.left[r] + column);
      hn::Store(hn::IfThenElse(is_left, hn::LoadU(d, c[r] + column), result), d, w.results[r] + column);
    }
  }
  return !hn::AllFalse(d, any_left);
}

const TreeKernels* tree_kernels_of_target() {
  static const TreeKernels kKernels = {
      hwy::TargetName(HWY_TARGET), exponents, grow, are_finite, extremes, run, run_leaving};
  return &kKernels;
}

#else

const TreeKernels* tree_kernels_of_target() { return nullptr; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcnum::panels {

HWY_EXPORT(tree_kernels_of_target);

const TreeKernels* tree_kernels() { return HWY_DYNAMIC_DISPATCH(tree_kernels_of_target)(); }

}  // namespace tcnum::panels
#endif
