// Numbers as rationals, and what the codes of each format stand for, from the formats' own specifications (listed in
// tcnum/format.hpp, of which nothing but the formats' names is used).
#pragma once

#include <cstdint>

#include <boost/multiprecision/gmp.hpp>

#include "tcnum/format.hpp"

namespace tcnum::reference {

using Rational = boost::multiprecision::mpq_rational;
using Integer = boost::multiprecision::mpz_int;

/// 2^exponent.
Rational power_of_two(int exponent);
/// The e with 2^e ≤ |x| < 2^(e+1); x is not zero.
int leading_bit(const Rational& x);
/// The largest integer that is no larger than x.
Integer floor(const Rational& x);

/// An encoding as its specification states it.
struct Encoding {
  enum class Specials : std::uint8_t {
    infinities,     ///< IEEE 754: in the largest exponent field
    all_ones,       ///< OCP's e4m3 and e8m0: NaN is the code with all bits but the sign set
    negative_zero,  ///< fnuz: NaN is the code that negative zero would have
    none,
  };
  int sign_bits, exponent_bits, fraction_bits, bias;
  Specials specials = Specials::none;
  int padding_bits = 0;  ///< below the number; they do not matter

  bool is_integer() const { return exponent_bits == 0; }
  bool has_infinities() const { return !is_integer() && specials == Specials::infinities; }
  bool has_nan() const { return !is_integer() && specials != Specials::none; }
  int code_bits() const { return sign_bits + exponent_bits + fraction_bits; }
  /// The exponent of the smallest normal number; of integers, which are spaced like subnormal numbers, one more than
  /// that of their largest.
  int min_exponent() const { return is_integer() ? fraction_bits : 1 - bias; }
};
const Encoding& encoding(FormatId format);

/// The value of a code.
struct Value {
  enum class Kind : std::uint8_t { finite, infinite, nan };
  Kind kind = Kind::finite;
  bool negative = false;  ///< of zeros and infinities too
  Rational number = 0;    ///< if finite
};
Value value_of(FormatId format, std::uint64_t code);

/// A finite number; a zero has the sign that is given.
Value number(const Rational& x, bool sign_of_zero = false);

/// The multiple of `spacing` next to x that the mode takes.
Rational multiple(const Rational& x, const Rational& spacing, Rounding mode);
/// What a format has in the place of x: ue8m0, which has neither zero nor signs, its least number in that of these.
Value rounded(FormatId id, const Value& x, Rounding mode = Rounding::nearest_even, Overflow overflow = Overflow::ieee);

/// The code of a finite number that the format has, or of an infinity; the format is one with a sign. Throws
/// std::logic_error if it has none.
std::uint64_t code_of(FormatId format, const Value& value);

}  // namespace tcnum::reference
