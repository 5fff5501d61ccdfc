// Timing how fast all SMs read at once. Each thread xors the words that it gets and makes a checksum of each round's:
// no unit that loads share, and few instructions for each load.
#include <cooperative_groups.h>

#include <utility>

#include "gpu_device.hpp"
#include "memory_loads.cuh"
#include "timing_common.cuh"

namespace tcnum {
namespace {

/// Device pointers.
struct ReadLaunch {
  const std::byte* buffer;
  ReadWork work;
  unsigned blocks;
  BlockTimes* times;         ///< of all blocks
  std::uint32_t* checksums;  ///< [block][thread]
};

/// A round's loads, at offsets that are parts of the instructions.
template <Memory kMemory, unsigned kWidth, unsigned... kLoad>
__device__ std::uint32_t xored_piece(Address<kMemory> at, std::integer_sequence<unsigned, kLoad...>) {
  const Words<kWidth> words[] = {at.template load<kWidth, kLoad * kReadThreads * kWidth>()...};
  std::uint32_t x = 0;
#pragma unroll
  for (const Words<kWidth>& word : words) x ^= word.xored();
  return x;
}

/// Goes over a region of whole pieces.
template <Memory kMemory, unsigned kWidth>
struct Walk {
  static constexpr unsigned kLoads = kReadPiece / kReadThreads / kWidth;

  Address<kMemory> first;
  std::size_t at, end;

  __device__ Walk(const ReadLaunch& run, Address<kMemory> region)
      : first(region + threadIdx.x * kWidth),
        at(run.work.start(blockIdx.x, gridDim.x) * kReadPiece),
        end(run.work.bytes) {}
  __device__ std::uint32_t xored() {
    const std::uint32_t x = xored_piece<kMemory, kWidth>(first + at, std::make_integer_sequence<unsigned, kLoads>());
    at += kReadPiece;
    if (at == end) at = 0;
    return x;
  }
};

/// Blocks wait for each other after the rounds that are not timed. The stopwatch of a block runs from its own first
/// load until its own last word is there.
template <Memory kMemory, unsigned kWidth>
__global__ void __launch_bounds__(kReadThreads, 1) reads_kernel(const ReadLaunch run) {
  const std::byte* const mine = run.buffer + run.work.first_piece(blockIdx.x) * kReadPiece;
  Walk<kMemory, kWidth> walk(run, address_of<kMemory>(mine, run.work.bytes));
  std::uint32_t checksum = 0;
#pragma unroll 1
  for (unsigned round = 0; round < run.work.warm_rounds; ++round) checksum = next_checksum(checksum, walk.xored());
  do_not_optimize(checksum);
  cooperative_groups::this_grid().sync();

  const unsigned rounds = run.work.timed_rounds(blockIdx.x);
  Stopwatch stopwatch(run.times);
  stopwatch.start();
  constexpr unsigned kUnrolled = 2;
#pragma unroll kUnrolled
  for (unsigned round = 0; round < rounds; ++round) checksum = next_checksum(checksum, walk.xored());
  do_not_optimize(checksum);
  stopwatch.stop();
  stopwatch.finish();
  run.checksums[blockIdx.x * kReadThreads + threadIdx.x] = checksum;
}

using ReadKernel = void (*)(ReadLaunch);
template <Memory kMemory>
ReadKernel kernel_of(const ReadWork& work) {
  return work.width == 4   ? reads_kernel<kMemory, 4>
         : work.width == 8 ? reads_kernel<kMemory, 8>
                           : reads_kernel<kMemory, 16>;
}
ReadKernel kernel_of(const ReadWork& work) {
  return work.memory == Memory::shared ? kernel_of<Memory::shared>(work)
         : work.memory == Memory::l1   ? kernel_of<Memory::l1>(work)
                                       : kernel_of<Memory::l2>(work);
}

}  // namespace

ReadTimes GpuTimingDevice::read(const ReadWork& work) {
  const std::size_t threads = std::size_t{sms_} * kReadThreads;
  ReadLaunch run{.buffer = memory<std::byte>("buffer", work.buffer_bytes(sms_)),
                 .work = work,
                 .blocks = sms_,
                 .times = clear_times(sms_),
                 .checksums = memory<std::uint32_t>("checksums", threads)};
  const auto* const kernel = reinterpret_cast<const void*>(kernel_of(work));
  const std::size_t shared = work.memory == Memory::shared ? work.bytes : 0;
  check(prefer_memory(kernel, work.memory, shared), "cudaFuncSetAttribute");
  void* arguments[] = {&run};
  check(cudaLaunchCooperativeKernel(kernel, dim3(run.blocks), dim3(kReadThreads), arguments, shared, nullptr),
        "launch of reads");
  ReadTimes times{finish("reads", 1, sms_), {}, downloaded(run.checksums, threads)};
  for (const BlockTimes& block : block_times(sms_)) times.cycles.push_back(static_cast<double>(block.cycles));
  return times;
}

}  // namespace tcnum
