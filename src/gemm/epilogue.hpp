// What a kernel does with the sum of an element: alpha, beta and C, a bias, and roundings to D's format between them.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "tcnum/gemm.hpp"

namespace tcnum {

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
