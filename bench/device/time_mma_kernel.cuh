// Timing mma and wmma: each warp puts a few accumulators, independent of each other, through an instruction again and
// again.
//
// How operands are given (TimedOperands) and results are written is the Timed type's business: TimedMma's here,
// TimedWmma's in time_wmma.cuh. Step s takes slice s % kTimedMmaSlices of its warp's operands, so that neighbouring
// instructions have others; warp w has tile w % kTimedTiles.
#pragma once

#include "timing.hpp"
#include "timing_common.cuh"

namespace tcnum {

inline constexpr int kTimedMmaBody = 24;  ///< instructions of a loop's body

/// As a probe has its operands (probes/mma_kernel.cuh).
template <class Op>
struct TimedMma {
  using Register = typename Op::Register;
  static constexpr int kFirstArch = Op::kFirstArch;
  static constexpr int kARegisters = Op::kARegisters, kBRegisters = Op::kBRegisters, kDRegisters = Op::kDRegisters;
  static constexpr bool kSparse = Op::kGeometry.sparse;
  /// Where Hopper has no such mma, the compiler makes 8-bit integers of 4-bit ones, and fp16 of fp8, whose products it
  /// adds to the accumulators by itself. Sparse fp8 becomes so much that a long loop would not fit in the registers.
  static constexpr bool kWidened = Op::kIsFp8 || Op::kCodeBits == 4, kManifold = Op::kIsFp8 && kSparse;
  /// Registers that it holds for one slice's operands and for one accumulator, and instructions of a loop's body.
  static constexpr int kHeldOperands = (kARegisters + kBRegisters) * (kWidened ? 2 : 1) + (kWidened ? 4 : 0);
  static constexpr int kHeldAccumulators = kDRegisters * (kManifold ? 8 : Op::kIsFp8 ? 2 : 1);
  static constexpr int kBody = kManifold ? kTimedMmaSlices : kTimedMmaBody;
  static constexpr int kM = Op::kGeometry.m, kACodes = kM * Op::kGeometry.a_columns();

  __device__ static void read_a(Register (&to)[kARegisters], const void* from, unsigned block) {
    load_a<Op>(to, static_cast<const Code*>(from) + block * kACodes, lane());
  }
  __device__ static void read_b(Register (&to)[kBRegisters], const void* from, unsigned block) {
    load_b<Op>(to, static_cast<const Code*>(from) + block * (Op::kGeometry.k * kColumns), lane());
  }
  __device__ static std::uint32_t read_e(const void* from, unsigned block) {
    if constexpr (!kSparse)
      return 0;
    else
      return metadata_register<Op>(static_cast<const std::uint8_t*>(from) + block * kACodes, lane(), 0);
  }
  __device__ static void read_c(Register (&to)[kDRegisters], const void* from, unsigned block) {
    load_accumulators<Op::kAccumulatorBits, Op::kGeometry.accumulators(), kColumns>(
        to, static_cast<const Accumulator*>(from) + block * (kM * kColumns) + first(), AccumulatorAt());
  }
  __device__ static void write_d(void* to, const Register (&d)[kDRegisters]) {
    store_accumulators<Op::kAccumulatorBits, Op::kGeometry.accumulators(), kColumns>(
        d, static_cast<Accumulator*>(to) + first(), AccumulatorAt());
  }

  /// Products of fp8 do not depend on the accumulator: if their operands stayed the same, the compiler would compute
  /// them once for all, outside of the loop. So they are multiplied by a one that it knows nothing of, which costs an
  /// issue slot for each register.
  __device__ static void step(Register (&d)[kDRegisters], Register (&a)[kARegisters], Register (&b)[kBRegisters],
                              std::uint32_t metadata, std::uint32_t one) {
    if constexpr (Op::kIsFp8) {
#pragma unroll
      for (int i = 0; i < kARegisters; ++i) a[i] *= one;
#pragma unroll
      for (int i = 0; i < kBRegisters; ++i) b[i] *= one;
    }
    if constexpr (kSparse) {
      Op::template issue<0>(d, a, b, d, metadata);
    } else {
      Op::issue(d, a, b, d);
    }
  }

 private:
  using Code = typename Op::Code;
  using Accumulator = typename Op::Accumulator;
  struct AccumulatorAt {
    __device__ constexpr Element operator()(int i) const {
      constexpr MmaGeometry kOwn = Op::kGeometry;
      return kOwn.c(0, i);
    }
  };
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kWarpLanes; }
  /// Where the lane's first accumulator is in a tile.
  __device__ static int first() {
    constexpr MmaGeometry kOwn = Op::kGeometry;
    const Element at = kOwn.c(lane(), 0);
    return at.row * kColumns + at.column;
  }
};

