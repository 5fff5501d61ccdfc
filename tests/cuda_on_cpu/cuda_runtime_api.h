// As much of CUDA as the kernels of streams want, and what those of mma and wgmma do around their instructions, on a
// CPU: they are tested, also with sanitizers, where no GPU is. Each thread of a block is a thread; the blocks of a grid
// run one after the other, so that a block's shared memory can be static. Only those of a cluster run side by side.
#pragma once

#include <atomic>
#include <barrier>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#define __host__
#define __device__
#define __global__
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(...)

// A program may have the kernels for the GPU too.
#define launch_stream_codes launch_stream_codes_on_cpu
#define launch_comparison launch_comparison_on_cpu
#define launch_packing launch_packing_on_cpu
#define launch_product launch_product_on_cpu
#define multiply_on_gpu multiply_on_gpu_on_cpu
#define multiply_by multiply_by_on_cpu
#define gemm_into gemm_into_on_cpu
#define gemm gemm_on_cpu
#define DeviceBuffer DeviceBufferOnCpu

enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation };
struct CUstream_st;
using cudaStream_t = CUstream_st*;
struct Dimension {
  unsigned x = 0;
};
inline thread_local Dimension threadIdx, blockIdx, gridDim;

namespace cuda_on_cpu {

inline constexpr unsigned kWarp = 32;

/// What a block's threads meet in.
struct Block {
  Block(unsigned threads, std::barrier<>& of_cluster) : all(threads), cluster(of_cluster), exchanged(threads) {
    for (unsigned at = 0; at < threads; at += kWarp) warps.push_back(std::make_unique<std::barrier<>>(kWarp));
  }
  std::barrier<> all;
  std::barrier<>& cluster;
  std::vector<std::unique_ptr<std::barrier<>>> warps;
  std::vector<std::uint64_t> exchanged;
  std::atomic<int> any = 0;
};
inline thread_local Block* block = nullptr;

/// Calls the kernel in every thread of every block, of which so many are a cluster.
template <class... Parameters, class... Arguments>
void launch_clusters(void (*kernel)(Parameters...), unsigned cluster, unsigned blocks, unsigned threads,
                     const Arguments&... arguments) {
  for (unsigned first = 0; first < blocks; first += cluster) {
    std::barrier<> all(cluster * threads);
    std::vector<std::unique_ptr<Block>> own;
    for (unsigned b = 0; b < cluster; ++b) own.push_back(std::make_unique<Block>(threads, all));
    std::vector<std::jthread> running;
    for (unsigned i = 0; i < cluster * threads; ++i) {
      running.emplace_back([&, i] {
        threadIdx.x = i % threads;
        blockIdx.x = first + i / threads;
        gridDim.x = blocks;
        block = own[i / threads].get();
        kernel(arguments...);
      });
    }
  }
}
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, const Arguments&... arguments) {
  launch_clusters(kernel, 1, blocks, threads, arguments...);
}
inline void meet_cluster() { block->cluster.arrive_and_wait(); }

}  // namespace cuda_on_cpu

inline void __syncthreads() { cuda_on_cpu::block->all.arrive_and_wait(); }
inline void __syncwarp() { cuda_on_cpu::block->warps[threadIdx.x / cuda_on_cpu::kWarp]->arrive_and_wait(); }
inline int __syncthreads_or(int predicate) {
  cuda_on_cpu::Block& block = *cuda_on_cpu::block;
  if (predicate != 0) block.any = 1;
  __syncthreads();
  const int any = block.any;
  __syncthreads();
  if (threadIdx.x == 0) block.any = 0;
  __syncthreads();
  return any;
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int lane_mask) {
  cuda_on_cpu::Block& block = *cuda_on_cpu::block;
  std::barrier<>& warp = *block.warps[threadIdx.x / cuda_on_cpu::kWarp];
  block.exchanged[threadIdx.x] = value;
  warp.arrive_and_wait();
  const T other = static_cast<T>(block.exchanged[threadIdx.x ^ static_cast<unsigned>(lane_mask)]);
  warp.arrive_and_wait();
  return other;
}
template <class T>
T atomicAdd(T* to, T x) {
  return std::atomic_ref(*to).fetch_add(x);
}
template <class T>
T atomicOr(T* to, T x) {
  return std::atomic_ref(*to).fetch_or(x);
}
inline std::uint64_t __cvta_generic_to_shared(const void* shared) { return reinterpret_cast<std::uintptr_t>(shared); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }

// A device's memory is the host's, aligned as a GPU's is and not a byte longer than it is said to be.
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
namespace cuda_on_cpu {
inline std::size_t free_memory = std::size_t{1} << 30;  ///< as cudaMemGetInfo says
}
inline const char* cudaGetErrorName(cudaError_t) { return "cudaErrorMemoryAllocation"; }
inline const char* cudaGetErrorString(cudaError_t) { return "out of memory"; }
inline cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  *free = *all = cuda_on_cpu::free_memory;
  return cudaSuccess;
}
inline cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  if (bytes > cuda_on_cpu::free_memory || posix_memalign(data, kAlignment, bytes) != 0)
    return cudaErrorMemoryAllocation;
  std::memset(*data, 0xa5, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* data) {
  std::free(data);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                std::size_t width, std::size_t height, cudaMemcpyKind) {
  for (std::size_t i = 0; i < height; ++i)
    std::memcpy(static_cast<char*>(to) + i * to_pitch, static_cast<const char*>(from) + i * from_pitch, width);
  return cudaSuccess;
}
