// Timing loads that do not wait for each other. Each thread xors the words that it gets: an instruction for two words,
// which shares no unit with loads.
#include "memory_kernels.hpp"
#include "timing_common.cuh"

namespace tcnum {
namespace {

extern __shared__ __align__(16) std::byte shared_bytes[];

template <unsigned kWidth>
struct Words {
  std::uint32_t of[kWidth / 4];
};

/// Instructions that differ in where they go and how wide they are.
#define TCNUM_LOADS(SPACE, ADDRESS)                                                                            \
  if constexpr (kWidth == 4) {                                                                                 \
    asm volatile("ld." SPACE ".u32 %0, [%1];" : "=r"(to.of[0]) : ADDRESS : "memory");                          \
  } else {                                                                                                     \
    asm volatile("ld." SPACE ".v2.u32 {%0, %1}, [%2];" : "=r"(to.of[0]), "=r"(to.of[1]) : ADDRESS : "memory"); \
  }

/// An address as the loads want it. It moves on by little: the upper half of it stays, and an instruction is enough.
template <Memory kMemory>
struct Address;
template <>
struct Address<Memory::l1> {
  const std::byte* at;

  __device__ void move(unsigned bytes) {
    asm volatile("{\n.reg .u32 low, high;\nmov.b64 {low, high}, %0;\nadd.u32 low, low, %1;\nmov.b64 %0, {low, high};\n}"
                 : "+l"(at)
                 : "r"(bytes));
  }
  template <unsigned kWidth>
  __device__ Words<kWidth> load() const {
    Words<kWidth> to;
    TCNUM_LOADS("global.ca", "l"(at))
    return to;
  }
};
template <>
struct Address<Memory::shared> {
  unsigned at;

  __device__ void move(unsigned bytes) { at += bytes; }
  template <unsigned kWidth>
  __device__ Words<kWidth> load() const {
    Words<kWidth> to;
    TCNUM_LOADS("shared", "r"(at))
    return to;
  }
};

/// Where the block's buffer begins: what is in shared memory is a copy.
template <Memory kMemory>
__device__ Address<kMemory> buffer_of(const GatherLaunch& run) {
  if constexpr (kMemory == Memory::shared) {
    for (std::size_t at = threadIdx.x * sizeof(uint4); at < run.bytes; at += kGatherThreads * sizeof(uint4)) {
      *reinterpret_cast<uint4*>(shared_bytes + at) = *reinterpret_cast<const uint4*>(run.buffer + at);
    }
    __syncthreads();
    return {static_cast<unsigned>(__cvta_generic_to_shared(shared_bytes))};
  } else {
    return {run.buffer};
  }
}

/// A round is everything once. The first is not timed. As far as the compiler knows, addresses differ from round to
/// round: otherwise it loads once what several rounds need.
template <Memory kMemory, unsigned kWidth>
__global__ void __launch_bounds__(kGatherThreads) gathers_kernel(const GatherLaunch run) {
  const Address<kMemory> buffer = buffer_of<kMemory>(run);
  Address<kMemory> from[kGathered];
#pragma unroll
  for (unsigned i = 0; i < kGathered; ++i) from[i] = {buffer.at + run.offsets[i * kGatherThreads + threadIdx.x]};
  const auto xored = [&] {
    Words<kWidth> words[kGathered];
#pragma unroll
    for (unsigned i = 0; i < kGathered; ++i) {
      words[i] = from[i].template load<kWidth>();
      from[i].move(run.zero);
    }
    std::uint32_t x = 0;
#pragma unroll
    for (unsigned i = 0; i < kGathered; ++i) {
#pragma unroll
      for (unsigned w = 0; w < kWidth / 4; ++w) x ^= words[i].of[w];
    }
    return x;
  };

  Stopwatch stopwatch(run.times);
  std::uint32_t checksum = next_checksum(0, xored());
  settle(checksum);
  stopwatch.start();
#pragma unroll 1
  for (unsigned round = 0; round < run.rounds; ++round) checksum = next_checksum(checksum, xored());
  settle(checksum);
  stopwatch.stop();
  run.checksums[blockIdx.x * kGatherThreads + threadIdx.x] = checksum;
  stopwatch.finish();
}

using GatherKernel = void (*)(GatherLaunch);
template <Memory kMemory>
GatherKernel kernel_of(unsigned width) {
  return width == 4 ? gathers_kernel<kMemory, 4> : gathers_kernel<kMemory, 8>;
}

__global__ void fill_kernel(std::uint32_t* to, std::size_t words, std::uint32_t seed) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += threads) {
    to[i] = memory_word(seed, i);
  }
}

}  // namespace

cudaError_t fill_words(std::uint32_t* to, std::size_t words, std::uint32_t seed) {
  constexpr unsigned kBlocks = 2048, kThreads = 256;
  fill_kernel<<<kBlocks, kThreads>>>(to, words, seed);
  return cudaGetLastError();
}

cudaError_t time_gathers(const GatherLaunch& run, Memory memory, unsigned width) {
  const bool in_shared = memory == Memory::shared;
  const GatherKernel kernel = in_shared ? kernel_of<Memory::shared>(width) : kernel_of<Memory::l1>(width);
  const std::size_t shared = in_shared ? run.bytes : 0;
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  const int carveout = in_shared ? cudaSharedmemCarveoutMaxShared : cudaSharedmemCarveoutMaxL1;
  if (error == cudaSuccess) {
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout);
  }
  if (error != cudaSuccess) return error;
  kernel<<<run.blocks, kGatherThreads, shared>>>(run);
  return cudaGetLastError();
}

}  // namespace tcnum
