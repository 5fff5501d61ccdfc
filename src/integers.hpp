// Integers of the formats that are integers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tcnum/format.hpp"

namespace tcnum {

struct IntegerRange {
  std::int64_t lowest, highest;
};

inline IntegerRange range_of(const Format& f) {
  const std::int64_t beyond = std::int64_t{1} << f.fraction_bits;
  return {f.has_sign ? -beyond : 0, beyond - 1};
}

inline std::uint64_t code_of(const Format& f, std::int64_t value) {
  return static_cast<std::uint64_t>(value) & f.code_mask();
}

inline std::int64_t integer_of(const Format& f, std::uint64_t code) {
  const Decoded d = decode(f, code);
  const auto magnitude = static_cast<std::int64_t>(d.significand);
  return d.negative ? -magnitude : magnitude;
}

/// An operand of each format, and their product.
struct Factors {
  std::int64_t a, b;
  std::int64_t product() const { return a * b; }
};

/// The least and the largest product of two operands.
struct ExtremeProducts {
  Factors least, largest;
};
inline ExtremeProducts extreme_products(const Format& a, const Format& b) {
  const IntegerRange x = range_of(a), y = range_of(b);
  const std::array<Factors, 4> ends = {
      {{x.lowest, y.lowest}, {x.lowest, y.highest}, {x.highest, y.lowest}, {x.highest, y.highest}}};
  const auto [least, largest] = std::ranges::minmax_element(ends, {}, &Factors::product);
  return {*least, *largest};
}

}  // namespace tcnum
