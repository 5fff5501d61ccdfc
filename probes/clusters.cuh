// What kernels of clusters share: addresses in other blocks' shared memory, the barrier, and how they are started.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cluster_grid.hpp"
#include "device_common.cuh"

namespace tcnum {

/// Not an unnamed namespace: a file may leave some of these unused, and nvcc would warn.
namespace sync {

inline constexpr unsigned kMostThreads = 1024;

extern __shared__ uint4 dynamic_shared[];

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}
/// That address in the shared memory of a block of the cluster.
__device__ inline std::uint32_t cluster_address(std::uint32_t address, unsigned rank) {
  std::uint32_t mapped = 0;
  if constexpr (kCompiledFor >= 90) {
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  }
  return mapped;
}
__device__ inline unsigned cluster_rank() {
  unsigned rank = 0;
  if constexpr (kCompiledFor >= 90) asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ inline unsigned cluster_size() {
  unsigned size = 1;
  if constexpr (kCompiledFor >= 90) asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}
__device__ inline void meet_cluster() {
  if constexpr (kCompiledFor >= 90) {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  }
}

/// Lets a kernel have so much dynamic shared memory, and clusters of more blocks than every device has.
template <class Kernel>
cudaError_t allow(Kernel* kernel, const ClusterGrid& grid, std::size_t shared_bytes) {
  constexpr unsigned kPortableBlocks = 8;
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  if (error != cudaSuccess || grid.cluster <= kPortableBlocks) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

/// `attribute` must live as long as the configuration.
inline cudaLaunchConfig_t config_of(const ClusterGrid& grid, std::size_t shared_bytes, cudaLaunchAttribute& attribute) {
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {grid.cluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = grid.blocks;
  config.blockDim = grid.threads;
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &attribute;
  config.numAttrs = grid.cluster > 1 ? 1 : 0;
  return config;
}

}  // namespace sync
}  // namespace tcnum
