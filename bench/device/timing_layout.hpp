// How many operands the timing kernels take in turn: what they and the replay of their results must agree on.
#pragma once

#include "probes/lane_calls.hpp"

namespace tcnum {

/// Step s of a chain multiplies slice s % slices.
inline constexpr int kTimedMmaSlices = 2;
/// As many as fit along K into the 128 bytes of shared memory that each row of A and each column of B have: a slice of
/// A has 32 bytes whatever its type, one of B as many, or 64 if A is sparse.
constexpr int timed_wgmma_slices(bool sparse) { return sparse ? 2 : 4; }
/// Warp w of an mma has tile w % kTimedTiles.
inline constexpr int kTimedTiles = 2;
/// Most accumulators of a warp, independent of each other.
inline constexpr int kTimedChains = 6;

}  // namespace tcnum
