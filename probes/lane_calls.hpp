// How often a kernel that times an operation calls it: `tcnum sass` divides by that.
#pragma once

namespace tcnum {

/// Instructions in the body of a loop over steps: so many that its counter and branch do not show, however few chains
/// there are. Steps of a round are a multiple of the unrolling, which is a power of two.
constexpr int unrolled_steps(int instructions, int chains, int least = 4) {
  int steps = least;
  while (2 * steps * chains <= instructions) steps *= 2;
  return steps;
}

/// An operation that a lane does by itself: most chains, and how many calls a loop's body
/// has if one is few machine instructions.
inline constexpr int kMostLaneChains = 8, kLaneCalls = 128;
/// All calls in the kernel of such an operation, which has a loop for each number of chains.
constexpr int lane_calls_of_a_kernel() {
  int calls = 0;
  for (int chains = 1; chains <= kMostLaneChains; ++chains) calls += chains * unrolled_steps(kLaneCalls, chains);
  return calls;
}

}  // namespace tcnum
