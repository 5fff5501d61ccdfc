// Timing wgmma: each warpgroup puts one accumulator tile through an instruction again and again.
//
// Shared memory as it is given (src/bench/fragments.hpp): 64 rows of A and then N columns of B, 128 bytes of each along
// K with 128-byte swizzle: four slices, one for each instruction in turn. A in registers: [slice][register][thread].
// D: [block][warpgroup][register][thread].
//
// A loop is one asm statement, so that the compiler can put nothing between its instructions, and ptxas sees that
// nothing touches the accumulators before the wait at its end.
#pragma once

#include "tcnum/timing_layout.hpp"
#include "timing_common.cuh"
#include "wgmma_kernel.cuh"

namespace tcnum {

template <class Op>
constexpr unsigned most_warps_of_wgmma() {
  constexpr int kWarpgroup = kThreads / kWarpLanes;
  // Accumulators, A and some more in the 65536 registers of an SM.
  return kWarpgroup * (Op::kDRegisters <= 80 ? 4 : Op::kDRegisters <= 112 ? 3 : 2);
}

template <class Op>
__global__ void __launch_bounds__(most_warps_of_wgmma<Op>() * kWarpLanes, 1) time_wgmma_kernel(const TimedLaunch run) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  constexpr int kRowsBytes = kWgmmaRows * kLongestRowBytes, kBytes = kRowsBytes + Op::kN * kLongestRowBytes;
  alignas(kSwizzlePeriod) __shared__ std::uint8_t shared[kBytes];
  for (unsigned i = threadIdx.x; i < kBytes / sizeof(uint4); i += blockDim.x) {
    reinterpret_cast<uint4*>(shared)[i] = static_cast<const uint4*>(run.shared)[i];
  }
  const unsigned thread = threadIdx.x % kThreads, warpgroup = threadIdx.x / kThreads;
  std::uint32_t a[kTimedWgmmaSlices * Op::kARegisters];
#pragma unroll
  for (int i = 0; i < kTimedWgmmaSlices * Op::kARegisters; ++i) {
    a[i] = static_cast<const std::uint32_t*>(run.a)[i * kThreads + thread];
    settle(a[i]);
  }
  // The tensor core reads shared memory through the asynchronous proxy.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const SharedLayout layout = SharedLayout::of(kSwizzle128, kRowBytes, sizeof(typename Op::Code));
  const std::uint64_t from_a = layout.descriptor(shared), from_b = layout.descriptor(shared + kRowsBytes);

  Stopwatch stopwatch(run);
  for (unsigned round = 0; round < run.rounds; ++round) {
    std::uint32_t d[Op::kDRegisters] = {};
    stopwatch.start();
    if (run.completion) {
      if (run.a_in_registers) {
        Op::complete_from_registers(d, a, from_b, run.steps);
      } else {
        Op::complete(d, from_a, from_b, run.steps);
      }
    } else if (run.a_in_registers) {
      Op::stream_from_registers(d, a, from_b, run.steps);
    } else {
      Op::stream(d, from_a, from_b, run.steps);
    }
    stopwatch.stop();

    bool same = true;
#pragma unroll
    for (int i = 0; i < Op::kDRegisters; ++i) {
      const unsigned at = ((blockIdx.x * (run.warps * kWarpLanes / kThreads) + warpgroup) * Op::kDRegisters + i) * kThreads;
      same &= keep(static_cast<std::uint32_t*>(run.d) + at + thread, d[i], round);
    }
    if (!same) stopwatch.differs();
  }
  stopwatch.finish();
#else
  __trap();
#endif
}

template <class Op>
cudaError_t time_wgmma(const TimedLaunch& run) {
  time_wgmma_kernel<Op><<<run.blocks, run.warps * kWarpLanes>>>(run);
  return cudaGetLastError();
}

}  // namespace tcnum

// The text of the loops. CMake writes what depends on the number of registers ND: TCNUM_D_ND, "{%0, %1, …}"; TCNUM_INOUT_D_ND,
// their constraints; TCNUM_FIRST_ND … TCNUM_THIRD_ND, the operands behind them; TCNUM_A_REGISTERS_ND_S, the registers of slice
// S; TCNUM_B_ND and TCNUM_STEPS_ND, the operands behind those. And, by N, how long a loop's body is: TCNUM_BODY
// instructions, TCNUM_REPEAT of four.
//
// A slice is 32 bytes further; descriptors count in 16 bytes.
#define TCNUM_LOOP_BEGIN(STEPS) \
  "{\n.reg .pred more;\n.reg .b32 left;\n.reg .b64 a1, a2, a3, b1, b2, b3;\nmov.b32 left, " STEPS ";\n"
#define TCNUM_SLICES(OF, NAME) \
  "add.s64 " NAME "1, " OF ", 2;\nadd.s64 " NAME "2, " OF ", 4;\nadd.s64 " NAME "3, " OF ", 6;\n"
#define TCNUM_LOOP "again:\nwgmma.fence.sync.aligned;\n"
#define TCNUM_COMMIT "wgmma.commit_group.sync.aligned;\n"
#define TCNUM_WAIT "wgmma.wait_group.sync.aligned 0;\n"
#define TCNUM_LOOP_END(COUNT) "sub.s32 left, left, " COUNT ";\nsetp.ne.s32 more, left, 0;\n@more bra again;\n"

