// Timing how kernels start: many small ones that are submitted behind each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tcnum {

/// Kernels that are submitted behind each other, and waited for.
struct LaunchWork {
  /// As one CUDA graph; otherwise one by one to a CUDA stream.
  bool as_graph = false;
  unsigned kernels = 1;
  /// What each copies, adding 1 to each 4-byte word: from buffer A to B, the next one back. A multiple of 16; 0: empty
  /// kernels, of one warp.
  std::size_t bytes = 0;
};

/// Of one submission.
struct LaunchTimes {
  double submit_seconds = 0;      ///< until the host's calls are back
  double round_trip_seconds = 0;  ///< until the host knows that all is done
  double device_seconds = 0;      ///< between events before and behind; 0 of a single kernel, which has none in its way
};

/// Word i of buffer A before the first kernel.
constexpr std::uint32_t launch_word(std::uint64_t i) { return static_cast<std::uint32_t>(i) * 0x9e3779b1U; }

}  // namespace tcnum
