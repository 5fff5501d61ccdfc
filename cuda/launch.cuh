// Launches of kernels whose blocks walk over work in steps of the grid.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

namespace tcnum {

/// What each block of a launch has, and the stream that it is in; null: the default one.
struct LaunchSize {
  int threads;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

#ifdef __CUDACC__

/// Declares a block's memory, as much as its launch says.
#define TCNUM_SHARED_MEMORY(name) extern __shared__ __align__(16) unsigned char name[]

/// Launches as many blocks as run side by side, but at most one for each of `pieces`: with more, the last to come would
/// have the GPU to themselves. What CUDA says of it.
template <class... Parameters, class... Arguments>
cudaError_t launch_resident(void (*kernel)(Parameters...), const LaunchSize& block, std::uint64_t pieces,
                            const Arguments&... arguments) {
  const auto [threads, shared_bytes, stream] = block;
  const auto* const function = reinterpret_cast<const void*>(kernel);
  int device = 0, multiprocessors = 0, blocks = 0;
  cudaError_t error =
      cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  if (error == cudaSuccess) error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess) {
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, shared_bytes);
  }
  if (error != cudaSuccess) return error;
  const auto resident = static_cast<std::uint64_t>(std::max(1, blocks * multiprocessors));
  kernel<<<static_cast<unsigned>(std::min(resident, pieces)), static_cast<unsigned>(threads), shared_bytes, stream>>>(
      arguments...);
  return cudaGetLastError();
}

#else  // on a CPU: tests/cuda_on_cpu

#define TCNUM_SHARED_MEMORY(name) alignas(16) static unsigned char name[std::size_t{1} << 20]

template <class... Parameters, class... Arguments>
static cudaError_t launch_resident(void (*kernel)(Parameters...), const LaunchSize& block, std::uint64_t pieces,
                                   const Arguments&... arguments) {
  constexpr std::uint64_t kBlocks = 2;
  cuda_on_cpu::launch(kernel, static_cast<unsigned>(std::min(kBlocks, pieces)), static_cast<unsigned>(block.threads),
                      arguments...);
  return cudaSuccess;
}

#endif

}  // namespace tcnum
