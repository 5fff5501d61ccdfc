// Exact sums of two finite terms, such as FMAs.
#pragma once

#include "emu/alignment.hpp"
#include "emu/rounding_steps.hpp"
#include "requirements.hpp"

namespace tcnum {

/// ±magnitude · 2^lsb.
struct PairTerm {
  std::uint64_t magnitude;
  int lsb;
  bool negative;
  int end() const { return magnitude == 0 ? kNotAligned32 : bit_width(magnitude) + lsb; }
};

/// The larger term is shifted to the top of 64 bits. What the smaller one has below the last is folded into that bit,
/// which lies below all bits that decide a rounding (cpu::kPairSpareBits). Of a sum of zero, only the magnitude counts.
[[gnu::always_inline]] inline Rounded<std::uint64_t> sum_of_pair(const PairTerm (&terms)[2]) {
  static_assert(cpu::kPairSpareBits >= 6);
  using U = std::uint64_t;
  // Which term is larger, and the signs, are as good as random: no branches on them.
  const bool second = terms[0].end() < terms[1].end();
  const PairTerm &large = terms[second], &small = terms[!second];
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
