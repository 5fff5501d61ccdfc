// Datapaths of which every value is an integer of few bits, in machine integers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "host_device.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum {

/// Nodes of a tree, so that their results have a place on the stack.
inline constexpr std::size_t kMostIntegerNodes = 512;

/// A rounding step for integers, which are never rounded: what lies outside lowest … highest is clamped to them, or
/// taken modulo their number.
struct IntegerStep {
  std::int64_t lowest = 0, highest = 0;
  bool wraps = false;
};

/// The steps of each unit.
struct IntegerUnits {
  struct Steps {
    std::array<IntegerStep, 3> step{};
    int count = 0;
  };
  std::array<Steps, kMaxUnits> unit{};
  ProductOperation operation = ProductOperation::multiply;
};

/// The steps of a datapath whose every value is an integer that an int64 holds, and whose sums of products an int32
/// does; nothing for any other.
std::optional<IntegerUnits> integer_units(const Numerics& numerics, const Tree& tree);

/// Applies a unit's steps; sets `overflowed` if that changes the value, else leaves it.
TCNUM_HOST_DEVICE inline std::int64_t apply_steps(const IntegerUnits::Steps& steps, std::int64_t value,
                                                  bool& overflowed) {
  for (int i = 0; i < steps.count; ++i) {
    const IntegerStep& s = steps.step[static_cast<std::size_t>(i)];
    if (s.lowest <= value && value <= s.highest) continue;
    overflowed = true;
    if (s.wraps) {
      const auto mask =
          static_cast<std::uint64_t>(s.highest - s.lowest);  // two's complement: as many as a power of two
      value = static_cast<std::int64_t>((static_cast<std::uint64_t>(value - s.lowest) & mask)) + s.lowest;
    } else {
      value = value < s.lowest ? s.lowest : s.highest;
    }
  }
  return value;
}

/// Σ a[k]·b[k], or of what else a product is, over the k in `terms`; `contiguous`: they ascend one by one.
std::int32_t sum_of_products(const std::int32_t* a, const std::int32_t* b, std::span<const int> terms, bool contiguous,
                             ProductOperation operation);

}  // namespace tcnum
