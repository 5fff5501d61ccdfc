// What the kernels that copy to shared memory are given. Pointers are the device's; each function starts a kernel on
// the default CUDA stream, and returns what CUDA says of the launch.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "copy_timing.hpp"
#include "probes/cluster_grid.hpp"
#include "timing_kernels.hpp"

namespace tcnum {

/// Blocks of a launch, and dynamic shared memory of each; at least so much that no two fit on an SM.
struct CopyGrid : ClusterGrid {
  std::size_t shared_bytes = 0;
};

/// What the barriers of all rings of a block take of its shared memory.
inline constexpr std::size_t kCopyBarrierBytes = std::size_t{2} * kMostCopyWarps * kMostCopyStages * 8;

struct CopyRingLaunch {
  const std::byte* buffer;
  BoxLayout layout;  ///< of boxes that arrive: of a cluster's, whole ones
  std::uint32_t copy_bytes, stages, copies;
  std::uint32_t apart;  ///< from the first box of a block, or cluster, to that of the next
  std::uint32_t step;   ///< from a warp's box to its next one
  bool read_all;
  BlockTimes* times;
  std::uint32_t* checksums;  ///< [block][warp]
};
struct CopyLatencyLaunch {
  const std::byte* buffer;
  BoxLayout layout;
  std::uint32_t copy_bytes, copies, apart;
  bool from_l2;
  std::uint32_t* cycles;     ///< of each copy
  std::uint32_t* checksums;  ///< [copy][block]; zero before
};

/// `map` is of the boxes that one instruction brings; no other way than the tensor's looks at it.
cudaError_t launch_copy_ring(const CopyMethod& method, const CopyGrid& grid, const CopyRingLaunch& run,
                             const CUtensorMap& map);
cudaError_t launch_copy_latency(const CopyMethod& method, const CopyGrid& grid, const CopyLatencyLaunch& run,
                                const CUtensorMap& map);
/// How many clusters of such blocks run at the same time.
cudaError_t count_copy_clusters(const CopyMethod& method, const CopyGrid& grid, int* clusters);

}  // namespace tcnum
