// Timing loads that do not wait for each other. Each thread xors the words that it gets: an instruction for two words,
// which shares no unit with loads.
#include "memory_kernels.hpp"
#include "memory_loads.cuh"
#include "timing_common.cuh"

namespace tcnum {
namespace {

/// A round is everything once. The first is not timed. As far as the compiler knows, addresses differ from round to
/// round: otherwise it loads once what several rounds need.
template <Memory kMemory, unsigned kWidth>
__global__ void __launch_bounds__(kGatherThreads) gathers_kernel(const GatherLaunch run) {
  const Address<kMemory> buffer = address_of<kMemory>(run.buffer, run.bytes);
  Address<kMemory> from[kGathered];
#pragma unroll
  for (unsigned i = 0; i < kGathered; ++i) from[i] = buffer + run.offsets[i * kGatherThreads + threadIdx.x];
  const auto xored = [&] {
    Words<kWidth> words[kGathered];
#pragma unroll
    for (unsigned i = 0; i < kGathered; ++i) {
      words[i] = from[i].template load<kWidth>();
      from[i].move(run.zero);
    }
    std::uint32_t x = 0;
#pragma unroll
    for (const Words<kWidth>& word : words) x ^= word.xored();
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

}  // namespace

cudaError_t time_gathers(const GatherLaunch& run, Memory memory, unsigned width) {
  const bool in_shared = memory == Memory::shared;
  const GatherKernel kernel = in_shared ? kernel_of<Memory::shared>(width) : kernel_of<Memory::l1>(width);
  const std::size_t shared = in_shared ? run.bytes : 0;
  const cudaError_t error = prefer_memory(reinterpret_cast<const void*>(kernel), memory, shared);
  if (error != cudaSuccess) return error;
  kernel<<<run.blocks, kGatherThreads, shared>>>(run);
  return cudaGetLastError();
}

}  // namespace tcnum
