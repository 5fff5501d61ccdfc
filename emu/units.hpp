// What evaluators ask of a datapath's units before they take it.
#pragma once

#include <algorithm>

#include "tcnum/datapath.hpp"

namespace tcnum {

/// Whether block scales, if there are any, are factors of sums, not of products.
inline bool scales_sums(const Numerics& numerics) { return std::ranges::any_of(numerics.units, &Unit::scaled); }

/// Whether a unit keeps less than all bits of some of its terms.
inline bool cuts_terms(const Unit& unit) {
  return unit.fraction_bits != kExact || unit.first_fraction_bits.value_or(kExact) != kExact;
}

}  // namespace tcnum
