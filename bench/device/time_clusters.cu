// Timing the shared memory of a cluster's other blocks.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "gpu_device.hpp"
#include "probes/clusters.cuh"
#include "timing_common.cuh"

namespace tcnum {

/// Not an unnamed namespace: where timing kernels are not built, nothing uses these, and nvcc would warn.
namespace sync {

constexpr unsigned kHopsOfBody = 32;
static_assert(kClusterHops % kHopsOfBody == 0);

/// Device pointers, [cluster][from][to].
struct LatencyLaunch {
  std::uint32_t* cycles;
  std::uint32_t* ends;
};
struct RingLaunch {
  std::uint32_t* checksums;  ///< [block][thread]
  BlockTimes* times;
  unsigned parallel, rounds;
};

__device__ std::uint32_t load_cluster(std::uint32_t address) {
  std::uint32_t word = 0;
  if constexpr (kCompiledFor >= 90) {
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  }
  return word;
}

/// One warp a block. A pair at a time: the block `from` lays the cycle into the memory of `to`, and follows it.
__global__ void __launch_bounds__(kWarpLanes) latencies_kernel(const LatencyLaunch run) {
  if constexpr (kCompiledFor < 90 || !is_timed(kCompiledFor)) {
    __trap();
  } else {
    __shared__ std::uint32_t nodes[kClusterNodes];
    const unsigned size = cluster_size(), rank = cluster_rank(), cluster = blockIdx.x / size;
    meet_cluster();
    for (unsigned pair = 0; pair < size * size; ++pair) {
      if (rank == pair / size) {
        const std::uint32_t base = cluster_address(shared_address(nodes), pair % size);
        for (std::uint32_t i = threadIdx.x; i < kClusterNodes; i += kWarpLanes) {
          asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(base + 4 * i), "r"(base + 4 * next_cluster_node(i))
                       : "memory");
        }
        asm volatile("fence.acq_rel.cluster;" ::: "memory");
        __syncwarp();
        if (threadIdx.x == 0) {
          std::uint32_t at = base;
          for (unsigned hop = 0; hop < kClusterNodes; ++hop) at = load_cluster(at);  // once around: back at the first
          do_not_optimize(at);
          const long long begin = clock64();
#pragma unroll 1
          for (unsigned hop = 0; hop < kClusterHops; hop += kHopsOfBody) {
#pragma unroll
            for (unsigned u = 0; u < kHopsOfBody; ++u) at = load_cluster(at);
          }
          do_not_optimize(at);
          const long long end = clock64();
          run.cycles[cluster * size * size + pair] = static_cast<std::uint32_t>(end - begin);
          run.ends[cluster * size * size + pair] = (at - base) / 4;
        }
      }
      meet_cluster();
    }
  }
}

template <unsigned kParallel>
__device__ std::uint32_t read_round(std::uint32_t from) {
  constexpr unsigned kCount = kRingBytes / sizeof(uint4);
  std::uint32_t checksum = 0;
  for (unsigned i = threadIdx.x; i < kCount; i += kParallel * blockDim.x) {
    uint4 words[kParallel];
#pragma unroll
    for (unsigned p = 0; p < kParallel; ++p) {
      asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(words[p].x), "=r"(words[p].y), "=r"(words[p].z), "=r"(words[p].w)
                   : "r"(from + static_cast<std::uint32_t>(sizeof(uint4)) * (i + p * blockDim.x))
                   : "memory");
    }
#pragma unroll
    for (unsigned p = 0; p < kParallel; ++p) checksum ^= words[p].x ^ words[p].y ^ words[p].z ^ words[p].w;
  }
  return checksum;
}

