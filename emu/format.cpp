#include "tcnum/format.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "bit_width.hpp"

namespace tcnum {
namespace {

using detail::low_mask;

std::uint64_t with_sign(const Format& f, bool negative, std::uint64_t magnitude_code) {
  return (f.has_sign && negative) ? magnitude_code | (std::uint64_t{1} << (f.storage_bits - 1)) : magnitude_code;
}

/// magnitude · 2^-shift rounded to an integer; `sticky` as for encode. A negative shift is exact and must keep the
/// result below 2^128.
uint128 round_shift(uint128 magnitude, int shift, bool sticky, bool negative, Rounding mode) {
  if (shift <= 0) {
    const bool nearest = mode == Rounding::nearest_even || mode == Rounding::nearest_away;
    if (sticky && (shift < 0 || nearest)) {
      throw std::logic_error("encode: the sticky amount is too large to know the rounded result");
    }
    if (magnitude == 0) return rounds_away(mode, negative, false, false, sticky) ? 1 : 0;
    const uint128 kept = magnitude << -shift;
    return kept + (rounds_away(mode, negative, kept & 1, false, sticky) ? 1 : 0);
  }
  if (shift > 128) return rounds_away(mode, negative, false, false, sticky || magnitude != 0) ? 1 : 0;
  const uint128 kept = shift == 128 ? 0 : magnitude >> shift;
  const bool half = (magnitude >> (shift - 1)) & 1;
  const bool rest = sticky || (magnitude & ((uint128{1} << (shift - 1)) - 1)) != 0;
  return kept + (rounds_away(mode, negative, kept & 1, half, rest) ? 1 : 0);
}

std::uint64_t encode_integer(const Format& f, bool negative, uint128 magnitude, int exponent, bool sticky,
                             Rounding mode) {
  const uint128 largest = low_mask(f.fraction_bits) + ((f.has_sign && negative) ? 1 : 0);
  uint128 rounded = largest;  // of what is larger anyway
  if (magnitude == 0 || bit_width(magnitude) + exponent <= 64) {
    rounded = std::min(largest, round_shift(magnitude, -exponent, sticky, negative, mode));
  }
  if (!negative) return static_cast<std::uint64_t>(rounded);
  if (!f.has_sign) return 0;
  return (~static_cast<std::uint64_t>(rounded) + 1) & f.code_mask();
}

std::uint64_t overflow_code(const Format& f, bool negative, Rounding mode, Overflow overflow) {
  const bool to_infinity =
      overflow == Overflow::infinity || (overflow == Overflow::ieee && mode != Rounding::toward_zero &&
                                         mode != (negative ? Rounding::up : Rounding::down));
  if (!to_infinity) return max_finite_code(f, negative);
  if (f.has_infinity()) return infinity_code(f, negative);
  if (f.non_finite == NonFinite::none) return max_finite_code(f, negative);
  return f.non_finite == NonFinite::nan_all_ones ? with_sign(f, negative, nan_code(f)) : nan_code(f);
}

}  // namespace

std::optional<std::uint64_t> parse_code(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  const char* const end = text.data() + text.size();
  std::uint64_t code = 0;
  const auto [stop, error] = std::from_chars(text.data() + 2, end, code, 16);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return code;
}

std::optional<FormatId> find_format(std::string_view text) {
  for (const Format& f : kFormats) {
    // AMD's fp8 and bf8 are the fnuz formats on gfx942 and OCP's on gfx950: alone they name no format.
    const bool is_amds = f.non_finite == NonFinite::nan_negative_zero;
    if (f.name == text || (f.ptx == text && !is_amds)) return f.id;
  }
  return std::nullopt;
}

std::uint64_t encode(const Format& f, bool negative, uint128 magnitude, int exponent, bool sticky, Rounding mode,
                     Overflow overflow) {
  if (!f.floating) return encode_integer(f, negative, magnitude, exponent, sticky, mode);
  if (negative && !f.has_sign) return zero_code(f, false);
  if (magnitude == 0 && !sticky) return zero_code(f, negative);

  const bool has_subnormals = f.id != FormatId::ue8m0;
  const int smallest = has_subnormals ? f.min_exponent() : f.min_exponent() - 1;
  int leading = magnitude == 0 ? smallest : bit_width(magnitude) - 1 + exponent;
  if (leading > f.max_exponent()) return overflow_code(f, negative, mode, overflow);
  if (leading < smallest) leading = smallest;
  // The result is a whole number of units of 2^(leading − fraction_bits).
  const int shift = leading - f.fraction_bits - exponent;
  uint128 units = round_shift(magnitude, shift, sticky, negative, mode);
  if (units >> (f.fraction_bits + 1) != 0) {  // rounded up to the next power of two
    units >>= 1;
    ++leading;
    if (leading > f.max_exponent()) return overflow_code(f, negative, mode, overflow);
  }
  auto significand = static_cast<std::uint64_t>(units);
  if (!has_subnormals) {
    if (significand == 0) significand = 1;  // no zero: the smallest number
    return static_cast<std::uint64_t>(leading + f.bias);
  }
  const std::uint64_t hidden = std::uint64_t{1} << f.fraction_bits;
  const bool normal = (significand & hidden) != 0;
  const std::uint64_t field = normal ? static_cast<std::uint64_t>(leading + f.bias) : 0;
  const std::uint64_t fraction = significand & (hidden - 1);
  if (f.non_finite == NonFinite::nan_all_ones && field == low_mask(f.exponent_bits) && fraction == hidden - 1) {
    return overflow_code(f, negative, mode, overflow);
  }
  const std::uint64_t code = ((field << f.fraction_bits) | fraction) << f.padding_bits;
  if (code == 0) return zero_code(f, negative);
  return with_sign(f, negative, code);
}

std::uint64_t zero_code(const Format& f, bool negative) {
  if (!f.floating || f.non_finite == NonFinite::nan_negative_zero || f.id == FormatId::ue8m0) return 0;
  return with_sign(f, negative, 0);
}

std::uint64_t infinity_code(const Format& f, bool negative) {
  if (!f.has_infinity()) throw std::logic_error("infinity_code: the format has no infinity");
  return with_sign(f, negative, low_mask(f.exponent_bits) << (f.fraction_bits + f.padding_bits));
}

std::uint64_t max_finite_code(const Format& f, bool negative) {
  if (!f.floating) {
    if (!negative) return low_mask(f.fraction_bits);
    return f.has_sign ? std::uint64_t{1} << f.fraction_bits : 0;
  }
  const std::uint64_t all_ones = low_mask(f.exponent_bits + f.fraction_bits);
  std::uint64_t code = all_ones;
  if (f.non_finite == NonFinite::ieee) {
    code = ((low_mask(f.exponent_bits) - 1) << f.fraction_bits) | low_mask(f.fraction_bits);
  } else if (f.non_finite == NonFinite::nan_all_ones) {
    code = all_ones - 1;
  }
  return with_sign(f, negative, code << f.padding_bits);
}

std::uint64_t nan_code(const Format& f) {
  switch (f.non_finite) {
    case NonFinite::ieee:
      return (low_mask(f.exponent_bits) << f.fraction_bits | std::uint64_t{1} << (f.fraction_bits - 1))
             << f.padding_bits;
    case NonFinite::nan_all_ones:
      return low_mask(f.exponent_bits + f.fraction_bits);
    case NonFinite::nan_negative_zero:
      return std::uint64_t{1} << (f.storage_bits - 1);
    case NonFinite::none:
      break;
  }
  throw std::logic_error("nan_code: the format has no NaN");
}

}  // namespace tcnum
