// What the timing kernels share: reading the clocks, and checking that each round ends as the first did.
#pragma once

#include "probes/device_common.cuh"
#include "timing_kernels.hpp"

namespace tcnum {

inline constexpr int kWarpLanes = 32;

__device__ inline unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)::"memory");
  return now;
}

__device__ inline unsigned current_sm() {
  unsigned sm;
  asm("mov.u32 %0, %smid;" : "=r"(sm));
  return sm;
}

/// The block's stopwatch, which thread 0 reads. Barriers around the timed region: it lasts from when all warps are
/// there until the slowest is done.
class Stopwatch {
 public:
  __device__ explicit Stopwatch(const TimedLaunch& run) : Stopwatch(run.times) {}
  /// Of a block of which there are these.
  __device__ explicit Stopwatch(BlockTimes* blocks) : times_(blocks + blockIdx.x) {
    if (threadIdx.x != 0) return;
    times_->sm = current_sm();
    times_->first_ns = nanoseconds();
    times_->first_clock = clock64();
  }
  __device__ void start() {
    __syncthreads();
    started_ = clock64();
  }
  __device__ void stop() {
    __syncthreads();
    add(clock64() - started_);
  }
  __device__ void add(long long cycles) { cycles_ += cycles; }
  __device__ void differs() { atomicAdd(&times_->differences, 1u); }
  __device__ void finish() {
    if (threadIdx.x != 0) return;
    times_->cycles = static_cast<unsigned long long>(cycles_);
    times_->last_clock = clock64();
    times_->last_ns = nanoseconds();
  }

 private:
  BlockTimes* times_;
  long long started_ = 0, cycles_ = 0;
};

/// Calls each(i) with every i below `count`, shared among all threads of the grid.
template <class Each>
__device__ void each_of(std::size_t count, const Each& each) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) each(i);
}

/// Waits until the register is there: a predicated instruction that needs it goes before whatever follows.
template <class Register>
__device__ void do_not_optimize(Register value) {
  asm volatile("{\n.reg .pred here;\nsetp.eq.u32 here, %0, 0x5bd1e995;\n@here nanosleep.u32 1;\n}" ::"r"(
                   static_cast<unsigned>(value))
               : "memory");
}

/// Keeps registers as they are: the compiler cannot make again what they hold.
template <class Register, int kCount>
__device__ void hold(Register (&registers)[kCount]) {
#pragma unroll
  for (int r = 0; r < kCount; ++r) {
    if constexpr (sizeof(Register) == 4) {
      asm volatile("" : "+r"(registers[r]));
    } else {
      asm volatile("" : "+l"(registers[r]));
    }
  }
}

/// Stores a result in the first round; compares it with what is there in the others.
template <class Register>
__device__ bool keep(Register* to, Register value, unsigned round) {
  if (round != 0) return *to == value;
  *to = value;
  return true;
}

}  // namespace tcnum
