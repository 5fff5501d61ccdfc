// Exact sums of numbers that lie too far apart for machine integers.
#pragma once

#include <algorithm>
#include <vector>

#include "emu/rounding_steps.hpp"

namespace tcnum {

/// An exact signed sum of any span: two's complement in units of 2^lsb.
class MultiwordSum {
 public:
  MultiwordSum(int lsb, int span) : lsb_(lsb), limbs_(static_cast<std::size_t>(span / 64 + 4), 0) {}

  void add(bool negative, uint128 magnitude, int lsb) {
    const auto at = static_cast<std::size_t>((lsb - lsb_) / 64);
    const int shift = (lsb - lsb_) % 64;
    std::uint64_t part[3] = {static_cast<std::uint64_t>(magnitude << shift),
                             static_cast<std::uint64_t>((magnitude << shift) >> 64),
                             shift == 0 ? 0 : static_cast<std::uint64_t>(magnitude >> (128 - shift))};
    std::uint64_t carry = 0;
    for (std::size_t i = at; i < limbs_.size(); ++i) {
      const std::uint64_t x = i - at < 3 ? part[i - at] : 0;
      if (i - at >= 3 && carry == 0) break;
      const uint128 r =
          negative ? static_cast<uint128>(limbs_[i]) - x - carry : static_cast<uint128>(limbs_[i]) + x + carry;
      limbs_[i] = static_cast<std::uint64_t>(r);
      carry = static_cast<std::uint64_t>(r >> 64) & 1;
    }
  }

  /// The leading 127 bits or so; whatever is below them only sets the last bit.
  Rounded<uint128> value() {
    const bool negative = (limbs_.back() >> 63) != 0;
    if (negative) {
      std::uint64_t carry = 1;
      for (std::uint64_t& limb : limbs_) {
        limb = ~limb + carry;
        carry = carry != 0 && limb == 0 ? 1 : 0;
      }
    }
    std::size_t top = limbs_.size();
    while (top > 0 && limbs_[top - 1] == 0) --top;
    if (top == 0) return {0, lsb_, 0, false};
    const std::size_t low = top >= 2 ? top - 2 : 0;
    uint128 magnitude = limbs_[low];
    if (top - low == 2) magnitude |= static_cast<uint128>(limbs_[low + 1]) << 64;
    int lsb = lsb_ + static_cast<int>(low) * 64;
    bool rest = false;
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < low; ++i) {
      if (i + 1 == low)
        below = limbs_[i];
      else
        rest = rest || limbs_[i] != 0;
    }
    // Fill up from the limb below so that at least 120 bits are significant, then fold the rest into the last bit.
    const int room = 127 - bit_width(magnitude);
    if (room > 0 && low > 0) {
      const int take = std::min(room, 63);
      magnitude = (magnitude << take) | (below >> (64 - take));
      lsb -= take;
      below <<= take;
    }
    if (rest || below != 0) magnitude |= 1;
    return {magnitude, lsb, 0, negative};
  }

 private:
  int lsb_;
  std::vector<std::uint64_t> limbs_;
};

}  // namespace tcnum
