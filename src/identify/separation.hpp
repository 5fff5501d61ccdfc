// Inputs that tell those apart that agree with every answer.
#pragma once

#include <vector>

#include "producers.hpp"

namespace tcnum {

/// Of crafted and random operands, few that leave as many groups of producers as all of them do: at each step the one
/// that makes most groups, and of these the one with the fewest terms.
Separation separate(const Tiles& answered, const std::vector<const Producer*>& producers,
                    const IdentifyOptions& options);

}  // namespace tcnum
