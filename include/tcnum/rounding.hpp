// Rounding modes and their names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tcnum {

/// `up` is toward +infinity, `down` toward -infinity (what dropping bits of a two's complement number does).
enum class Rounding : std::uint8_t { toward_zero, nearest_even, nearest_away, up, down };

inline constexpr std::array<std::string_view, 5> kRoundingNames = {"toward_zero", "nearest_even", "nearest_away",
                                                                   "up", "down"};

constexpr std::string_view name(Rounding mode) { return kRoundingNames[static_cast<std::size_t>(mode)]; }

constexpr std::optional<Rounding> find_rounding(std::string_view text) {
  for (std::size_t i = 0; i < kRoundingNames.size(); ++i) {
    if (kRoundingNames[i] == text) return static_cast<Rounding>(i);
  }
  return std::nullopt;
}

/// Whether a magnitude grows by one unit in the last place when bits below it are dropped.
/// `odd`: the last kept bit; `half`: the first dropped bit; `rest`: whether any later dropped bit is set.
constexpr bool rounds_away(Rounding mode, bool negative, bool odd, bool half, bool rest) {
  switch (mode) {
    case Rounding::toward_zero: return false;
    case Rounding::nearest_even: return half && (rest || odd);
    case Rounding::nearest_away: return half;
    case Rounding::up: return !negative && (half || rest);
    case Rounding::down: return negative && (half || rest);
  }
  return false;
}

}  // namespace tcnum
