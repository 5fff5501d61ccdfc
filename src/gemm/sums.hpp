// The numbers between a kernel's instructions and its results: fp32, fp64 or 32-bit integers of the machine's own.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tcnum/datapath.hpp"
#include "tcnum/format.hpp"

namespace tcnum {

/// A code's number. fp32 and fp64 come as they are; all others are exact.
inline double number_of(const Format& f, std::uint64_t code) {
  if (f.id == FormatId::fp64) return std::bit_cast<double>(code);
  if (f.id == FormatId::fp32) return std::bit_cast<float>(static_cast<std::uint32_t>(code));
  const Decoded x = decode(f, code);
  double magnitude = std::ldexp(static_cast<double>(x.significand), x.exponent - f.fraction_bits);
  if (x.number_class == NumberClass::infinity) magnitude = std::numeric_limits<double>::infinity();
  if (x.number_class == NumberClass::nan) magnitude = std::numeric_limits<double>::quiet_NaN();
  return x.negative ? -magnitude : magnitude;
}

/// The NaNs of conversions and of the epilogue: as the instruction's, of which NVIDIA's have all bits set but the sign.
inline std::uint64_t nan_of(const Datapath& datapath, FormatId of) {
  const Format& f = format(of);
  if (f.non_finite == NonFinite::none) return 0;
  const Format& result = format(datapath.numerics.result);
  const auto all_but_sign = [](const Format& x) { return x.code_mask() >> (x.has_sign ? 1 : 0); };
  const bool all_set = !result.floating || datapath.numerics.nan.code == all_but_sign(result);
  return all_set && f.non_finite != NonFinite::nan_negative_zero ? all_but_sign(f) : nan_code(f);
}

/// How numbers become a format's codes.
struct OutputRule {
  FormatId format = FormatId::fp32;
  Rounding rounding = Rounding::nearest_even;
  Overflow overflow = Overflow::ieee;
  std::uint64_t nan = 0;  ///< code of all NaNs
};

inline std::uint64_t code_of(const OutputRule& rule, double number) {
  const Format& f = format(rule.format);
  if (std::isnan(number)) return rule.nan;
  if (std::isinf(number)) {
    if (f.has_infinity() && rule.overflow != Overflow::max_finite) return infinity_code(f, number < 0);
    const int beyond_all = format(FormatId::fp64).max_exponent() + 1;
    return encode(f, number < 0, 1, beyond_all, false, Rounding::nearest_even, rule.overflow);
  }
  const auto bits = std::bit_cast<std::uint64_t>(number);
  const Decoded x = decode(format(FormatId::fp64), bits);
  if (x.significand == 0) return zero_code(f, x.negative);
  return encode(f, x.negative, x.significand, x.exponent - format(FormatId::fp64).fraction_bits, false, rule.rounding,
                rule.overflow);
}

/// The same, and back to a number of the format.
template <class Sum>
Sum rounded_to(const OutputRule& rule, Sum number) {
  return static_cast<Sum>(number_of(format(rule.format), code_of(rule, static_cast<double>(number))));
}

}  // namespace tcnum
