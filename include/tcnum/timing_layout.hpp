// How many operands the timing kernels take in turn: what they and the replay of their results must agree on.
#pragma once

namespace tcnum {

/// Step s of a chain multiplies slice s % slices.
inline constexpr int kTimedMmaSlices = 2;
inline constexpr int kTimedWgmmaSlices = 4;  ///< a 128-byte row of shared memory
/// Warp w of an mma has tile w % kTimedTiles.
inline constexpr int kTimedTiles = 2;
/// Most accumulators of a warp, independent of each other.
inline constexpr int kTimedChains = 6;
/// Instructions in the body of a loop over steps: so many that its counter and branch do not show, however few chains
/// there are. Steps of a round are a multiple of the unrolling, which is a power of two.
constexpr int unrolled_steps(int instructions, int chains) {
  int steps = 4;
  while (2 * steps * chains <= instructions) steps *= 2;
  return steps;
}
inline constexpr int kTimedMmaBody = 16;

}  // namespace tcnum