/// How many warps of the kernel an SM's 65536 registers have room for. A kernel that ran out of registers would keep
/// some in memory, and its cycles would vary with the caches.
template <class Timed, int kChains>
constexpr unsigned most_warps_of_mma() {
  constexpr int kWords = sizeof(typename Timed::Register) / 4;
  constexpr int kOperands = kTimedMmaSlices * Timed::kHeldOperands + kChains * Timed::kHeldAccumulators;
  constexpr int kOthers = 24;  // addresses, counters, metadata
  constexpr int kRegisters = (kOperands + kOthers) * kWords;
  return kRegisters <= 64 ? 32 : kRegisters <= 128 ? 16 : 8;
}

template <class Timed, int kChains>
__device__ void time_chains(const TimedLaunch& run) {
  using Register = typename Timed::Register;
  constexpr int kND = Timed::kDRegisters, kImage = kND * kWarpLanes;
  const unsigned lane = threadIdx.x % kWarpLanes, warp = threadIdx.x / kWarpLanes, tile = warp % kTimedTiles;

  Register a[kTimedMmaSlices][Timed::kARegisters], b[kTimedMmaSlices][Timed::kBRegisters], d[kChains][kND];
  std::uint32_t e[kTimedMmaSlices];
#pragma unroll
  for (int s = 0; s < kTimedMmaSlices; ++s) {
    Timed::read_a(a[s], run.a, s * kTimedTiles + tile);
    Timed::read_b(b[s], run.b, s * kTimedTiles + tile);
    e[s] = Timed::read_e(run.e, s * kTimedTiles + tile);
    hold(a[s]);
    hold(b[s]);
  }
  // Images of the registers; behind them tiles of as many bytes.
  Register* const images = static_cast<Register*>(run.d) + (blockIdx.x * run.warps + warp) * (2 * kChains * kImage);

  std::uint32_t one;  // the grid has one dimension, but the compiler does not know
  asm volatile("mov.u32 %0, %nctaid.y;" : "=r"(one));
  Stopwatch stopwatch(run);
  for (unsigned round = 0; round < run.rounds; ++round) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) Timed::read_c(d[c], run.c, c * kTimedTiles + tile);
#pragma unroll
    for (int i = 0; i < kChains * kND; ++i) do_not_optimize(d[i / kND][i % kND]);
    stopwatch.start();
    constexpr int kUnroll = unrolled_steps(Timed::kBody, kChains, kTimedMmaSlices);
#pragma unroll 1
    for (unsigned step = 0; step < run.steps; step += kUnroll) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        constexpr int kSlices = kTimedMmaSlices;
#pragma unroll
        for (int c = 0; c < kChains; ++c) Timed::step(d[c], a[u % kSlices], b[u % kSlices], e[u % kSlices], one);
      }
    }
#pragma unroll
    for (int c = 0; c < kChains; ++c) {  // of one that becomes several machine instructions, the last one's too
      do_not_optimize(d[c][0]);
      do_not_optimize(d[c][kND - 1]);
    }
    stopwatch.stop();

    bool same = true;
#pragma unroll
    for (int i = 0; i < kChains * kND; ++i) same &= keep(images + i * kWarpLanes + lane, d[i / kND][i % kND], round);
    if (!same) stopwatch.differs();
  }
#pragma unroll
  for (int c = 0; c < kChains; ++c) Timed::write_d(images + (kChains + c) * kImage, d[c]);
  stopwatch.finish();
}

template <class Timed, int kChains>
__global__ void __launch_bounds__(most_warps_of_mma<Timed, kChains>() * kWarpLanes, 1)
    time_mma_kernel(const TimedLaunch run) {
  if constexpr (kCompiledFor < Timed::kFirstArch || !is_timed(kCompiledFor)) {
    __trap();
  } else {
    time_chains<Timed, kChains>(run);
  }
}

/// A kernel for each number of accumulators: they need other numbers of registers.
template <class Timed, int kChains = 1>
cudaError_t time_mma(const TimedLaunch& run) {
  if constexpr (kChains < kTimedChains) {
    if (run.chains > kChains) return time_mma<Timed, kChains + 1>(run);
  }
  time_mma_kernel<Timed, kChains><<<run.blocks, run.warps * kWarpLanes>>>(run);
  return cudaGetLastError();
}

template <class Timed, int kChains = 1>
constexpr unsigned most_warps_with(unsigned chains) {
  if constexpr (kChains < kTimedChains) {
    if (chains > kChains) return most_warps_with<Timed, kChains + 1>(chains);
  }
  return most_warps_of_mma<Timed, kChains>();
}

template <class Timed>
constexpr Timing timing_of() {
  return {time_mma<Timed>, most_warps_with<Timed>};
}

}  // namespace tcnum
