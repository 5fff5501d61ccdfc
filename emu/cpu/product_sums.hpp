// Sums of cut products of one row of A with several columns of B, side by side: one lane a column.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tcnum/rounding.hpp"

namespace tcnum {

inline constexpr std::size_t kLanes = 8;

/// One number for each of kLanes columns.
template <class T>
using Lanes = std::array<T, kLanes>;

/// Operands of the products with index in `terms`: significands, signed, and exponents.
struct ProductLanes {
  std::span<const int> terms;
  const std::int32_t *a_significand, *a_exponent;        // [k]
  const Lanes<std::int32_t>*b_significand, *b_exponent;  // [k]
};

struct ExponentRange {
  Lanes<std::int32_t> lowest, highest;
};

/// The exponents of each lane's products.
ExponentRange exponent_range(const ProductLanes& products);

/// How products are cut: they are shifted left by `up`, then right by alignment − exponent + `down`.
struct ProductCut {
  Rounding rounding;
  int up, down;
  int fraction_bits;  ///< below 29; products shifted left stay below 2^30, cut ones up to 2^(fraction_bits + 2)
};

/// Each lane's sum of its products, cut.
Lanes<std::int64_t> sum_products(const ProductLanes& products, const ProductCut& cut,
                                 const Lanes<std::int32_t>& alignment);

}  // namespace tcnum
