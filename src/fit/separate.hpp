// The search for operands that separate two datapaths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "space.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// A problem for which the two datapaths give different results, or nothing if none is found among `tiles` tiles of 8 ×
/// 8 of each family that reaches what they differ in, and eight times as many of problems at their own boundaries.
std::optional<Problem> separate(const Space& space, const Choice& one, const Choice& other, std::uint64_t seed,
                                std::size_t tiles);

}  // namespace tcnum
