// Exact sums of numbers that lie too far apart for machine integers.
#pragma once

#include <algorithm>

#include "host_device.hpp"
#include "rounding_steps.hpp"

namespace tcnum {

/// An exact signed sum of a span up to kMostSpan: two's complement in units of 2^lsb.
template <int kMostSpan>
class MultiwordSum {
 public:
  TCNUM_HOST_DEVICE MultiwordSum(int lsb, int span) : lsb_(lsb), size_(span / 64 + 4) {
    for (int i = 0; i < size_; ++i) limbs_[i] = 0;
  }

  TCNUM_HOST_DEVICE void add(bool negative, uint128 magnitude, int lsb) {
    const int at = (lsb - lsb_) / 64;
    const int shift = (lsb - lsb_) % 64;
    std::uint64_t part[3] = {static_cast<std::uint64_t>(magnitude << shift),
                             static_cast<std::uint64_t>((magnitude << shift) >> 64),
                             shift == 0 ? 0 : static_cast<std::uint64_t>(magnitude >> (128 - shift))};
    std::uint64_t carry = 0;
    for (int i = at; i < size_; ++i) {
      const std::uint64_t x = i - at < 3 ? part[i - at] : 0;
      if (i - at >= 3 && carry == 0) break;
      const uint128 r =
          negative ? static_cast<uint128>(limbs_[i]) - x - carry : static_cast<uint128>(limbs_[i]) + x + carry;
      limbs_[i] = static_cast<std::uint64_t>(r);
      carry = static_cast<std::uint64_t>(r >> 64) & 1;
    }
  }

  /// The leading 127 bits or so; whatever is below them only sets the last bit.
  TCNUM_HOST_DEVICE Rounded<uint128> value() {
    const bool negative = (limbs_[size_ - 1] >> 63) != 0;
    if (negative) {
      std::uint64_t carry = 1;
      for (int i = 0; i < size_; ++i) {
        limbs_[i] = ~limbs_[i] + carry;
        carry = carry != 0 && limbs_[i] == 0 ? 1 : 0;
      }
    }
    int top = size_;
    while (top > 0 && limbs_[top - 1] == 0) --top;
    if (top == 0) return {0, lsb_, 0, false};
    const int low = top >= 2 ? top - 2 : 0;
    uint128 magnitude = limbs_[low];
    if (top - low == 2) magnitude |= static_cast<uint128>(limbs_[low + 1]) << 64;
    int lsb = lsb_ + low * 64;
    bool rest = false;
    std::uint64_t below = 0;
    for (int i = 0; i < low; ++i) {
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
  int lsb_, size_;
  std::uint64_t limbs_[kMostSpan / 64 + 4];
};

}  // namespace tcnum
