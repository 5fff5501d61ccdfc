#include "casts.hpp"

#include <bit>
#include <cmath>

#include "tcnum/format.hpp"

namespace tcnum::bench {
namespace {

constexpr const Format& kCast = format(FormatId::fp8e4m3);

std::uint64_t cast_code(float number) {
  constexpr const Format& kFrom = format(FormatId::fp32);
  const Decoded d = decode(kFrom, std::bit_cast<std::uint32_t>(number));
  switch (d.number_class) {
    case NumberClass::nan:
      return nan_code(kCast);
    case NumberClass::infinity:
      return max_finite_code(kCast, d.negative);
    case NumberClass::zero:
      return zero_code(kCast, d.negative);
    case NumberClass::subnormal:
    case NumberClass::normal:
      break;
  }
  return encode(kCast, d.negative, d.significand, d.exponent - kFrom.fraction_bits, false, Rounding::nearest_even,
                Overflow::max_finite);
}

}  // namespace

float number_of_bf16(std::uint16_t code) { return std::bit_cast<float>(std::uint32_t{code} << 16); }

CastTable::CastTable(float scale) : codes_(std::make_unique<std::array<std::uint8_t, kCodes>>()) {
  for (std::size_t code = 0; code < kCodes; ++code) {
    (*codes_)[code] = static_cast<std::uint8_t>(cast_code(number_of_bf16(static_cast<std::uint16_t>(code)) * scale));
  }
}

float scale_for(float amax) {
  if (!std::isfinite(amax) || amax <= 0) return 1;
  constexpr float kLargest = 448;  // of fp8e4m3
  const float scale = std::ldexp(1.0F, std::ilogb(kLargest / amax));
  if (!std::isfinite(scale)) return 1;
  return amax * scale > kLargest ? scale / 2 : scale;  // where the quotient was rounded up
}

}  // namespace tcnum::bench
