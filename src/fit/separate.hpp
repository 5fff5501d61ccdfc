// The search for operands that separate two datapaths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "space.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// A problem for which the two datapaths give different results, or nothing if none is found among `tiles` tiles of 8 ×
/// 8 of each distribution that reaches what they differ in, and eight times as many of problems at their own
/// boundaries. Calls `go_on` now and then, which may throw.
std::optional<Problem> separate(const Space& space, const Choice& one, const Choice& other, std::uint64_t seed,
                                std::size_t tiles, const std::function<void()>& go_on = {});

}  // namespace tcnum
