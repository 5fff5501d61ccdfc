// The parts of an aligned sum in machine integers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "emu/alignment.hpp"
#include "emu/rounding_steps.hpp"
#include "requirements.hpp"

namespace tcnum {

/// x · 2^-shift, rounded, for |x| < 2^(bits − 1).
template <class P>
P cut(P x, int shift, Rounding mode) {
  using U = std::make_unsigned_t<P>;
  constexpr int kMost = kBits<P> - 1;
  if (mode == Rounding::down) return x >> std::min(shift, kMost);
  const U sign = static_cast<U>(x >> kMost);
  const U magnitude = (static_cast<U>(x) ^ sign) - sign;
  U kept;
  if (mode == Rounding::toward_zero)
    kept = magnitude >> std::min(shift, kMost);
  else
    kept = round_right<U>(magnitude, shift, sign != 0, mode);
  return static_cast<P>((kept ^ sign) - sign);
}

/// Products of a sum: product[i] · 2^(exponent[i] − fraction bits of a and b).
struct Products {
  std::size_t count = 0;
  std::int32_t product[cpu::kMostProducts];
  std::int32_t exponent[cpu::kMostProducts];
};

/// The terms of a sum that are no products: the accumulator and the results of nodes.
struct OtherTerms {
  std::size_t count = 0;
  std::int64_t significand[cpu::kMostOthers];
  std::int32_t lsb[cpu::kMostOthers];
  std::int32_t highest_exponent = 2 * kNotAligned32;
  bool any_zero = false, all_negative = true, any_negative = false;

  void add(std::int64_t x, std::int32_t x_lsb, std::int32_t exponent, bool negative) {
    significand[count] = x;
    lsb[count] = x_lsb;
    highest_exponent = std::max(highest_exponent, exponent);
    any_zero = any_zero || x == 0;
    all_negative = all_negative && negative;
    any_negative = any_negative || negative;
    ++count;
  }

  /// Their sum in units of 2^to_lsb, each cut.
  std::int64_t sum(int to_lsb, Rounding align_rounding) const {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (significand[i] == 0) continue;  // a zero's exponent says nothing about its bits
      const int shift = to_lsb - lsb[i];
      total += shift >= 0 ? cut(significand[i], shift, align_rounding)
                          : static_cast<std::int64_t>(static_cast<std::uint64_t>(significand[i]) << -shift);
    }
    return total;
  }
};

}  // namespace tcnum
