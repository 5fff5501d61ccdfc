// What a result depended on.
#pragma once

namespace tcnum {

/// Rules of a datapath that a dot problem can depend on only if it does something out of the ordinary. The fit uses
/// this: a wrong result that consulted none of them cannot be mended by changing them.
enum Consulted : unsigned {
  kConsultedNothing = 0,
  kConsultedSubnormalInput = 1u << 0,  ///< an operand is subnormal
  kConsultedZeroExponent = 1u << 1,    ///< aligning to the watched exponent instead would cut something
  kConsultedTinyResult = 1u << 2,      ///< a rounding step gave a subnormal number or zero
  kConsultedZeroSum = 1u << 3,         ///< aligned terms added up to zero
  kConsultedOverflow = 1u << 4,        ///< a rounding step overflowed
  kConsultedNan = 1u << 5,             ///< the result is NaN
  kConsultedRounding = 1u << 6,        ///< a rounding step dropped bits that were not zero
};

}  // namespace tcnum
