// Timing mma: each warp puts a few accumulators, independent of each other, through an instruction again and again.
//
// Registers as they are given (src/bench/fragments.hpp): A and B [slice][tile][register][lane], metadata
// [slice][tile][lane], C [chain][tile][register][lane], D [block][warp][chain][register][lane]. Step s takes slice
// s % kTimedSlices of its warp's operands, so that neighbouring instructions have others; warp w has tile
// w % kTimedTiles.
#pragma once

#include "tcnum/timing_layout.hpp"
#include "timing_common.cuh"

namespace tcnum {

/// What an instruction's kernel holds in registers at most, and so how many warps a block can have.
template <class Op>
constexpr unsigned most_warps_of_mma() {
  constexpr int kWords = sizeof(typename Op::Register) / 4;
  constexpr int kOperands = kTimedMmaSlices * (Op::kARegisters + Op::kBRegisters) + kTimedChains * Op::kDRegisters;
  constexpr int kOthers = 20;                           // addresses, counters, metadata
  return kOperands * kWords + kOthers <= 64 ? 32 : 16;  // 65536 registers of an SM, for 1024 threads or 512
}

template <class Op, int kChains>
__device__ void time_chains(const TimedLaunch& run) {
  using Register = typename Op::Register;
  constexpr int kNA = Op::kARegisters, kNB = Op::kBRegisters, kND = Op::kDRegisters;
  const unsigned lane = threadIdx.x % kWarpLanes, warp = threadIdx.x / kWarpLanes, tile = warp % kTimedTiles;

  // One pointer for each operand, and offsets that the compiler knows.
  const Register* const from_a = static_cast<const Register*>(run.a) + tile * (kNA * kWarpLanes) + lane;
  const Register* const from_b = static_cast<const Register*>(run.b) + tile * (kNB * kWarpLanes) + lane;
  const Register* const from_c = static_cast<const Register*>(run.c) + tile * (kND * kWarpLanes) + lane;
  const std::uint32_t* const from_e = static_cast<const std::uint32_t*>(run.e) + tile * kWarpLanes + lane;
  Register* const to_d =
      static_cast<Register*>(run.d) + (blockIdx.x * run.warps + warp) * (kChains * kND * kWarpLanes) + lane;

  Register a[kTimedMmaSlices][kNA], b[kTimedMmaSlices][kNB], d[kChains][kND];
  std::uint32_t e[kTimedMmaSlices] = {};
#pragma unroll
  for (int s = 0; s < kTimedMmaSlices; ++s) {
#pragma unroll
    for (int r = 0; r < kNA; ++r) a[s][r] = from_a[(s * kTimedTiles * kNA + r) * kWarpLanes];
#pragma unroll
    for (int r = 0; r < kNB; ++r) b[s][r] = from_b[(s * kTimedTiles * kNB + r) * kWarpLanes];
    if constexpr (Op::kGeometry.sparse) e[s] = from_e[s * kTimedTiles * kWarpLanes];
  }

  Stopwatch stopwatch(run);
  for (unsigned round = 0; round < run.rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kChains * kND; ++i) {
      d[i / kND][i % kND] = from_c[(i / kND * kTimedTiles * kND + i % kND) * kWarpLanes];
    }
#pragma unroll
    for (int i = 0; i < kChains * kND; ++i) settle(d[i / kND][i % kND]);
    stopwatch.start();
    constexpr int kUnroll = unrolled_steps(kTimedMmaBody, kChains);
#pragma unroll 1
    for (unsigned step = 0; step < run.steps; step += kUnroll) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        constexpr int kSlices = kTimedMmaSlices;
#pragma unroll
        for (int c = 0; c < kChains; ++c) {
          if constexpr (Op::kGeometry.sparse) {
            Op::template issue<0>(d[c], a[u % kSlices], b[u % kSlices], d[c], e[u % kSlices]);
          } else {
            Op::issue(d[c], a[u % kSlices], b[u % kSlices], d[c]);
          }
        }
      }
    }
#pragma unroll
    for (int c = 0; c < kChains; ++c) settle(d[c][0]);
    stopwatch.stop();

    bool same = true;
#pragma unroll
    for (int i = 0; i < kChains * kND; ++i) same &= keep(to_d + i * kWarpLanes, d[i / kND][i % kND], round);
    if (!same) stopwatch.differs();
  }
  stopwatch.finish();
}

template <class Op>
__global__ void __launch_bounds__(most_warps_of_mma<Op>() * kWarpLanes) time_mma_kernel(const TimedLaunch run) {
  if constexpr (kCompiledFor < Op::kFirstArch || !is_timed(kCompiledFor)) {
    __trap();
  } else {
    static_assert(kTimedChains == 6);
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
      default:
        return time_chains<Op, 6>(run);
    }
  }
}

template <class Op>
cudaError_t time_mma(const TimedLaunch& run) {
  time_mma_kernel<Op><<<run.blocks, run.warps * kWarpLanes>>>(run);
  return cudaGetLastError();
}

template <class Op>
constexpr Timing timing_of_mma() {
  return {time_mma<Op>, most_warps_of_mma<Op>()};
}

}  // namespace tcnum
