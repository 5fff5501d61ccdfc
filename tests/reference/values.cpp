#include "values.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>

namespace tcnum::reference {

Rational power_of_two(int exponent) {
  const Rational power = Integer(1) << std::abs(exponent);
  return exponent < 0 ? Rational(1 / power) : power;
}

int leading_bit(const Rational& x) {
  const Rational magnitude = abs(x);
  int e = static_cast<int>(msb(numerator(magnitude))) - static_cast<int>(msb(denominator(magnitude)));
  while (magnitude < power_of_two(e)) --e;
  while (magnitude >= power_of_two(e + 1)) ++e;
  return e;
}

Integer floor(const Rational& x) {
  Integer quotient = numerator(x) / denominator(x);  // toward zero
  if (quotient > x) --quotient;
  return quotient;
}

namespace {

// clang-format off
const std::map<FormatId, Encoding> kEncodings = {
    {FormatId::fp64, {1, 11, 52, 1023, Encoding::Specials::infinities}},
    {FormatId::fp32, {1, 8, 23, 127, Encoding::Specials::infinities}},
    {FormatId::tf32, {1, 8, 10, 127, Encoding::Specials::infinities, 13}},
    {FormatId::bf16, {1, 8, 7, 127, Encoding::Specials::infinities}},
    {FormatId::fp16, {1, 5, 10, 15, Encoding::Specials::infinities}},
    {FormatId::fp8e5m2, {1, 5, 2, 15, Encoding::Specials::infinities}},
    {FormatId::fp8e4m3, {1, 4, 3, 7, Encoding::Specials::all_ones}},
    {FormatId::fp6e3m2, {1, 3, 2, 3}}, {FormatId::fp6e2m3, {1, 2, 3, 1}}, {FormatId::fp4e2m1, {1, 2, 1, 1}},
    {FormatId::ue8m0, {0, 8, 0, 127, Encoding::Specials::all_ones}},
    {FormatId::ue4m3, {0, 4, 3, 7, Encoding::Specials::all_ones}},
    {FormatId::fp8e5m2fnuz, {1, 5, 2, 16, Encoding::Specials::negative_zero}},
    {FormatId::fp8e4m3fnuz, {1, 4, 3, 8, Encoding::Specials::negative_zero}},
    {FormatId::s32, {1, 0, 31, 0}}, {FormatId::s8, {1, 0, 7, 0}}, {FormatId::u8, {0, 0, 8, 0}},
    {FormatId::s4, {1, 0, 3, 0}}, {FormatId::u4, {0, 0, 4, 0}}, {FormatId::b1, {0, 0, 1, 0}},
};
// clang-format on

}  // namespace

const Encoding& encoding(FormatId format) { return kEncodings.at(format); }

Value value_of(FormatId id, std::uint64_t code) {
  const Encoding& f = encoding(id);
  const Integer bits = (Integer(code) >> f.padding_bits) % (Integer(1) << f.code_bits());
  const Integer sign_weight = Integer(1) << (f.exponent_bits + f.fraction_bits);
  const bool sign = bits >= sign_weight;
  const Integer magnitude = sign ? Integer(bits - sign_weight) : bits;
  if (f.is_integer()) {  // the sign bit's weight is negative
    const Integer value = sign ? Integer(magnitude - sign_weight) : magnitude;
    return {Value::Kind::finite, sign, value};
  }
  const Integer spacing = Integer(1) << f.fraction_bits;  // codes from one exponent field to the next
  const int field = static_cast<int>(magnitude / spacing);
  const Rational fraction = Rational(magnitude % spacing, spacing);
  using enum Encoding::Specials;
  const bool top = field == (1 << f.exponent_bits) - 1;
  if (f.specials == infinities && top) return {fraction == 0 ? Value::Kind::infinite : Value::Kind::nan, sign};
  if (f.specials == all_ones && magnitude == sign_weight - 1) return {Value::Kind::nan, sign};
  if (f.specials == negative_zero && sign && magnitude == 0) return {Value::Kind::nan, false};
  Rational number;
  if (id == FormatId::ue8m0) {
    number = power_of_two(field - f.bias);  // every field, also 0: there are neither zeros nor subnormals
  } else if (field == 0) {
    number = fraction * power_of_two(1 - f.bias);
  } else {
    number = (1 + fraction) * power_of_two(field - f.bias);
  }
  return {Value::Kind::finite, sign, sign ? Rational(-number) : number};
}

Value number(const Rational& x, bool sign_of_zero) { return {Value::Kind::finite, x == 0 ? sign_of_zero : x < 0, x}; }

Rational multiple(const Rational& x, const Rational& spacing, Rounding mode) {
  const Integer below = floor(x / spacing);
  const Rational lower = below * spacing, upper = lower + spacing;
  if (lower == x) return x;
  const bool is_upper_outer = x > 0;
  const Rational to_lower = x - lower, to_upper = upper - x;
  switch (mode) {
    case Rounding::toward_zero:
      return is_upper_outer ? lower : upper;
    case Rounding::down:
      return lower;
    case Rounding::up:
      return upper;
    case Rounding::nearest_even:
      if (to_lower == to_upper) return below % 2 == 0 ? lower : upper;
      break;
    case Rounding::nearest_away:
      if (to_lower == to_upper) return is_upper_outer ? upper : lower;
      break;
  }
  return to_lower < to_upper ? lower : upper;
}

namespace {

/// Of a format's numbers of one sign.
Rational largest(FormatId id, bool negative) {
  const Encoding& f = encoding(id);
  const std::uint64_t ones = (std::uint64_t{1} << (f.exponent_bits + f.fraction_bits)) - 1;
  const std::uint64_t beyond = f.has_infinities()                           ? std::uint64_t{1} << f.fraction_bits
                               : f.specials == Encoding::Specials::all_ones ? 1
                                                                            : 0;
  return value_of(id, (ones - beyond) << f.padding_bits).number + (f.is_integer() && negative ? 1 : 0);
}

/// What is beyond the format's largest number.
Value beyond(FormatId id, bool negative, Rounding mode, Overflow overflow) {
  const Encoding& f = encoding(id);
  const bool inwards = mode == Rounding::toward_zero || mode == (negative ? Rounding::up : Rounding::down);
  const bool stays = f.is_integer() || overflow == Overflow::max_finite || (overflow == Overflow::ieee && inwards);
  if (!stays && f.has_infinities()) return {Value::Kind::infinite, negative};
  if (!stays && f.has_nan()) return {Value::Kind::nan};
  return number(negative ? Rational(-largest(id, true)) : largest(id, false));
}

}  // namespace

Value rounded(FormatId id, const Value& x, Rounding mode, Overflow overflow) {
  const Encoding& f = encoding(id);
  const int least_exponent = id == FormatId::ue8m0 ? -f.bias : f.min_exponent();
  const Rational nothing = id == FormatId::ue8m0 ? power_of_two(least_exponent) : Rational(0);
  if (x.kind == Value::Kind::nan) return x;
  if (x.negative && f.sign_bits == 0) return number(nothing);
  // Infinities are beyond all, whatever the rounding.
  if (x.kind == Value::Kind::infinite) return beyond(id, x.negative, Rounding::nearest_even, overflow);
  const bool has_negative_zero = !f.is_integer() && f.specials != Encoding::Specials::negative_zero;
  if (x.number == 0) return number(nothing, x.negative && has_negative_zero);
  const int exponent = f.is_integer() ? f.fraction_bits : std::max(leading_bit(x.number), least_exponent);
  const Rational y = multiple(x.number, power_of_two(exponent - f.fraction_bits), mode);
  if (abs(y) > largest(id, x.negative)) return beyond(id, x.negative, mode, overflow);
  return number(y == 0 ? nothing : y, x.negative && has_negative_zero);
}

std::uint64_t code_of(FormatId id, const Value& value) {
  const Encoding& f = encoding(id);
  const std::uint64_t half = std::uint64_t{1} << (f.code_bits() - 1);
  const Rational magnitude = abs(value.number);
  // Ascending codes without a sign have ascending values, infinity above all numbers and NaNs above infinity.
  const auto reaches = [&](std::uint64_t code) {
    const Value v = value_of(id, code << f.padding_bits);
    if (v.kind == Value::Kind::finite) return value.kind == Value::Kind::finite && v.number >= magnitude;
    return true;
  };
  std::uint64_t low = 0, high = half - 1;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (reaches(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  std::uint64_t code = low;
  if (f.is_integer()) {
    if (value.negative && magnitude > 0) code = magnitude == half ? half : 2 * half - low;
  } else if (value.negative) {
    code |= half;
  }
  code <<= f.padding_bits;
  const Value found = value_of(id, code);
  if (found.kind != value.kind || found.number != value.number) throw std::logic_error("not a number of the format");
  return code;
}

}  // namespace tcnum::reference
