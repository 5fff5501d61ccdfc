// Integers of the formats that are integers, on the CPU and on a GPU.
#pragma once

#include <cstdint>

#include "tcnum/format.hpp"

namespace tcnum {

struct IntegerRange {
  std::int64_t lowest, highest;
};

constexpr IntegerRange range_of(const Format& f) {
  const std::int64_t beyond = std::int64_t{1} << f.fraction_bits;
  return {f.has_sign ? -beyond : 0, beyond - 1};
}

constexpr std::uint64_t code_of(const Format& f, std::int64_t value) {
  return static_cast<std::uint64_t>(value) & f.code_mask();
}

constexpr std::int64_t integer_of(const Format& f, std::uint64_t code) {
  const Decoded d = decode(f, code);
  const auto magnitude = static_cast<std::int64_t>(d.significand);
  return d.negative ? -magnitude : magnitude;
}

}  // namespace tcnum
