// What a fit says of each property.
#pragma once

#include <cstdint>
#include <span>

#include "edge_rules.hpp"
#include "evidence.hpp"
#include "fit.hpp"
#include "space.hpp"

namespace tcnum {

/// What a fit has left.
struct Remaining {
  std::span<const Survivor> survivors;  ///< at least one; the first is the result's choice
  std::span<const Choice> unexpanded;   ///< cores whose edge rules were not decided
};

/// For each property: what refutes its other values, or what of it is still open, or that it cannot show. `result` has
/// its choice. The seed is for drawing samples of what is left.
void judge_properties(const Space& space, const Evidence& evidence, const Remaining& left, std::uint64_t seed,
                      FitResult& result);

}  // namespace tcnum
