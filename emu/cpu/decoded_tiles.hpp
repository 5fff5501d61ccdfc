// What the fast emulator knows of decoded operands.
#pragma once

#include "tcnum/emulator.hpp"

namespace tcnum {

/// Alignment exponent of what does not take part. Two of them still add up to an int, far below any real exponent.
inline constexpr std::int32_t kNoExponent = -(1 << 24);

enum RowFlags : std::uint8_t { kHasSpecial = 1, kHasSubnormal = 2 };

struct DecodedTiles::Number {
  std::int64_t significand = 0;
  std::int32_t exponent = kNoExponent;
  std::int32_t natural = 0;
  bool negative = false;
  std::uint8_t flags = 0;
};

}  // namespace tcnum
