// The codes of single numbers of a stream, given their random words.
#pragma once

#include "emu/integers.hpp"
#include "frame.hpp"
#include "random_words.hpp"

namespace tcnum::stream {

TCNUM_HOST_DEVICE inline std::uint64_t sign_bit(const Format& f) { return std::uint64_t{1} << (f.storage_bits - 1); }

TCNUM_HOST_DEVICE inline std::uint64_t signed_zero(const Format& f, bool negative) {
  return negative && f.floating && f.non_finite != NonFinite::nan_negative_zero ? sign_bit(f) : 0;
}

/// The code, or a finite one beside it.
TCNUM_HOST_DEVICE inline std::uint64_t finite(const Format& f, std::uint64_t code) {
  if (decode(f, code).is_finite()) return code;
  if (f.non_finite == NonFinite::nan_negative_zero) return 0;
  return code & ~(std::uint64_t{1} << (f.fraction_bits + f.padding_bits));  // the exponent's last bit
}

/// ±(1 + fraction · 2^-fraction_bits) · 2^exponent, cut where it is subnormal; bits that the format has not are
/// `padding`. U holds a code.
template <class U>
TCNUM_HOST_DEVICE std::uint64_t assemble(const Format& f, bool negative, int exponent, U fraction, U padding) {
  const U one = U{1} << f.fraction_bits;
  U units = one | fraction, field = 0;
  if (exponent > f.max_exponent()) exponent = f.max_exponent();
  if (exponent >= f.min_exponent()) {
    field = static_cast<U>(exponent + f.bias);
  } else {
    const int down = f.min_exponent() - exponent;
    units = down > f.fraction_bits ? 0 : units >> down;
  }
  const U magnitude = (field << f.fraction_bits) | (units & (one - 1));
  if (magnitude == 0) return signed_zero(f, negative);
  const U code = (negative ? U{1} << (f.storage_bits - 1) : 0) | magnitude << f.padding_bits |
                 (padding & ((U{1} << f.padding_bits) - 1));
  return exponent < f.max_exponent() ? code : finite(f, code);
}

template <class U>
TCNUM_HOST_DEVICE std::uint64_t number(const Format& f, const Words& w, U mixed, Range range, bool negative) {
  const U one = U{1} << f.fraction_bits;
  U fraction = mixed >> 1 >> (static_cast<int>(sizeof(U) * 8) - 1 - f.fraction_bits);
  const unsigned pattern = w.choice & 7;  // those that matter, half of the time
  if (pattern == 0) fraction = 0;
  if (pattern == 1) fraction = 1;
  if (pattern == 2) fraction = one / 2;
  if (pattern == 3) fraction = one - 1;
  return assemble<U>(f, negative, range.low + w.exponent(range.span), fraction, mixed);
}
TCNUM_HOST_DEVICE inline std::uint64_t number(const Format& f, const Words& w, Range range, bool negative) {
  const std::uint64_t mixed = w.mixed();
  return f.storage_bits <= 32 ? number(f, w, static_cast<std::uint32_t>(mixed >> 32), range, negative)
                              : number(f, w, mixed, range, negative);
}

/// Sums of four uniform numbers: near enough to a normal distribution of deviation 1.
TCNUM_HOST_DEVICE inline std::uint64_t gaussian(const Format& f, const Words& w) {
  const auto half = [](std::uint32_t x) { return static_cast<int>(x & 0xffff) + static_cast<int>(x >> 16); };
  const int sum = half(w.fraction) + half(w.choice) - 2 * 0xffff;
  std::uint64_t magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  if (magnitude == 0) return signed_zero(f, w.negative());
  constexpr int kDeviation = 15;  // of the sum, as a power of two
  int exponent = 18;
  while (magnitude >> exponent == 0) --exponent;
  // Bits below the sum's are random ones.
  const std::uint64_t fraction =
      ((magnitude << (63 - exponent)) << 1 | w.mixed() >> (exponent + 1)) >> 1 >> (63 - f.fraction_bits);
  return assemble<std::uint64_t>(f, sum < 0, exponent - kDeviation, fraction, w.mixed());
}

TCNUM_HOST_DEVICE inline std::uint64_t special(const Format& f, const Words& w) {
  const std::uint64_t sign = w.negative() ? sign_bit(f) : 0;
  const std::uint64_t top = detail::low_mask(f.exponent_bits) << (f.fraction_bits + f.padding_bits);
  const std::uint64_t largest = finite(f, sign | top | detail::low_mask(f.fraction_bits + f.padding_bits));
  switch (w.choice & 7) {
    case 0:
    case 1:
    case 2:
      return f.has_infinity() ? sign | top : largest;
    case 3:
    case 4: {  // any NaN: quiet or signalling, any payload
      if (f.non_finite == NonFinite::none) return largest;
      if (f.non_finite == NonFinite::nan_negative_zero) return sign_bit(f);
      if (!f.has_infinity()) return sign | top | detail::low_mask(f.fraction_bits);
      const std::uint64_t payload = w.mixed() & detail::low_mask(f.fraction_bits + f.padding_bits);
      return sign | top | (payload >> f.padding_bits == 0 ? std::uint64_t{1} << f.padding_bits : payload);
    }
    case 5:
      return signed_zero(f, w.negative());
    default:
      return largest;
  }
}

// --- Integers, as whole numbers.

/// That number, or the nearest that the format has.
TCNUM_HOST_DEVICE inline std::uint64_t integer_code(const Format& f, std::int64_t x) {
  const auto [lowest, highest] = range_of(f);
  return code_of(f, x < lowest ? lowest : x > highest ? highest : x);
}

inline constexpr int kAtTheEnd = 60;  ///< percent of those drawn there; the others are up to 3 inside

TCNUM_HOST_DEVICE inline std::uint64_t integer(const Format& f, const Words& w, Draw draw, Range range, bool negative) {
  const std::uint64_t mixed = w.mixed();
  switch (draw) {
    case Draw::bits:
      return mixed >> 32 & f.code_mask();
    case Draw::gaussian: {
      std::int64_t sum = 0;
      for (int n = 0; n < 4; ++n) sum += integer_of(f, mixed >> (n * 8) & f.code_mask());
      return integer_code(f, sum / 4);
    }
    case Draw::end: {
      const std::int64_t inside = w.chance() < percent(kAtTheEnd) ? 0 : static_cast<std::int64_t>(w.fraction & 3);
      return integer_code(f, negative ? range_of(f).lowest + inside : range_of(f).highest - inside);
    }
    case Draw::pattern: {
      constexpr std::uint64_t kEvenBits = 0x5555555555555555;
      constexpr unsigned kCount = 5;  // and the two ends of the range
      constexpr std::uint64_t kPatterns[kCount] = {0, 1, kEvenBits, kEvenBits << 1, ~std::uint64_t{0}};
      const unsigned which = w.fraction % (kCount + 2);
      if (which == kCount) return integer_code(f, range_of(f).lowest);
      if (which == kCount + 1) return integer_code(f, range_of(f).highest);
      return kPatterns[which] & f.code_mask();
    }
    case Draw::number:
      break;
  }
  int bits = range.low + w.exponent(range.span);
  if (bits > f.fraction_bits) bits = f.fraction_bits;
  // Of a slot that asks for fewer bits than none: any number, cut to the format's range.
  const std::uint64_t kept = bits < 0 ? ~std::uint64_t{0} : detail::low_mask(bits);
  const auto magnitude = static_cast<std::int64_t>(mixed >> 16 & kept);
  return integer_code(f, negative && f.has_sign ? -magnitude : magnitude);
}

}  // namespace tcnum::stream
