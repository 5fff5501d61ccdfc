#include "product_sums.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "multiversion.hpp"

namespace tcnum {
namespace {

// AVX2 brings shifts by a different amount in each lane; without it, these are done one after the other.
//
// The compiler's vectors: operators act on each lane, comparisons give −1 or 0. What takes or returns them must be
// inlined, so that it is compiled for the CPU that its caller is compiled for.
using Int = std::int32_t __attribute__((vector_size(kLanes * sizeof(std::int32_t))));
using Unsigned = std::uint32_t __attribute__((vector_size(kLanes * sizeof(std::uint32_t))));
using Long = std::int64_t __attribute__((vector_size(kLanes * sizeof(std::int64_t))));
#pragma GCC diagnostic ignored "-Wpsabi"  // how vectors are passed matters only to functions that are not inlined
#define TCNUM_INLINE [[gnu::always_inline]] inline

// Not std::bit_cast, through which a compiler may pass a vector in memory.
TCNUM_INLINE Int load(const Lanes<std::int32_t>& lanes) {
  Int vector;
  std::memcpy(&vector, &lanes, sizeof(vector));
  return vector;
}
template <class Vector, class T>
TCNUM_INLINE void store(const Vector& vector, Lanes<T>& lanes) {
  static_assert(sizeof(vector) == sizeof(lanes));
  std::memcpy(&lanes, &vector, sizeof(vector));
}

/// As rounds_away(), in lanes that are −1 or 0.
template <Rounding kMode>
TCNUM_INLINE Int lanes_round_away(const Int& negative, const Int& odd, const Int& half, const Int& rest) {
  if constexpr (kMode == Rounding::nearest_even)
    return half & (rest | odd);
  else if constexpr (kMode == Rounding::nearest_away)
    return half;
  else if constexpr (kMode == Rounding::up)
    return ~negative & (half | rest);
  else if constexpr (kMode == Rounding::down)
    return negative & (half | rest);
  else
    return Int{};
}

/// product · 2^up / 2^shift, rounded.
template <Rounding kMode>
TCNUM_INLINE Int cut(const Int& product, int up, const Int& shift) {
  // Beyond 31 nothing changes: a product shifted left is below 2^30, less than half of 2^31.
  const Unsigned most = Unsigned{} + 31u;
  const Unsigned wanted = (Unsigned)shift, right = wanted < most ? wanted : most;
  const Int sign = product >> 31;
  const Unsigned magnitude = (Unsigned)((product ^ sign) - sign) << up;
  Unsigned kept;
  if constexpr (kMode == Rounding::toward_zero) {
    kept = magnitude >> right;
  } else {
    const Unsigned doubled = magnitude * 2, kept_and_half = doubled >> right;
    kept = kept_and_half >> 1;
    const Int half = (kept_and_half & 1) != 0, rest = (kept_and_half << right) != doubled, odd = (kept & 1) != 0;
    kept -= (Unsigned)lanes_round_away<kMode>(sign, odd, half, rest);
  }
  return ((Int)kept ^ sign) - sign;
}

template <Rounding kMode>
TCNUM_INLINE Long sum_cut(const ProductLanes& products, const ProductCut& how, const Lanes<std::int32_t>& alignment) {
  const Int base = load(alignment) + how.down;
  // As many as add up to no more than 2^30 are added in 32 bits.
  const std::size_t group = std::size_t{1} << (28 - how.fraction_bits);
  Long sum{};
  for (std::size_t begin = 0; begin < products.terms.size(); begin += group) {
    const std::size_t end = std::min(begin + group, products.terms.size());
    Int part{};
    for (std::size_t i = begin; i < end; ++i) {
      const auto kk = static_cast<std::size_t>(products.terms[i]);
      const Int shift = base - products.a_exponent[kk] - load(products.b_exponent[kk]);
      part += cut<kMode>(products.a_significand[kk] * load(products.b_significand[kk]), how.up, shift);
    }
    sum += __builtin_convertvector(part, Long);
  }
  return sum;
}

}  // namespace

TCNUM_ALSO_FOR("avx2") ExponentRange exponent_range(const ProductLanes& products) {
  Int lowest = Int{} + std::numeric_limits<std::int32_t>::max();
  Int highest = Int{} + std::numeric_limits<std::int32_t>::min();
  for (const int k : products.terms) {
    const auto kk = static_cast<std::size_t>(k);
    const Int exponent = products.a_exponent[kk] + load(products.b_exponent[kk]);
    lowest = exponent < lowest ? exponent : lowest;
    highest = exponent > highest ? exponent : highest;
  }
  ExponentRange range;
  store(lowest, range.lowest);
  store(highest, range.highest);
  return range;
}

TCNUM_ALSO_FOR("avx2")
Lanes<std::int64_t> sum_products(const ProductLanes& products, const ProductCut& how,
                                 const Lanes<std::int32_t>& alignment) {
  Long sum{};
  switch (how.rounding) {
    case Rounding::toward_zero:
      sum = sum_cut<Rounding::toward_zero>(products, how, alignment);
      break;
    case Rounding::nearest_even:
      sum = sum_cut<Rounding::nearest_even>(products, how, alignment);
      break;
    case Rounding::nearest_away:
      sum = sum_cut<Rounding::nearest_away>(products, how, alignment);
      break;
    case Rounding::up:
      sum = sum_cut<Rounding::up>(products, how, alignment);
      break;
    case Rounding::down:
      sum = sum_cut<Rounding::down>(products, how, alignment);
      break;
  }
  Lanes<std::int64_t> lanes;
  store(sum, lanes);
  return lanes;
}

}  // namespace tcnum
