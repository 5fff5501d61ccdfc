// What the kernels of atomics, barriers and clusters are given, and what they say.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probes/cluster_grid.hpp"
#include "sync_timing.hpp"
#include "timing_kernels.hpp"

namespace tcnum {

/// Device pointers. `words` and `given` [block][thread].
struct AtomicLaunch {
  std::uint32_t* words;
  std::uint32_t* given;
  BlockTimes* times;
  unsigned threads, steps;
  /// What is added, and what a chain begins with: chain_start(). The compiler must not know it, or it would count.
  std::uint32_t one;
  bool same_address, chained;
};
struct BarrierLaunch {
  BlockTimes* times;
  unsigned long long* right;  ///< one for all
  unsigned steps, checks;
};
/// [cluster][from][to].
struct LatencyLaunch {
  std::uint32_t* cycles;
  std::uint32_t* ends;
};
struct RingLaunch {
  std::uint32_t* checksums;  ///< [block][thread]
  BlockTimes* times;
  unsigned parallel, rounds;
};

// Each starts its kernel on the default CUDA stream; what CUDA says of the launch.
cudaError_t launch_atomics(std::string_view operation, AtomicSpace space, const ClusterGrid& grid, AtomicLaunch run);
cudaError_t launch_barriers(Barrier barrier, const ClusterGrid& grid, BarrierLaunch run);
cudaError_t launch_latencies(const ClusterGrid& grid, LatencyLaunch run);
cudaError_t launch_ring(const ClusterGrid& grid, RingLaunch run);

}  // namespace tcnum