#define TCNUM_ONE(NAME, ND, FROM_A, FROM_B, TAIL) NAME TCNUM_D_##ND ", " FROM_A ", " FROM_B TAIL "\n"
#define TCNUM_FOUR_SHARED(NAME, ND, TAIL)                                                                       \
  TCNUM_ONE(NAME, ND, TCNUM_FIRST_##ND, TCNUM_SECOND_##ND, TAIL) TCNUM_ONE(NAME, ND, "a1", "b1", TAIL)          \
  TCNUM_ONE(NAME, ND, "a2", "b2", TAIL) TCNUM_ONE(NAME, ND, "a3", "b3", TAIL)
#define TCNUM_FOUR_REGISTERS(NAME, ND, TAIL)                                                                    \
  TCNUM_ONE(NAME, ND, TCNUM_A_REGISTERS_##ND##_0, TCNUM_B_##ND, TAIL)                                           \
  TCNUM_ONE(NAME, ND, TCNUM_A_REGISTERS_##ND##_1, "b1", TAIL)                                                   \
  TCNUM_ONE(NAME, ND, TCNUM_A_REGISTERS_##ND##_2, "b2", TAIL)                                                   \
  TCNUM_ONE(NAME, ND, TCNUM_A_REGISTERS_##ND##_3, "b3", TAIL)

#define TCNUM_LOOP_SHARED(FUNCTION, ND, TEXT)                                                            \
  __device__ static void FUNCTION(Register (&d)[ND], std::uint64_t a, std::uint64_t b, unsigned steps) { \
    asm volatile(TCNUM_LOOP_BEGIN(TCNUM_THIRD_##ND) TEXT "}"                                             \
                 : TCNUM_INOUT_D_##ND                                                                    \
                 : "l"(a), "l"(b), "r"(steps)                                                            \
                 : "memory");                                                                            \
  }
#define TCNUM_LOOP_REGISTERS(FUNCTION, ND, TEXT)                                                                    \
  __device__ static void FUNCTION(Register (&d)[ND], const Register (&a)[16], std::uint64_t b, unsigned steps) {    \
    asm volatile(TCNUM_LOOP_BEGIN(TCNUM_STEPS_##ND) TEXT "}"                                                        \
                 : TCNUM_INOUT_D_##ND                                                                               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]),          \
                   "r"(a[8]), "r"(a[9]), "r"(a[10]), "r"(a[11]), "r"(a[12]), "r"(a[13]), "r"(a[14]), "r"(a[15]),    \
                   "l"(b), "r"(steps)                                                                               \
                 : "memory");                                                                                       \
  }

#define TCNUM_TIMED_NAME(N, K, D, A, B) time_wgmma_m64n##N##k##K##_##D##_##A##_##B
#define TCNUM_TIMED_PTX(N, K, D, A, B) "wgmma.mma_async.sync.aligned.m64n" #N "k" #K "." #D "." #A "." #B " "

/// Defines the loops of an instruction; the rows are those of TCNUM_WGMMA_FLOAT_ROWS. A completion takes the first slice.
#define TCNUM_WGMMA_TIMED_OP(N, ND, K, K2, D, A, B, IMMEDIATES)                                                           \
  struct TCNUM_TIMED_NAME(N, K, D, A, B) : WgmmaShape<N, K, spelled(#A), spelled(#D), false> {                               \
    static_assert(kDRegisters == ND);                                                                                 \
    TCNUM_LOOP_SHARED(stream, ND,                                                                                     \
                      TCNUM_SLICES(TCNUM_FIRST_##ND, "a") TCNUM_SLICES(TCNUM_SECOND_##ND, "b") TCNUM_LOOP             \
                      TCNUM_REPEAT(TCNUM_FOUR_SHARED(TCNUM_TIMED_PTX(N, K, D, A, B), ND, ", 1" IMMEDIATES("1", "1", ", 0", ", 0")))   \
                      TCNUM_COMMIT TCNUM_LOOP_END(TCNUM_BODY) TCNUM_WAIT)                                                                   \
    TCNUM_LOOP_SHARED(complete, ND,                                                                                   \
                      TCNUM_LOOP TCNUM_ONE(TCNUM_TIMED_PTX(N, K, D, A, B), ND, TCNUM_FIRST_##ND, TCNUM_SECOND_##ND,   \
                      ", 1" IMMEDIATES("1", "1", ", 0", ", 0")) TCNUM_COMMIT TCNUM_WAIT TCNUM_LOOP_END("1"))                            \
    TCNUM_LOOP_REGISTERS(stream_from_registers, ND,                                                                   \
                         TCNUM_SLICES(TCNUM_B_##ND, "b") TCNUM_LOOP                                                   \
                         TCNUM_REPEAT(TCNUM_FOUR_REGISTERS(TCNUM_TIMED_PTX(N, K, D, A, B), ND, ", 1" IMMEDIATES("1", "1", "", ", 0"))) \
                         TCNUM_COMMIT TCNUM_LOOP_END(TCNUM_BODY) TCNUM_WAIT)                                                                \
    TCNUM_LOOP_REGISTERS(complete_from_registers, ND,                                                                 \
                         TCNUM_LOOP TCNUM_ONE(TCNUM_TIMED_PTX(N, K, D, A, B), ND, TCNUM_A_REGISTERS_##ND##_0,         \
                         TCNUM_B_##ND, ", 1" IMMEDIATES("1", "1", "", ", 0")) TCNUM_COMMIT TCNUM_WAIT TCNUM_LOOP_END("1"))              \
  };

/// Its row in the table of timing kernels.
#define TCNUM_WGMMA_TIMING(N, ND, K, K2, D, A, B, IMMEDIATES)                                                   \
  {"wgmma.m64n" #N "k" #K "." #D "." #A "." #B,                                                             \
   {time_wgmma<TCNUM_TIMED_NAME(N, K, D, A, B)>, most_warps_of_wgmma<TCNUM_TIMED_NAME(N, K, D, A, B)>()}},
