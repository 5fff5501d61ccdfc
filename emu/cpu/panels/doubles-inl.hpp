// Vectors of doubles: cut, rounded, and added without loss.
// Compiled once for each CPU, as the kernels that include this are.
#if defined(TCNUM_DOUBLES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_DOUBLES_INL
#undef TCNUM_DOUBLES_INL
#else
#define TCNUM_DOUBLES_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "operands.hpp"
#include "tcnum/rounding.hpp"

#include "has_fma-inl.hpp"

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
inline constexpr std::size_t kDoubleLanes = hn::MaxLanes(TD());

/// Of a double: the bits of its fraction, and those of its exponent.
inline constexpr int kFraction = 52;
inline constexpr std::int64_t kExponentBits = std::int64_t{0x7ff} << kFraction;
/// Powers that grids come from stay within these; beyond are those of zeros and infinities alone, where grids do not
/// matter.
inline constexpr int kLeastGridExponent = -500;
inline constexpr double kLeastGrid = 0x1p-500, kMostGrid = 0x1p900;

HWY_INLINE TV zero() { return hn::Zero(TD()); }
HWY_INLINE TV number(double x) { return hn::Set(TD(), x); }
HWY_INLINE TVI integer(std::int64_t x) { return hn::Set(TI(), x); }
HWY_INLINE TV as_numbers(TVI bits) { return hn::BitCast(TD(), bits); }
HWY_INLINE TVI bits_of(TV x) { return hn::BitCast(TI(), x); }
HWY_INLINE TV sign_of(TV x) { return hn::And(x, number(-0.0)); }
HWY_INLINE TMask is_negative(TV x) { return hn::RebindMask(TD(), hn::Lt(bits_of(x), hn::Zero(TI()))); }
HWY_INLINE TMask is_finite(TV x) { return hn::Lt(hn::Abs(x), number(HUGE_VAL)); }
/// Zero, or of a magnitude from `least` on and below one over it.
HWY_INLINE TMask is_within(TV x, double least) {
  const TV magnitude = hn::Abs(x);
  const TMask is_between = hn::And(hn::Ge(magnitude, number(least)), hn::Lt(magnitude, number(1 / least)));
  return hn::Or(is_between, hn::Eq(x, zero()));
}
/// 2^the exponent of a number's leading bit.
HWY_INLINE TV binade_of(TV x) { return hn::And(x, as_numbers(integer(kExponentBits))); }
/// 2^e · 2^more.
HWY_INLINE TV scaled(TV power_of_two, int more) {
  return as_numbers(hn::Add(bits_of(power_of_two), integer(static_cast<std::int64_t>(more) << kFraction)));
}
HWY_INLINE TV with_grid(TV power) { return hn::Max(power, number(kLeastGrid)); }
/// 1.5 · 2^52 units: adding it rounds to a multiple of the unit, and taking it away again is exact. The unit is the
/// last of so many fraction bits below a power of two.
HWY_INLINE TV grid_of(TV power_of_two, int fraction_bits = 0) {
  constexpr std::int64_t kHalf = std::int64_t{1} << (kFraction - 1);
  const std::int64_t up = static_cast<std::int64_t>(kFraction - fraction_bits) << kFraction;
  return as_numbers(hn::Add(bits_of(power_of_two), integer(up + kHalf)));
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

/// x cut to a unit of which it may have any number: what a coarser grid keeps of it is left alone. The unit is 2^-940
/// at least.
template <Rounding kMode>
HWY_INLINE TV cut_any(TV x, TV unit) {
  constexpr int kCoarse = 20, kMost = 60;  // a double of 2^53 units or more has no bits below
  constexpr bool kOfMagnitudes = kMode == Rounding::toward_zero || kMode == Rounding::nearest_away;
  const TV of = kOfMagnitudes ? hn::Abs(x) : x, grid = grid_of(scaled(unit, kCoarse));
  const TV high = hn::Sub(hn::Add(of, grid), grid), low = hn::Sub(of, high);
  TV kept;
  if constexpr (kMode == Rounding::nearest_away) {
    // The nearest, and of two the larger one, whatever the sign of what is cut is.
    const TV even = cut<Rounding::nearest_even>(low, unit), half = hn::Mul(unit, number(0.5));
    kept = hn::IfThenElse(hn::Eq(hn::Sub(low, even), half), hn::Add(even, unit), even);
  } else {
    constexpr Rounding kOfRest = kMode == Rounding::toward_zero ? Rounding::down : kMode;
    kept = cut<kOfRest>(low, unit);
  }
  const TV sum = hn::Add(high, kept), with_sign = kOfMagnitudes ? hn::Or(sum, sign_of(x)) : sum;
  return hn::IfThenElse(hn::Lt(hn::Abs(x), scaled(unit, kMost)), with_sign, x);
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

/// What a number other than zero is aligned with by itself.
HWY_INLINE TV power_of(TV x, TV least) { return hn::Min(hn::Max(binade_of(x), least), number(kMostGrid)); }

/// As fp32, rounded to nearest.
HWY_INLINE TV to_single(TV x) {
  const hn::Rebind<float, TD> narrow;
  return hn::PromoteTo(TD(), hn::DemoteTo(narrow, x));
}

/// A normal number, a zero or an infinity rounded to so many bits below its leading one: a double's bits are evenly
/// spaced within a binade, and go on with the next.
template <Rounding kMode>
HWY_INLINE TV rounded_bits(int fraction_bits, TV x) {
  const int dropped = kFraction - fraction_bits;
  const std::int64_t unit = std::int64_t{1} << dropped;
  const TVI bits = bits_of(x), kept = integer(-unit), rest = integer(unit - 1), half = integer(unit / 2);
  switch (kMode) {
    case Rounding::toward_zero:
      return as_numbers(hn::And(bits, kept));
    case Rounding::down:
      return as_numbers(hn::And(hn::Add(bits, hn::And(hn::BroadcastSignBit(bits), rest)), kept));
    case Rounding::up:
      return as_numbers(hn::And(hn::Add(bits, hn::AndNot(hn::BroadcastSignBit(bits), rest)), kept));
    case Rounding::nearest_away:
      return as_numbers(hn::And(hn::Add(bits, half), kept));
    case Rounding::nearest_even: {
      // Shifted without a sign, as not all machines do it with one.
      const auto down = hn::ShiftRightSame(hn::BitCast(hn::RebindToUnsigned<TI>(), bits), dropped);
      const TVI last = hn::And(hn::BitCast(TI(), down), integer(1));
      return as_numbers(hn::And(hn::Add(bits, hn::Add(last, integer(unit / 2 - 1))), kept));
    }
  }
  return x;
}

/// The same rounded down and then to nearest even. What the first leaves out may stay, where less of it than one of its
/// units tells no tie.
HWY_INLINE TV rounded_down_and_even(int down_bits, int bits, TV x) {
  if (down_bits <= bits) return rounded_bits<Rounding::down>(down_bits, x);
  const std::int64_t unit = std::int64_t{1} << (kFraction - bits), first = std::int64_t{1} << (kFraction - down_bits);
  const TVI of_x = bits_of(x);
  const TVI down = hn::Add(of_x, hn::And(hn::BroadcastSignBit(of_x), integer(first - 1)));
  const auto moved = hn::ShiftRightSame(hn::BitCast(hn::RebindToUnsigned<TI>(), down), down_bits - bits);
  const TVI if_odd = hn::And(hn::BitCast(TI(), moved), integer(first));
  return as_numbers(hn::And(hn::Add(hn::Add(down, integer(unit / 2 - first)), if_odd), integer(-unit)));
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

/// A sum with something left over, rounded down or up.
template <Rounding kEnd>
HWY_INLINE TV to_end(const TwoSum& s) {
  static_assert(kEnd == Rounding::down || kEnd == Rounding::up);
  constexpr bool kDown = kEnd == Rounding::down;
  const TMask is_beyond = kDown ? hn::Lt(s.rest, zero()) : hn::Lt(zero(), s.rest);         // no NaN
  const TVI bits = bits_of(s.sum), away = hn::Or(hn::BroadcastSignBit(bits), integer(1));  // from zero, if it is added
  return hn::IfThenElse(is_beyond, as_numbers(kDown ? hn::Sub(bits, away) : hn::Add(bits, away)), s.sum);
}
/// The same rounded in any way, to all bits of a double; the sum was rounded to nearest.
template <Rounding kMode>
HWY_INLINE TV to_double(const TwoSum& s) {
  switch (kMode) {
    case Rounding::nearest_even:
      return s.sum;
    case Rounding::toward_zero:
      return hn::IfThenElse(is_negative(s.sum), to_end<Rounding::up>(s), to_end<Rounding::down>(s));
    case Rounding::down:
      return to_end<Rounding::down>(s);
    case Rounding::up:
      return to_end<Rounding::up>(s);
    case Rounding::nearest_away: {
      // A tie that was rounded to even, and that toward zero.
      const TV next = as_numbers(hn::Add(bits_of(s.sum), integer(1)));
      const TMask is_tie = hn::Eq(s.rest, hn::Mul(hn::Sub(next, s.sum), number(0.5)));
      return hn::IfThenElse(hn::And(is_tie, hn::Ne(s.rest, zero())), next, s.sum);
    }
  }
  return s.sum;
}
/// x + y, rounded down or up.
template <Rounding kEnd>
HWY_INLINE TV sum_to_end(TV x, TV y) {
#if TCNUM_ROUNDS_EACH
  constexpr int kTo = kEnd == Rounding::down ? _MM_FROUND_TO_NEG_INF : _MM_FROUND_TO_POS_INF;
  return TV{_mm512_add_round_pd(x.raw, y.raw, kTo | _MM_FROUND_NO_EXC)};
#else
  return to_end<kEnd>(two_sum(x, y));
#endif
}
/// x + y to odd, both finite.
HWY_INLINE TV sum_to_odd(TV x, TV y) {
#if TCNUM_ROUNDS_EACH
  // Rounded down and up it is the same where it is exact, and elsewhere one of two neighbours, of which one is odd.
  const TV down = sum_to_end<Rounding::down>(x, y), up = sum_to_end<Rounding::up>(x, y);
  return hn::IfThenElse(hn::RebindMask(TD(), hn::TestBit(bits_of(down), integer(1))), down, up);
#else
  return to_odd(two_sum(x, y));
#endif
}

/// x + y + z: a sum, and what is left over to odd, so that what both are rounded to is what the three would be. S.
/// Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd",
/// IEEE Trans. Computers 57 (2008).
HWY_INLINE TwoSum sum_of_three(TV x, TV y, TV z) {
  const TwoSum low = two_sum(y, z), high = two_sum(x, low.sum);
  return {high.sum, sum_to_odd(high.rest, low.rest)};
}
HWY_INLINE TV sum_of_three_to_odd(TV x, TV y, TV z) {
  const TwoSum all = sum_of_three(x, y, z);
  return sum_to_odd(all.sum, all.rest);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
