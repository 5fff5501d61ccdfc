// Timing plain arithmetic: each lane puts a few numbers, independent of each other, through an operation again and
// again.
//
// Operands as they are given (src/bench/incore.cpp): A and B one register for each lane; C [chain][lane], what the
// chains begin with; D [block][warp][chain][lane].
#include "timing_common.cuh"
#include "timing_layout.hpp"

namespace tcnum {
// One row an operation: its name, first architecture, how many make a loop's body (fewer of those that are many
// instructions each), width and constraint of its registers, and the operands of its PTX (%0 the chain's number; %1 and
// %2 constants).
// clang-format off
#define TCNUM_INCORE_ROWS(X)                                      \
  X(fma_f16x2,   "fma.rn.f16x2", 53, 128, 32, "r", "%0, %0, %1, %2") \
  X(fma_bf16x2,  "fma.rn.bf16x2", 80, 128, 32, "r", "%0, %0, %1, %2") \
  X(fma_f32,     "fma.rn.f32", 50, 128, 32, "r", "%0, %0, %1, %2") \
  X(fma_f64,     "fma.rn.f64", 50, 128, 64, "l", "%0, %0, %1, %2") \
  X(mad_s32,     "mad.lo.s32", 50, 128, 32, "r", "%0, %0, %1, %2") \
  X(div_f32,     "div.rn.f32", 50, 16, 32, "r", "%0, %1, %0")     \
  X(div_fast,    "div.approx.f32", 50, 16, 32, "r", "%0, %1, %0")     \
  X(sqrt_f32,    "sqrt.rn.f32", 50, 16, 32, "r", "%0, %0")         \
  X(sqrt_fast,   "sqrt.approx.f32", 50, 16, 32, "r", "%0, %0")         \
  X(div_f64,     "div.rn.f64", 50, 16, 64, "l", "%0, %1, %0")     \
  X(sqrt_f64,    "sqrt.rn.f64", 50, 16, 64, "l", "%0, %0")
// clang-format on

#define TCNUM_INCORE_OP(NAME, PTX, FIRST, BODY, BITS, R, OPERANDS)                    \
  struct NAME {                                                                       \
    using Register = Bits<BITS>;                                                      \
    static constexpr int kFirstArch = FIRST, kBody = BODY;                            \
    __device__ static void apply(Register& x, const Register& a, const Register& b) { \
      asm volatile(PTX " " OPERANDS ";" : "+" R(x) : R(a), R(b));                     \
    }                                                                                 \
  };
#define TCNUM_INCORE_KERNEL(NAME, PTX, FIRST, BODY, BITS, R, OPERANDS) \
  {"incore." PTX, {time_incore<incore::NAME>, most_warps}},

/// Not in an unnamed namespace: where timing kernels are not built, nothing uses them, and nvcc would warn.
namespace incore {
TCNUM_INCORE_ROWS(TCNUM_INCORE_OP)
}  // namespace incore

namespace {

constexpr int kMostChains = 8;

template <class Op, int kChains>
__device__ void time_incore_chains(const TimedLaunch& run) {
  using Register = typename Op::Register;
  const unsigned lane = threadIdx.x % kWarpLanes, warp = threadIdx.x / kWarpLanes;
  const Register a = static_cast<const Register*>(run.a)[lane], b = static_cast<const Register*>(run.b)[lane];
  Register* const to_d =
      static_cast<Register*>(run.d) + (blockIdx.x * run.warps + warp) * (kChains * kWarpLanes) + lane;
  settle(a);
  settle(b);

  Stopwatch stopwatch(run);
  for (unsigned round = 0; round < run.rounds; ++round) {
    Register x[kChains];
#pragma unroll
    for (int c = 0; c < kChains; ++c) x[c] = static_cast<const Register*>(run.c)[c * kWarpLanes + lane];
#pragma unroll
    for (int c = 0; c < kChains; ++c) settle(x[c]);
    stopwatch.start();
    constexpr int kUnroll = unrolled_steps(Op::kBody, kChains);
#pragma unroll 1
    for (unsigned step = 0; step < run.steps; step += kUnroll) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int c = 0; c < kChains; ++c) Op::apply(x[c], a, b);
      }
    }
#pragma unroll
    for (int c = 0; c < kChains; ++c) settle(x[c]);
    stopwatch.stop();
    bool same = true;
#pragma unroll
    for (int c = 0; c < kChains; ++c) same &= keep(to_d + c * kWarpLanes, x[c], round);
    if (!same) stopwatch.differs();
  }
  stopwatch.finish();
}

template <class Op>
__global__ void __launch_bounds__(1024) time_incore_kernel(const TimedLaunch run) {
  if constexpr (kCompiledFor < Op::kFirstArch || !is_timed(kCompiledFor)) {
    __trap();
  } else {
    switch (run.chains) {
      case 1:
        return time_incore_chains<Op, 1>(run);
      case 2:
        return time_incore_chains<Op, 2>(run);
      case 3:
        return time_incore_chains<Op, 3>(run);
      case 4:
        return time_incore_chains<Op, 4>(run);
      case 5:
        return time_incore_chains<Op, 5>(run);
      case 6:
        return time_incore_chains<Op, 6>(run);
      case 7:
        return time_incore_chains<Op, 7>(run);
      default:
        return time_incore_chains<Op, kMostChains>(run);
    }
  }
}

template <class Op>
cudaError_t time_incore(const TimedLaunch& run) {
  time_incore_kernel<Op><<<run.blocks, run.warps * kWarpLanes>>>(run);
  return cudaGetLastError();
}

constexpr unsigned most_warps(unsigned) { return 32; }

constexpr TimingKernel kKernels[] = {TCNUM_INCORE_ROWS(TCNUM_INCORE_KERNEL)};

}  // namespace

std::span<const TimingKernel> incore_timing_kernels() { return kKernels; }

}  // namespace tcnum
