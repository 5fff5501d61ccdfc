// Sums of any terms that 128 bits hold, infinities and NaNs among them, on the CPU and on a GPU. The rules are those of
// exact.cpp.
#pragma once

#include "alignment.hpp"
#include "multiword_sum.hpp"
#include "rounding_steps.hpp"
#include "value128.hpp"

namespace tcnum {

/// Where a NaN of an operand stands in the datapath's order.
TCNUM_HOST_DEVICE inline int nan_rank(const NanRule& rule, NanOperand which) {
  int rank = 0;
  while (rule.order[static_cast<std::size_t>(rank)] != which) ++rank;
  return rank;
}
TCNUM_HOST_DEVICE inline Value128 nan_value(std::uint64_t payload, int rank) {
  Value128 v;
  v.kind = Value128::Kind::nan;
  v.payload = payload;
  v.rank = rank;
  return v;
}
/// A NaN that no operand brought ranks behind all that one did.
TCNUM_HOST_DEVICE inline Value128 generated_nan(const NanRule& rule) {
  return nan_value(rule.code, static_cast<int>(rule.order.size()));
}
TCNUM_HOST_DEVICE inline int leading(const Value128& v) { return bit_width(v.magnitude) - 1 + v.lsb; }

/// The product of two operands, before it is scaled, limited and rounded.
TCNUM_HOST_DEVICE inline Value128 multiply(const Value128& x, const Value128& y, ProductOperation operation,
                                           const NanRule& rule) {
  using Kind = Value128::Kind;
  if (x.kind == Kind::nan || y.kind == Kind::nan) {
    if (x.kind != Kind::nan) return y;
    return y.kind == Kind::nan && y.rank < x.rank ? y : x;
  }
  Value128 v;
  v.negative = x.negative != y.negative;
  v.exponent = x.exponent + y.exponent;
  if (x.kind == Kind::infinity || y.kind == Kind::infinity) {
    if (x.is_zero() || y.is_zero()) return generated_nan(rule);
    v.kind = Kind::infinity;
    return v;
  }
  v.magnitude = operation == ProductOperation::exclusive_or ? x.magnitude ^ y.magnitude : x.magnitude * y.magnitude;
  if (v.magnitude != 0) v.lsb = x.lsb + y.lsb;
  return v;
}
/// What a product becomes before it is rounded.
TCNUM_HOST_DEVICE inline void limit(const ProductRule& rule, Value128& v) {
  if (v.magnitude == 0) return;
  if (rule.exponent == ProductExponent::normalised) v.exponent = leading(v);
  if (rule.infinite_from && leading(v) >= *rule.infinite_from) v.kind = Value128::Kind::infinity;
}

/// What a sum's terms have in common.
struct TermsSurvey {
  using Kind = Value128::Kind;
  Value128 nan, infinity;
  bool positive_infinity = false, negative_infinity = false;
  bool all_negative = true, any_negative = false, any_zero = false, any_nonzero = false;  // of the finite ones
  int highest_exponent = 2 * kNotAligned32;

  TCNUM_HOST_DEVICE void add(const Value128& v, bool natural_zeros) {
    if (v.kind == Kind::nan) {
      if (nan.kind != Kind::nan || v.rank < nan.rank) nan = v;
      return;
    }
    if (v.kind == Kind::infinity) {
      (v.negative ? negative_infinity : positive_infinity) = true;
      infinity = v;
      return;
    }
    all_negative = all_negative && v.negative;
    any_negative = any_negative || v.negative;
    if (v.magnitude != 0) any_nonzero = true;
    if (v.magnitude == 0 && !v.aligns_as_zero) any_zero = true;
    if ((v.magnitude != 0 || v.aligns_as_zero || natural_zeros) && v.exponent > highest_exponent)
      highest_exponent = v.exponent;
  }

  TCNUM_HOST_DEVICE bool is_finite() const { return nan.kind != Kind::nan && !positive_infinity && !negative_infinity; }
  /// The sum, if it is not.
  TCNUM_HOST_DEVICE Value128 special(const NanRule& rule) const {
    if (nan.kind == Kind::nan) return nan;
    return positive_infinity && negative_infinity ? generated_nan(rule) : infinity;
  }
};

/// What a unit leaves of a term.
TCNUM_HOST_DEVICE inline void cut(const Unit& unit, int alignment, bool first, Value128& v) {
  if (!first && unit.drop_below && v.exponent < alignment - *unit.drop_below) v.magnitude = 0;
  const int bits = first && unit.first_fraction_bits ? *unit.first_fraction_bits : unit.fraction_bits;
  if (v.magnitude == 0 || bits == kExact || v.lsb >= alignment - bits) return;
  v.magnitude = round_right(v.magnitude, alignment - bits - v.lsb, v.negative, unit.align_rounding);
  v.lsb = alignment - bits;
}

/// ±sum of magnitudes that were scaled to one lsb.
TCNUM_HOST_DEVICE inline Rounded<uint128> signed_sum(int128 sum, int lsb) {
  return {static_cast<uint128>(sum < 0 ? -sum : sum), lsb, 0, sum < 0};
}

template <int kMostSpan, class Each>
TCNUM_HOST_DEVICE TCNUM_NOINLINE Rounded<uint128> add_far_apart(int lsb, int span, const Each& each) {
  MultiwordSum<kMostSpan> sum(lsb, span);
  each([&](const Value128& v) { sum.add(v.negative, v.magnitude, v.lsb); });
  return sum.value();
}
/// The sum of terms, which each(visit) visits, always in the same order; those that are zero may be left out.
template <int kMostSpan, class Each>
TCNUM_HOST_DEVICE Rounded<uint128> sum_exactly(const Each& each) {
  constexpr int kFar = 1 << 28, kCarryBits = 12, kSumBits = 126;
  int lowest = kFar, highest = -kFar;
  each([&](const Value128& v) {
    lowest = v.lsb < lowest ? v.lsb : lowest;
    highest = leading(v) + 1 > highest ? leading(v) + 1 : highest;
  });
  if (highest < lowest) return {0, 0, 0, false};
  const int span = highest - lowest + kCarryBits;
  if (span >= kSumBits) return add_far_apart<kMostSpan>(lowest, span, each);
  int128 sum = 0;
  each([&](const Value128& v) {
    const auto x = static_cast<int128>(v.magnitude << (v.lsb - lowest));
    sum += v.negative ? -x : x;
  });
  return signed_sum(sum, lowest);
}

/// A sum's exponent, and what it is if it is zero.
template <class U>
TCNUM_HOST_DEVICE void complete_sum(Rounded<U>& sum, const Unit& unit, int alignment, bool all_negative,
                                    bool any_negative) {
  sum.exponent = alignment;
  if (sum.magnitude != 0) return;
  sum.lsb = 0;
  if (alignment <= kNotAligned32 / 2) sum.exponent = 0;  // nothing took part
  sum.negative = zero_is_negative(unit, all_negative, any_negative);
}

}  // namespace tcnum
