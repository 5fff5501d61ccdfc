// What the timing kernels are given, and what they say.
#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string_view>
#include <vector>

namespace tcnum {

/// Of one block in one launch. Zero before it.
struct BlockTimes {
  unsigned long long cycles;  ///< of all rounds, without what is between them
  /// The SM's clock and the time, at the beginning and at the end.
  unsigned long long first_clock, last_clock, first_ns, last_ns;
  unsigned sm;
  unsigned differences;  ///< threads and rounds whose results differ from those of the first round
};

/// Device pointers: TimedOperands and TimedWork (bench/device/timing.hpp) in device memory.
struct TimedLaunch {
  const void* a;
  const void* b;
  const void* c;
  const void* e;
  void* d;            ///< of all blocks
  BlockTimes* times;  ///< of all blocks
  unsigned blocks, warps, chains, steps, rounds;
  bool completion, a_in_registers;
};

/// How an instruction is timed.
struct Timing {
  /// Starts the kernel on the default CUDA stream; what cudaGetLastError() says of the launch.
  cudaError_t (*launch)(const TimedLaunch& run) = nullptr;
  /// How many warps a block can have, each with so many accumulators.
  unsigned (*most_warps)(unsigned chains) = nullptr;
};

struct TimingKernel {
  std::string_view name;
  Timing timing;
};
std::span<const TimingKernel> incore_timing_kernels();
/// "dpx.NAME", which chains the function, and "dpx.values.NAME", which applies it to values that are given.
std::span<const TimingKernel> dpx_timing_kernels();
/// Those of mma, wmma and wgmma: a table for each of theirs.
std::vector<std::span<const TimingKernel>> instruction_timing_kernels();

/// The architectures that timing kernels of mma and plain arithmetic are built for, as in sm_XY; 0: all.
inline constexpr int kTimedArchs[] = {TCNUM_TIMING_ARCHS};
constexpr bool is_timed(int arch) {
  for (int each : kTimedArchs) {
    if (each == 0 || each == arch) return true;
  }
  return false;
}

}  // namespace tcnum
