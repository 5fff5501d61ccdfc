// The numbers between a kernel's instructions and its results: fp32, fp64 or 32-bit integers of the machine's own.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "tcnum/datapath.hpp"
#include "tcnum/format.hpp"
#include "tcnum/gemm.hpp"

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

// --- What a kernel does with the sum of an element: alpha, beta and C, a bias, and roundings to D's format between
// them.

// IEEE 754's operations, and those of integers modulo 2^32.

template <class Number>
Number sum_of(Number x, Number y) {
  if constexpr (std::is_floating_point_v<Number>)
    return x + y;
  else
    return static_cast<Number>(static_cast<std::uint32_t>(x) + static_cast<std::uint32_t>(y));
}
template <class Number>
Number product_of(Number x, Number y) {
  if constexpr (std::is_floating_point_v<Number>)
    return x * y;
  else
    return static_cast<Number>(static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(y));
}
/// x · y + z, rounded once.
template <class Number>
Number fused_of(Number x, Number y, Number z) {
  if constexpr (std::is_floating_point_v<Number>)
    return std::fma(x, y, z);
  else
    return sum_of(product_of(x, y), z);
}

/// What comes to an element's sum, in the epilogue's format. None: it is not there.
template <class Number>
struct EpilogueTerms {
  Number alpha{1}, beta{1};
  std::optional<Number> c = {}, bias = {};
};

/// The result, before it is rounded to D's format, to which `rounded` rounds in between. An alpha that an operand has
/// taken is 1 here.
template <class Number, class Round>
Number with_epilogue(const Epilogue& rule, Number sum, const EpilogueTerms<Number>& given, const Round& rounded) {
  EpilogueTerms<Number> terms = given;
  bool bias_on_result = rule.bias == BiasPlace::on_result;
  if (rule.bias == BiasPlace::as_c && terms.bias) {
    bias_on_result = terms.c.has_value();
    if (!bias_on_result) {
      terms.c.swap(terms.bias);
      terms.beta = 1;
    }
  }
  const bool has_c = terms.c && rule.beta != BetaPlace::on_result;
  const bool fuses_alpha = rule.alpha == AlphaPlace::fused, fuses_beta = !fuses_alpha && rule.beta == BetaPlace::fused;

  // What is added to alpha · sum.
  std::optional<Number> addend;
  if (rule.bias == BiasPlace::first) addend = terms.bias;
  if (has_c && !fuses_beta) {
    const Number scaled = product_of(terms.beta, *terms.c);
    addend = addend ? sum_of(scaled, *addend) : scaled;
  }
  Number result;
  if (fuses_alpha && addend) {
    result = fused_of(terms.alpha, sum, *addend);
  } else {
    result = product_of(terms.alpha, sum);
    if (has_c && fuses_beta) result = fused_of(terms.beta, *terms.c, result);
    if (addend) result = sum_of(result, *addend);
  }
  if (rule.bias == BiasPlace::last && terms.bias) result = sum_of(result, *terms.bias);
  if (bias_on_result && terms.bias) result = sum_of(rounded(result), *terms.bias);
  if (rule.beta == BetaPlace::on_result && terms.c) result = sum_of(rounded(result), product_of(terms.beta, *terms.c));
  return result;
}

}  // namespace tcnum
