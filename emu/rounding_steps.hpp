// Rounding steps in machine integers: the same rules as in exact.cpp.
#pragma once

#include <algorithm>

#include "bit_width.hpp"
#include "consulted.hpp"
#include "host_device.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum {

template <class U>
constexpr int kBits = static_cast<int>(sizeof(U) * 8);

/// magnitude / 2^shift rounded, shift ≥ 0.
template <class U>
TCNUM_HOST_DEVICE U round_right(U magnitude, int shift, bool negative, Rounding mode) {
  if (shift == 0) return magnitude;
  if (mode == Rounding::toward_zero) return shift >= kBits<U> ? U{0} : static_cast<U>(magnitude >> shift);
  if (shift > kBits<U>) return rounds_away(mode, negative, false, false, magnitude != 0) ? 1 : 0;
  const U kept = shift == kBits<U> ? U{0} : static_cast<U>(magnitude >> shift);
  const bool half = (magnitude >> (shift - 1)) & 1;
  const bool rest = (magnitude & ((U{1} << (shift - 1)) - 1)) != 0;
  return static_cast<U>(kept + (rounds_away(mode, negative, kept & 1, half, rest) ? 1 : 0));
}

/// A finite number on its way through rounding steps: ±magnitude · 2^lsb.
template <class U>
struct Rounded {
  U magnitude;
  int lsb;
  int exponent;  // for alignment in a later sum
  bool negative;
  bool infinite = false;
};

TCNUM_HOST_DEVICE inline bool to_infinity(const RoundStep& s, bool negative) {
  return s.overflow == Overflow::infinity || (s.overflow == Overflow::ieee && s.rounding != Rounding::toward_zero &&
                                              s.rounding != (negative ? Rounding::up : Rounding::down));
}

/// Whether a number with that leading bit is beyond the step's largest.
template <class U>
TCNUM_HOST_DEVICE bool overflows(const Rounded<U>& v, int leading, const RoundStep& s) {
  if (leading <= s.max_exponent) return false;
  const bool lowest =
      s.twos_complement && v.negative && leading == s.max_exponent + 1 && (v.magnitude & (v.magnitude - 1)) == 0;
  return !lowest;
}

/// A number modulo 2^(max_exponent + 2), in two's complement.
template <class U>
TCNUM_HOST_DEVICE void wrap(Rounded<U>& v, int max_exponent) {
  const int bits = max_exponent + 2 - v.lsb;  // of the residue, in units of the last bit
  const U mask = bits >= kBits<U> ? ~U{0} : bits <= 0 ? U{0} : (U{1} << bits) - 1;
  const U residue = (v.negative ? U{0} - v.magnitude : v.magnitude) & mask;
  v.negative = (residue & ~(mask >> 1)) != 0;
  v.magnitude = v.negative ? (U{0} - residue) & mask : residue;
}

/// Applies rounding steps to a number.
template <bool kTrace, class U>
TCNUM_HOST_DEVICE void apply_steps(Rounded<U>& v, const RoundSteps& steps, int alignment, UnderflowSign underflow_sign,
                                   bool minimum_exponents, unsigned& consulted) {
  for (const RoundStep& s : steps) {
    if (v.infinite || v.magnitude == 0) break;
    int leading = bit_width(v.magnitude) - 1 + v.lsb;
    const int reach = std::min(leading, s.max_exponent);
    const int q = (s.from_alignment ? alignment : std::max(reach, s.min_exponent)) - s.fraction_bits;
    if (q > v.lsb) {
      if constexpr (kTrace) {
        const int dropped = q - v.lsb;
        if (dropped >= kBits<U> || (v.magnitude & ((U{1} << dropped) - 1)) != 0) consulted |= kConsultedRounding;
      }
      v.magnitude = round_right(v.magnitude, q - v.lsb, v.negative, s.rounding);
      v.lsb = q;
    }
    leading = bit_width(v.magnitude) - 1 + v.lsb;
    const bool tiny = v.magnitude == 0 || leading < s.min_exponent;
    if constexpr (kTrace) {
      if (tiny) consulted |= kConsultedTinyResult;
    }
    if (v.magnitude == 0 || (tiny && s.subnormals == Subnormals::flushed)) {
      v.magnitude = 0;
      if (underflow_sign == UnderflowSign::positive) v.negative = false;
    } else if (overflows(v, leading, s)) {
      if constexpr (kTrace) consulted |= kConsultedOverflow;
      if (to_infinity(s, v.negative)) {
        v.infinite = true;
        break;
      }
      if (s.overflow == Overflow::wrap) {
        wrap(v, s.max_exponent);
      } else {
        v.lsb = std::max(s.max_exponent, s.min_exponent) - s.fraction_bits;
        const U beyond = U{1} << (s.max_exponent + 1 - v.lsb);
        v.magnitude = s.twos_complement && v.negative ? beyond : beyond - 1;
      }
      leading = bit_width(v.magnitude) - 1 + v.lsb;
    }
    if (!s.from_alignment) {
      v.exponent = v.magnitude == 0 || (minimum_exponents && leading < s.min_exponent) ? s.min_exponent : leading;
    }
  }
  if (!v.infinite && v.magnitude == 0 && !steps.empty()) {
    const RoundStep& last = steps.step[static_cast<std::size_t>(steps.count - 1)];
    if (!last.from_alignment) v.exponent = last.min_exponent;
  }
}

/// Whether what the steps leave may be far above the exponent that it takes into a later sum, which then needs more
/// bits than its alignment says: one step gave the number an exponent of its own, and one after it rounds it away from
/// zero to a unit of the alignment, however large that is. (To nearest, it grows to its double at most.)
inline bool outgrow_exponent(const RoundSteps& steps) {
  bool has_own = false, outgrown = false;
  for (const RoundStep& s : steps) {
    if (!s.from_alignment) {
      has_own = true;
      outgrown = false;
    } else if (has_own && (s.rounding == Rounding::up || s.rounding == Rounding::down)) {
      outgrown = true;
    }
  }
  return outgrown;
}

/// Encodes a number that the format can hold.
template <class U>
TCNUM_HOST_DEVICE std::uint64_t pack(const Format& f, const Rounded<U>& v) {
  if (!f.floating) {
    const auto magnitude = static_cast<std::uint64_t>(v.lsb >= 0 ? v.magnitude << v.lsb : v.magnitude >> -v.lsb);
    return (v.negative ? 0 - magnitude : magnitude) & f.code_mask();
  }
  const std::uint64_t sign = v.negative ? std::uint64_t{1} << (f.storage_bits - 1) : 0;
  if (v.infinite) {  // only formats that have one are results
    return sign | detail::low_mask(f.exponent_bits) << (f.fraction_bits + f.padding_bits);
  }
  if (v.magnitude == 0) return sign;
  const int leading = bit_width(v.magnitude) - 1 + v.lsb;
  const int q = std::max(leading, f.min_exponent()) - f.fraction_bits;
  const auto units = static_cast<std::uint64_t>(v.lsb >= q ? v.magnitude << (v.lsb - q) : v.magnitude >> (q - v.lsb));
  const std::uint64_t hidden = std::uint64_t{1} << f.fraction_bits;
  const std::uint64_t field = leading < f.min_exponent() ? 0 : static_cast<std::uint64_t>(leading + f.bias);
  return sign | (((field << f.fraction_bits) | (units & (hidden - 1))) << f.padding_bits);
}

}  // namespace tcnum
