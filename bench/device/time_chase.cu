// Timing loads of which each says where the next one goes.
#include <algorithm>

#include "gpu_device.hpp"
#include "timing_common.cuh"

namespace tcnum {
namespace {

constexpr unsigned kChaseThreads = 1024;

/// Device pointers.
struct ChaseLaunch {
  std::byte* buffer;
  const std::uint64_t* order;
  std::size_t pointers;
  std::size_t shared_bytes;  ///< of the buffer, if it is in shared memory
  bool touch;
  unsigned warm_hops, hops;
  BlockTimes* times;
  std::uint64_t* end;
};

/// In global memory a pointer is the address of the next one.
template <Memory kMemory>
struct ByPointer {
  using Pointer = unsigned long long;
  const std::byte* buffer;

  __device__ Pointer pointer(std::uint64_t offset) const { return reinterpret_cast<Pointer>(buffer) + offset; }
  __device__ std::uint64_t offset(Pointer pointer) const { return pointer - reinterpret_cast<Pointer>(buffer); }
  __device__ Pointer next(Pointer at) const {
    Pointer to;
    if constexpr (kMemory == Memory::l1) {
      asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(to) : "l"(at) : "memory");
    } else {
      asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(to) : "l"(at) : "memory");
    }
    return to;
  }
};

/// Or the next one's index in an array of 4-byte words, as programs have it that walk through a list in an array.
template <Memory kMemory>
struct ByIndex {
  using Pointer = unsigned;
  const std::byte* buffer;

  __device__ Pointer pointer(std::uint64_t offset) const { return static_cast<Pointer>(offset / sizeof(Pointer)); }
  __device__ std::uint64_t offset(Pointer pointer) const { return std::uint64_t{pointer} * sizeof(Pointer); }
  __device__ Pointer next(Pointer at) const {
    const auto* const from = reinterpret_cast<const Pointer*>(buffer) + at;
    Pointer to;
    if constexpr (kMemory == Memory::l1) {
      asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(to) : "l"(from) : "memory");
    } else {
      asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(to) : "l"(from) : "memory");
    }
    return to;
  }
};

extern __shared__ __align__(16) unsigned shared_pointers[];

template <>
struct ByPointer<Memory::shared> {
  using Pointer = unsigned;
  const std::byte* buffer;  ///< unused

  __device__ static Pointer base() { return static_cast<Pointer>(__cvta_generic_to_shared(shared_pointers)); }
  __device__ Pointer pointer(std::uint64_t offset) const { return base() + static_cast<Pointer>(offset); }
  __device__ std::uint64_t offset(Pointer pointer) const { return pointer - base(); }
  __device__ Pointer next(Pointer at) const {
    Pointer to;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(to) : "r"(at) : "memory");
    return to;
  }
};
template <>
struct ByIndex<Memory::shared> {
  using Pointer = unsigned;
  const std::byte* buffer;  ///< unused

  __device__ Pointer pointer(std::uint64_t offset) const { return static_cast<Pointer>(offset / sizeof(Pointer)); }
  __device__ std::uint64_t offset(Pointer pointer) const { return std::uint64_t{pointer} * sizeof(Pointer); }
  __device__ Pointer next(Pointer at) const {
    const auto from = static_cast<unsigned>(__cvta_generic_to_shared(shared_pointers + at));
    Pointer to;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(to) : "r"(from) : "memory");
    return to;
  }
};

/// Writes the pointers in parallel: each thread of so many has every so-many-th.
template <class Pointers>
__device__ void write_pointers_of(const Pointers& pointers, const ChaseLaunch& run, std::byte* to, std::size_t thread,
                                  std::size_t threads) {
  for (std::size_t i = thread; i < run.pointers; i += threads) {
    const std::uint64_t next = run.order[i + 1 == run.pointers ? 0 : i + 1];
    *reinterpret_cast<typename Pointers::Pointer*>(to + run.order[i]) = pointers.pointer(next);
  }
}

template <class Pointers>
__global__ void write_kernel(const ChaseLaunch run) {
  write_pointers_of(Pointers{run.buffer}, run, run.buffer, std::size_t{blockIdx.x} * blockDim.x + threadIdx.x,
                    std::size_t{gridDim.x} * blockDim.x);
}