__global__ void __launch_bounds__(kMostThreads) ring_kernel(const RingLaunch run) {
  if constexpr (kCompiledFor < 90 || !is_timed(kCompiledFor)) {
    __trap();
  } else {
    auto* const own = reinterpret_cast<std::uint32_t*>(dynamic_shared);
    const unsigned rank = cluster_rank();
    for (unsigned i = threadIdx.x; i < kRingBytes / sizeof(std::uint32_t); i += blockDim.x) own[i] = ring_word(rank, i);
    meet_cluster();
    const std::uint32_t from = cluster_address(shared_address(own), (rank + 1) % cluster_size());
    std::uint32_t checksum = 0;
    Stopwatch stopwatch(run.times);
    stopwatch.start();
#pragma unroll 1
    for (unsigned round = 0; round < run.rounds; ++round) {
      switch (run.parallel) {
        case 1:
          checksum = read_round<1>(from);
          break;
        case 2:
          checksum = read_round<2>(from);
          break;
        case 4:
          checksum = read_round<4>(from);
          break;
        default:
          checksum = read_round<8>(from);
      }
      do_not_optimize(checksum);
    }
    stopwatch.stop();
    stopwatch.finish();
    run.checksums[blockIdx.x * blockDim.x + threadIdx.x] = checksum;
    meet_cluster();  // nobody leaves while its memory is read
  }
}

}  // namespace sync

namespace {

using namespace sync;

/// Shared memory with which no second block of a kernel fits on an SM, beside the kernel's own arrays: kRingBytes, more
/// than half of what Hopper's SMs have, or all that a block can have where that is less.
template <class Kernel>
cudaError_t find_spoiler(Kernel* kernel, std::size_t* bytes) {
  int device = 0, most = 0;
  cudaFuncAttributes own{};
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&own, kernel);
  if (error == cudaSuccess) *bytes = std::min(kRingBytes, static_cast<std::size_t>(most) - own.sharedSizeBytes);
  return error;
}

template <class Launch>
cudaError_t start(void (*kernel)(Launch), const ClusterGrid& grid, const Launch& run) {
  std::size_t spoiler = 0;
  if (const cudaError_t error = find_spoiler(kernel, &spoiler); error != cudaSuccess) return error;
  if (const cudaError_t error = allow(kernel, grid, spoiler); error != cudaSuccess) return error;
  cudaLaunchAttribute attribute{};
  const cudaLaunchConfig_t config = config_of(grid, spoiler, attribute);
  return cudaLaunchKernelEx(&config, kernel, Launch(run));
}

ClusterGrid grid_of(unsigned threads, unsigned cluster) {
  int clusters = 0;
  check(count_clusters(cluster, &clusters), "cudaOccupancyMaxActiveClusters");
  if (clusters == 0) throw std::runtime_error("no cluster of " + std::to_string(cluster) + " blocks fits");
  return {static_cast<unsigned>(clusters) * cluster, threads, cluster};
}

}  // namespace

unsigned GpuTimingDevice::most_cluster_blocks() {
  require_kernels("clusters");
  unsigned most = 1;
  for (const unsigned size : {2U, 4U, 8U, 16U}) {
    int clusters = 0;
    if (count_clusters(size, &clusters) == cudaSuccess && clusters > 0) most = size;
    cudaGetLastError();  // not an error of what follows
  }
  return most;
}

ClusterLatencies GpuTimingDevice::cluster_latencies(unsigned cluster) {
  const ClusterGrid grid = grid_of(kWarpLanes, cluster);
  const std::size_t clusters = grid.blocks / cluster, count = clusters * cluster * cluster;
  const LatencyLaunch run{memory<std::uint32_t>("words", count), memory<std::uint32_t>("given", count)};
  check(start(latencies_kernel, grid, run), "launch of a cluster's latencies");
  finish("a cluster's latencies");
  const auto cycles = downloaded(run.cycles, count);
  return {clusters, {cycles.begin(), cycles.end()}, downloaded(run.ends, count)};
}

CheckedTimes GpuTimingDevice::ring(const RingWork& work, unsigned launches) {
  const ClusterGrid grid = grid_of(work.threads, work.cluster);
  const std::size_t threads = std::size_t{grid.blocks} * grid.threads;
  RingLaunch run{memory<std::uint32_t>("given", threads), nullptr, work.parallel, work.rounds};
  TimedBatch batch = launched("a ring", run, launches, grid.blocks, BlocksRun::anywhere,
                              [&] { return start(ring_kernel, grid, run); });
  return {std::move(batch), grid.blocks, downloaded(run.checksums, threads)};
}

}  // namespace tcnum
