// Timing a histogram whose bins lie in the shared memory of a cluster's blocks.
#include "probes/clusters.cuh"
#include "sync_kernels.hpp"
#include "timing_common.cuh"

namespace tcnum {

/// Not an unnamed namespace: where timing kernels are not built, nothing uses these, and nvcc would warn.
namespace histogram {

using namespace sync;

/// Of each SM; with them, a thread has no more registers than leave room for all threads that an SM can have: 2048, or
/// fewer than two blocks have (PTX ISA, .minnctapersm; CUDA C++ Programming Guide, "Compute Capabilities").
constexpr bool kHas2048Threads = kCompiledFor == 80 || kCompiledFor == 90 || kCompiledFor == 100;
constexpr unsigned kBlocksOfMostThreads = kHas2048Threads ? 2 : 1;

template <bool kOfClusters>
__device__ void count_one(std::uint32_t own_bins, unsigned bin, const HistogramLaunch& run) {
  constexpr std::uint32_t kWord = sizeof(std::uint32_t);
  const std::uint32_t at = own_bins + kWord * (bin & ((1U << run.block_bits) - 1));
  if constexpr (kOfClusters) {
    if constexpr (kCompiledFor >= 90) {
      asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(cluster_address(at, bin >> run.block_bits)), "r"(1)
                   : "memory");
    }
  } else {
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(at), "r"(1) : "memory");
  }
}

template <bool kOfClusters>
__device__ void meet() {
  if constexpr (kOfClusters) {
    meet_cluster();
  } else {
    __syncthreads();
  }
}

/// Timed from when the cluster's bins are zero until all that its blocks count is in them. Then each block adds its
/// part to the whole.
template <bool kOfClusters>
__global__ void __launch_bounds__(kMostThreads, kBlocksOfMostThreads) histogram_kernel(const HistogramLaunch run) {
  if constexpr ((kOfClusters && kCompiledFor < 90) || !is_timed(kCompiledFor)) {
    __trap();
  } else {
    auto* const own = reinterpret_cast<std::uint32_t*>(dynamic_shared);
    const unsigned own_count = 1U << run.block_bits;
    for (unsigned i = threadIdx.x; i < own_count; i += blockDim.x) own[i] = 0;
    meet<kOfClusters>();
    Stopwatch stopwatch(run.times);
    stopwatch.start();
    const std::uint32_t own_bins = shared_address(own);
    const unsigned step = gridDim.x * blockDim.x;
#pragma unroll 1
    for (unsigned stretch = blockIdx.x * blockDim.x + threadIdx.x; stretch < run.stretches; stretch += step) {
      std::uint32_t element = first_element(stretch % kHistogramStretches);
#pragma unroll
      for (unsigned i = 0; i < kStretchElements; ++i) {
        count_one<kOfClusters>(own_bins, element >> run.element_shift, run);
        element = next_element(element);
      }
    }
    meet<kOfClusters>();
    stopwatch.stop();
    stopwatch.finish();
    const unsigned first = (kOfClusters ? cluster_rank() : 0) * own_count;
    for (unsigned i = threadIdx.x; i < own_count; i += blockDim.x) atomicAdd(run.counts + first + i, own[i]);
  }
}

}  // namespace histogram

namespace {

using namespace histogram;

using HistogramKernel = void (*)(HistogramLaunch);
HistogramKernel kernel_of(unsigned cluster) { return cluster > 1 ? histogram_kernel<true> : histogram_kernel<false>; }

/// What the kernel needs for such blocks, with all of an SM's shared memory, so that as many run as fit.
cudaError_t prepare(HistogramKernel kernel, const ClusterGrid& grid, std::size_t shared_bytes) {
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  return error == cudaSuccess ? allow(kernel, grid, shared_bytes) : error;
}

std::size_t shared_bytes_of(const HistogramWork& work) { return work.bins / work.cluster * sizeof(std::uint32_t); }

}  // namespace

cudaError_t launch_histogram(const HistogramWork& work, unsigned blocks, HistogramLaunch run) {
  const ClusterGrid grid{blocks, work.threads, work.cluster};
  const HistogramKernel kernel = kernel_of(work.cluster);
  if (const cudaError_t error = prepare(kernel, grid, shared_bytes_of(work)); error != cudaSuccess) return error;
  cudaLaunchAttribute attribute{};
  const cudaLaunchConfig_t config = config_of(grid, shared_bytes_of(work), attribute);
  return cudaLaunchKernelEx(&config, kernel, HistogramLaunch(run));
}

cudaError_t count_histogram_blocks(const HistogramWork& work, int sms, int* blocks) {
  *blocks = 0;
  const HistogramKernel kernel = kernel_of(work.cluster);
  const std::size_t shared_bytes = shared_bytes_of(work);
  int device = 0, most = 0, found = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error != cudaSuccess || shared_bytes > static_cast<std::size_t>(most)) return error;
  const ClusterGrid grid{work.cluster, work.threads, work.cluster};
  if (error = prepare(kernel, grid, shared_bytes); error != cudaSuccess) return error;
  if (work.cluster == 1) {
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&found, kernel, static_cast<int>(work.threads), shared_bytes);
    *blocks = found * sms;
    return error;
  }
  cudaLaunchAttribute attribute{};
  const cudaLaunchConfig_t config = config_of(grid, shared_bytes, attribute);
  error = cudaOccupancyMaxActiveClusters(&found, kernel, &config);
  *blocks = found * static_cast<int>(work.cluster);
  return error;
}

}  // namespace tcnum
