// Timing loads of which each says where the next one goes.
#include <algorithm>
#include <type_traits>

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

extern __shared__ __align__(16) unsigned shared_pointers[];

/// A pointer is the address of the next one, or the next one's index in an array of 4-byte words, as programs have it
/// that walk through a list in an array.
template <Memory kMemory, bool kByIndex>
struct Pointers {
  static constexpr bool kIsShared = kMemory == Memory::shared;
  using Pointer = std::conditional_t<kIsShared || kByIndex, unsigned, unsigned long long>;
  const std::byte* buffer;  ///< in global memory

  __device__ Pointer pointer(std::uint64_t offset) const {
    return kByIndex ? static_cast<Pointer>(offset / sizeof(Pointer)) : base() + static_cast<Pointer>(offset);
  }
  __device__ std::uint64_t offset(Pointer pointer) const {
    return kByIndex ? std::uint64_t{pointer} * sizeof(Pointer) : pointer - base();
  }
  __device__ Pointer next(Pointer at) const {
    Pointer to;
    if constexpr (kIsShared) {
      const unsigned from = kByIndex ? static_cast<unsigned>(__cvta_generic_to_shared(shared_pointers + at)) : at;
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(to) : "r"(from) : "memory");
    } else if constexpr (kByIndex) {
      const auto* const from = reinterpret_cast<const Pointer*>(buffer) + at;
      if constexpr (kMemory == Memory::l1) {
        asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(to) : "l"(from) : "memory");
      } else {
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(to) : "l"(from) : "memory");
      }
    } else if constexpr (kMemory == Memory::l1) {
      asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(to) : "l"(at) : "memory");
    } else {
      asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(to) : "l"(at) : "memory");
    }
    return to;
  }

 private:
  __device__ Pointer base() const {
    if constexpr (kIsShared) {
      return static_cast<Pointer>(__cvta_generic_to_shared(shared_pointers));
    } else {
      return static_cast<Pointer>(reinterpret_cast<unsigned long long>(buffer));
    }
  }
};

/// Writes the pointers in parallel: each thread of so many has every so-many-th.
template <class Way>
__device__ void write_pointers_of(const Way& pointers, const ChaseLaunch& run, std::byte* to, std::size_t thread,
                                  std::size_t threads) {
  for (std::size_t i = thread; i < run.pointers; i += threads) {
    const std::uint64_t next = run.order[i + 1 == run.pointers ? 0 : i + 1];
    *reinterpret_cast<typename Way::Pointer*>(to + run.order[i]) = pointers.pointer(next);
  }
}

template <bool kByIndex>
__global__ void write_kernel(const ChaseLaunch run) {
  write_pointers_of(Pointers<Memory::l1, kByIndex>{run.buffer}, run, run.buffer,
                    std::size_t{blockIdx.x} * blockDim.x + threadIdx.x, std::size_t{gridDim.x} * blockDim.x);
}

template <Memory kMemory, bool kByIndex>
__global__ void __launch_bounds__(kChaseThreads) chase_kernel(const ChaseLaunch run) {
  const Pointers<kMemory, kByIndex> pointers{run.buffer};
  if constexpr (kMemory == Memory::shared) {
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

template <Memory kMemory>
cudaError_t start_chase(const ChaseLaunch& run, bool by_index) {
  const auto kernel = by_index ? chase_kernel<kMemory, true> : chase_kernel<kMemory, false>;
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
  const auto kernel = by_index ? write_kernel<true> : write_kernel<false>;
  kernel<<<blocks, kThreads>>>(run);
  return cudaGetLastError();
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
