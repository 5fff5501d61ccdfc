// How many clusters a device has room for.
#include "clusters.cuh"

namespace tcnum {
namespace {

/// Shared memory with which no second block fits on an SM: more than half of what Hopper's SMs have.
constexpr std::size_t kAloneBytes = 128 * 1024;

__global__ void __launch_bounds__(sync::kMostThreads, 1) idle_kernel() {}

}  // namespace

cudaError_t count_clusters(unsigned cluster, int* clusters) {
  *clusters = 0;
  int device = 0, most = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error != cudaSuccess || static_cast<std::size_t>(most) < kAloneBytes) return error;
  const ClusterGrid grid{cluster, sync::kMostThreads, cluster};
  error = sync::allow(idle_kernel, grid, kAloneBytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute attribute{};
  const cudaLaunchConfig_t config = sync::config_of(grid, kAloneBytes, attribute);
  return cudaOccupancyMaxActiveClusters(clusters, idle_kernel, &config);
}

}  // namespace tcnum
