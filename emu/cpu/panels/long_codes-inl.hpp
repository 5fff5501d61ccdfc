// Codes of any format, taken apart side by side in vectors.
// Compiled once for each CPU, as long_kernels.cpp is, which includes this.
#if defined(TCNUM_LONG_CODES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_LONG_CODES_INL
#undef TCNUM_LONG_CODES_INL
#else
#define TCNUM_LONG_CODES_INL
#endif

#include "long_integers-inl.hpp"
#include "tcnum/datapath.hpp"

#include "has_fma-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

/// A code taken apart.
struct LongOperand {
  LV significand, negative;
  LVI last, exponent;
  LMask special, infinite;  ///< special: or NaN
};

HWY_INLINE LongOperand take_apart(const OperandRule& rule, LV code) {
  const Format& f = format(rule.format);
  LongOperand x;
  code = hn::And(code, word(f.code_mask()));
  const std::uint64_t sign = f.has_sign ? std::uint64_t{1} << (f.storage_bits - 1) : 0;
  const LMask is_negative = hn::Ne(hn::And(code, word(sign)), word(0));
  x.negative = ones(is_negative);
  if (!f.floating) {
    x.significand = hn::IfThenElse(is_negative, hn::And(hn::Sub(word(0), code), word(f.code_mask())), code);
    x.last = count(0);
    x.exponent = count(f.fraction_bits);
    x.special = x.infinite = none();
    return x;
  }
  const LV magnitude = hn::ShiftRightSame(hn::AndNot(word(sign), code), f.padding_bits);
  const std::uint64_t hidden = std::uint64_t{1} << f.fraction_bits;
  const LV field = hn::ShiftRightSame(magnitude, f.fraction_bits), fraction = hn::And(magnitude, word(hidden - 1));
  x.special = hn::Not(hn::Lt(magnitude, word(f.first_non_finite())));
  if (f.non_finite == NonFinite::nan_negative_zero) x.special = hn::Eq(code, word(sign));
  x.infinite = f.has_infinity() ? hn::Eq(magnitude, word(f.first_non_finite())) : none();
  if (f.id == FormatId::ue8m0) {
    x.significand = word(1);
    x.last = x.exponent = hn::Sub(as_counts(field), count(f.bias));
    return x;
  }
  const LMask is_small = hn::Eq(field, word(0));
  x.significand = hn::IfThenElse(is_small, fraction, hn::Or(fraction, word(hidden)));
  x.exponent = hn::Sub(larger(as_counts(field), count(1)), count(f.bias));
  x.last = hn::Sub(x.exponent, count(f.fraction_bits));
  if (rule.subnormals == Subnormals::flushed) {
    x.significand = hn::IfThenZeroElse(is_small, x.significand);
  } else if (rule.subnormal_exponent == SubnormalExponent::normalised) {
    const LMask is_subnormal = hn::And(is_small, hn::Ne(fraction, word(0)));
    const LVI own = hn::Add(hn::Sub(width(long_of<2>(fraction)), count(1)), x.last);
    x.exponent = chosen(is_subnormal, own, x.exponent);
  }
  return x;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
