// Timing what a lane does by itself: each puts a few numbers, independent of each other, through an operation again
// and again.
//
// Operands as they are given (bench/measure/lane_sweep.hpp): A and B one register for each lane; C [chain][lane], what
// the chains begin with; D [block][warp][chain][lane].
#pragma once

#include "timing.hpp"
#include "timing_common.cuh"

namespace tcnum {

/// A chain of an operation whose result is a number, which is the next one's operand.
template <class Number>
struct NumberChain {
  using Register = Number;
  Register x;
  __device__ Register result() const { return x; }
};

/// An operation is a type with
///   Chain                              what an application leaves to the next: its Register x, made from one, and
///                                      result(), another Register
///   kFirstArch                         the first architecture that has it
///   kBody                              how many make a loop's body: fewer of those that are many instructions each
///   apply(Chain&, const Register& a, const Register& b, int step)
///                                      of the steps only whether they are odd counts, which the compiler knows
template <class Op, int kChains>
__device__ void time_chains(const TimedLaunch& run) {
  using Chain = typename Op::Chain;
  using Register = typename Chain::Register;
  const unsigned lane = threadIdx.x % kWarpLanes, warp = threadIdx.x / kWarpLanes;
  const Register a = static_cast<const Register*>(run.a)[lane], b = static_cast<const Register*>(run.b)[lane];
  Register* const to_d =
      static_cast<Register*>(run.d) + (blockIdx.x * run.warps + warp) * (kChains * kWarpLanes) + lane;
  do_not_optimize(a);
  do_not_optimize(b);

  Stopwatch stopwatch(run);
  for (unsigned round = 0; round < run.rounds; ++round) {
    Chain chain[kChains];
#pragma unroll
    for (int c = 0; c < kChains; ++c) chain[c] = Chain{static_cast<const Register*>(run.c)[c * kWarpLanes + lane]};
#pragma unroll
    for (int c = 0; c < kChains; ++c) do_not_optimize(chain[c].x);
    stopwatch.start();
    constexpr int kUnroll = unrolled_steps(Op::kBody, kChains);
#pragma unroll 1
    for (unsigned step = 0; step < run.steps; step += kUnroll) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int c = 0; c < kChains; ++c) Op::apply(chain[c], a, b, u);
      }
    }
#pragma unroll
    for (int c = 0; c < kChains; ++c) do_not_optimize(chain[c].x);
    stopwatch.stop();
    bool same = true;
#pragma unroll
    for (int c = 0; c < kChains; ++c) same &= keep(to_d + c * kWarpLanes, chain[c].result(), round);
    if (!same) stopwatch.differs();
  }
  stopwatch.finish();
}

template <class Op>
__global__ void __launch_bounds__(1024) time_chains_kernel(const TimedLaunch run) {
  if constexpr (kCompiledFor < Op::kFirstArch || !is_timed(kCompiledFor)) {
    __trap();
  } else {
    switch (run.chains) {
      case 1:
        return time_chains<Op, 1>(run);
      case 2:
        return time_chains<Op, 2>(run);
      case 3:
        return time_chains<Op, 3>(run);
      case 4:
        return time_chains<Op, 4>(run);
      case 5:
        return time_chains<Op, 5>(run);
      case 6:
        return time_chains<Op, 6>(run);
      case 7:
        return time_chains<Op, 7>(run);
      default:
        return time_chains<Op, kMostLaneChains>(run);
    }
  }
}

template <class Op>
cudaError_t launch_chains(const TimedLaunch& run) {
  time_chains_kernel<Op><<<run.blocks, run.warps * kWarpLanes>>>(run);
  return cudaGetLastError();
}

constexpr unsigned most_lane_warps(unsigned) { return 32; }

}  // namespace tcnum
