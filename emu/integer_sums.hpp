// Datapaths of which every value is an integer of few bits.
#pragma once

#include <array>
#include <cstdint>

#include "evaluators.hpp"
#include "host_device.hpp"

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

/// Why a datapath has values that are no integers, or sums of products that an int32, or others that an int64, does not
/// hold; empty if it has none.
WhyNot why_no_integer_sums(const Numerics& numerics, const SortedTree& tree);
/// The steps of a datapath that has none.
IntegerUnits integer_units_of(const Numerics& numerics, const SortedTree& tree);

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

}  // namespace tcnum
