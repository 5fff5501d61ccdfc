// Exact sums of two finite terms, such as FMAs.
#pragma once

#include "emu/alignment.hpp"
#include "emu/rounding_steps.hpp"
#include "requirements.hpp"

namespace tcnum {

/// ±magnitude · 2^lsb.
template <class U>
struct PairTerm {
  U magnitude;
  int lsb;
  bool negative;
  int end() const { return magnitude == 0 ? kNotAligned32 : bit_width(magnitude) + lsb; }
};

/// The larger term is shifted to the top of a U. What the smaller one has below U's last bit is folded into that bit,
/// which lies below all bits that decide a rounding (cpu::kPairSpareBits). Of a sum of zero, only the magnitude counts.
template <class U>
[[gnu::always_inline]] inline Rounded<U> sum_of_pair(const PairTerm<U> (&terms)[2]) {
  static_assert(cpu::kPairSpareBits >= 6);
  // Which term is larger, and the signs, are as good as random: no branches on them.
  const bool second = terms[0].end() < terms[1].end();
  const PairTerm<U>&large = terms[second], &small = terms[!second];
  if (large.magnitude == 0) return {0, 0, 0, false};
  const int up = kBits<U> - 2 - bit_width(large.magnitude);
  const int lsb = large.lsb - up;
  U aligned = 0;
  if (small.magnitude != 0) {
    const int down = lsb - small.lsb;
    if (down <= 0)
      aligned = small.magnitude << -down;
    else if (down >= kBits<U>)
      aligned = 1;
    else
      aligned = (small.magnitude >> down) | ((small.magnitude & ((U{1} << down) - 1)) != 0 ? 1 : 0);
  }
  const U signs = U{0} - U{large.negative != small.negative};
  const U difference = (large.magnitude << up) + ((aligned ^ signs) - signs);  // in two's complement
  const bool turned = (difference >> (kBits<U> - 1)) != 0;
  return {turned ? U{0} - difference : difference, lsb, 0, large.negative != turned};
}

}  // namespace tcnum
