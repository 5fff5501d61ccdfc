// How the work of a product is divided.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "operands.hpp"
#include "product.hpp"

namespace tcnum::panels {

/// Rows i … i + m − 1 and columns j … j + n − 1 of the result.
struct Part {
  std::size_t i, j, m, n;
};

inline std::size_t rounded_up(std::size_t x, std::size_t to) { return (x + to - 1) / to * to; }

/// Parts large enough that packing costs little, and enough of them for all threads.
inline std::vector<Part> parts_of(const ProductShape& shape, unsigned threads) {
  constexpr std::size_t kMostRows = 512, kMostColumns = 512, kLeastRows = 32, kPartsForEach = 3;
  const auto count = [&](std::size_t m, std::size_t n) {
    return rounded_up(shape.m, m) / m * (rounded_up(shape.n, n) / n);
  };
  std::size_t m = kMostRows, n = kMostColumns;
  const std::size_t wanted = threads > 1 ? kPartsForEach * threads : 1;
  while (count(m, n) < wanted && (n > kColumns || m > kLeastRows)) {
    if (n > 2 * m || m == kLeastRows)
      n /= 2;
    else
      m /= 2;
  }
  std::vector<Part> parts;
  for (std::size_t i = 0; i < shape.m; i += m) {
    for (std::size_t j = 0; j < shape.n; j += n)
      parts.push_back({i, j, std::min(m, shape.m - i), std::min(n, shape.n - j)});
  }
  return parts;
}

}  // namespace tcnum::panels
