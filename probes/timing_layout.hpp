// How many operands the timing kernels take in turn: what they and the replay of their results must agree on.
#pragma once

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
/// Instructions in the body of a loop over steps: so many that its counter and branch do not show, however few chains
/// there are. Steps of a round are a multiple of the unrolling, which is a power of two.
constexpr int unrolled_steps(int instructions, int chains, int least = 4) {
  int steps = least;
  while (2 * steps * chains <= instructions) steps *= 2;
  return steps;
}

/// Of an operation that a lane does by itself (probes/time_chains.cuh): most chains, and how many calls a loop's body
/// has if one is few machine instructions.
inline constexpr int kMostLaneChains = 8, kLaneCalls = 128;
/// All calls in the kernel of such an operation, which has a loop for each number of chains.
constexpr int lane_calls_of_a_kernel() {
  int calls = 0;
  for (int chains = 1; chains <= kMostLaneChains; ++chains) calls += chains * unrolled_steps(kLaneCalls, chains);
  return calls;
}

}  // namespace tcnum
