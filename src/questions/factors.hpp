// Products of integers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "emu/integers.hpp"

namespace tcnum {

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
