// What the fast evaluators share of alignment and of the sign of zero, on the CPU and on a GPU.
#pragma once

#include <cstdint>

#include "host_device.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum {

/// Exponent of an operand that takes part in no alignment, where exponents have 32 bits: two of them still add up to an
/// int, far below any exponent that takes part.
inline constexpr std::int32_t kNotAligned32 = -(1 << 24);
/// The same where they have 16: with that of any other operand, even the largest, it is below those of all products.
inline constexpr std::int32_t kNotAligned16 = -1000;

/// The alignment exponent of a unit's terms, of which `highest` is the highest exponent.
TCNUM_HOST_DEVICE inline int alignment_of(const Unit& unit, int highest, bool any_zero) {
  const ZeroExponent& zero = unit.zero_exponent;
  const bool bounded = zero.kind == ZeroExponentKind::floor || (zero.kind == ZeroExponentKind::zeros && any_zero);
  return bounded && zero.value > highest ? zero.value : highest;
}

/// Whether a sum that is zero is negative, by the signs of its terms.
TCNUM_HOST_DEVICE inline bool zero_is_negative(const Unit& unit, bool all_negative, bool any_negative) {
  if (unit.zero_sign == ZeroSign::positive) return false;
  const bool rounds_down = unit.result.count > 0 &&
                           unit.result.step[static_cast<std::size_t>(unit.result.count - 1)].rounding == Rounding::down;
  return all_negative || (any_negative && rounds_down);
}

}  // namespace tcnum