template <class Pointers, bool kInShared>
__global__ void __launch_bounds__(kChaseThreads) chase_kernel(const ChaseLaunch run) {
  const Pointers pointers{run.buffer};
  if constexpr (kInShared) {
    write_pointers_of(pointers, run, reinterpret_cast<std::byte*>(shared_pointers), threadIdx.x, blockDim.x);
  }
  if (run.touch) {
    for (std::size_t i = threadIdx.x; i < run.pointers; i += blockDim.x) pointers.next(pointers.pointer(run.order[i]));
  }
  Stopwatch stopwatch(run.times);
  __syncthreads();
  if (threadIdx.x != 0) return;

  auto at = pointers.pointer(run.order[0]);
  const auto chase = [&](unsigned hops) {
#pragma unroll 1
    for (unsigned hop = 0; hop < hops; hop += kChaseHops) {
#pragma unroll
      for (unsigned i = 0; i < kChaseHops; ++i) at = pointers.next(at);
    }
    do_not_optimize(at);
  };
  chase(run.warm_hops);
  const long long before = clock64();
  chase(run.hops);
  stopwatch.add(clock64() - before);
  *run.end = pointers.offset(at);
  stopwatch.finish();
}

template <class Pointers, bool kInShared>
cudaError_t start_chase(const ChaseLaunch& run) {
  const auto kernel = chase_kernel<Pointers, kInShared>;
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(run.shared_bytes));
  // As little shared memory as there must be leaves the most to the L1.
  const int carveout = run.shared_bytes == 0 ? cudaSharedmemCarveoutMaxL1 : cudaSharedmemCarveoutDefault;
  if (error == cudaSuccess) {
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout);
  }
  if (error != cudaSuccess) return error;
  kernel<<<1, kChaseThreads, run.shared_bytes>>>(run);
  return cudaGetLastError();
}

/// Writes the pointers into global memory.
cudaError_t write_pointers(const ChaseLaunch& run, bool by_index) {
  constexpr unsigned kThreads = 256, kMostBlocks = 1024;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(run.pointers / kThreads + 1, kMostBlocks));
  if (by_index) {
    write_kernel<ByIndex<Memory::l1>><<<blocks, kThreads>>>(run);
  } else {
    write_kernel<ByPointer<Memory::l1>><<<blocks, kThreads>>>(run);
  }
  return cudaGetLastError();
}

template <Memory kMemory>
cudaError_t start_chase(const ChaseLaunch& run, bool by_index) {
  constexpr bool kInShared = kMemory == Memory::shared;
  return by_index ? start_chase<ByIndex<kMemory>, kInShared>(run) : start_chase<ByPointer<kMemory>, kInShared>(run);
}

}  // namespace

ChaseTimes GpuTimingDevice::chase(const Chase& work) {
  const bool in_shared = work.memory == Memory::shared;
  auto* const order = memory<std::uint64_t>("order", work.order.size());
  check(cudaMemcpy(order, work.order.data(), work.order.size() * sizeof(*order), cudaMemcpyHostToDevice),
        "cudaMemcpy to the device");
  if (!in_shared) free_streams();
  const ChaseLaunch run{.buffer = in_shared ? nullptr : memory<std::byte>("buffer", work.bytes),
                        .order = order,
                        .pointers = work.order.size(),
                        .shared_bytes = in_shared ? work.bytes : 0,
                        .touch = work.touch,
                        .warm_hops = work.warm_hops,
                        .hops = work.hops,
                        .times = clear_times(1),
                        .end = memory<std::uint64_t>("end", 1)};
  if (!in_shared) check(write_pointers(run, work.by_index), "writing pointers");
  if (work.flush) flush();
  check(in_shared                   ? start_chase<Memory::shared>(run, work.by_index)
        : work.memory == Memory::l1 ? start_chase<Memory::l1>(run, work.by_index)
                                    : start_chase<Memory::l2>(run, work.by_index),
        "launch of a chase");
  TimedBatch batch = finish("a chase", 1, 1);
  return {std::move(batch), downloaded(run.end, 1).front()};
}

}  // namespace tcnum
