#include "values.hpp"

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
