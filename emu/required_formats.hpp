// What evaluators ask of number formats.
#pragma once

#include "emu/evaluators.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum {

/// Of those that take codes apart by a sign, an exponent and a fraction.
inline WhyNot why_no_signs(const Numerics& numerics) {
  for (const OperandRule* operand : {&numerics.a, &numerics.b, &numerics.c}) {
    const Format& f = format(operand->format);
    if (!f.floating || !f.has_sign) return "some operands are integers, or have no sign";
  }
  return {};
}

/// Of those that take formats of the user's own as far as these are like those of the table, whose numbers and products
/// the machine's fp64 holds.
inline WhyNot why_no_own_formats(const Numerics& numerics) {
  constexpr Format kFp32 = format(FormatId::fp32);
  for (const FormatId id : {numerics.a.format, numerics.b.format, numerics.c.format, numerics.result}) {
    if (is_own(id) && !holds(kFp32, format(id))) return "a format of its own has numbers that fp32 has not";
  }
  const bool own_scales = numerics.scales && is_own(numerics.scales->format);
  return own_scales ? WhyNot("its scales are of a format of its own") : WhyNot();
}

}  // namespace tcnum
