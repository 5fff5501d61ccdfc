// Timing wgmma and wgmma.sp: each warpgroup puts one accumulator tile through an instruction again and again.
//
// Shared memory has 64 rows of A and then N columns of B, 128 bytes of each along K with 128-byte swizzle: four slices,
// one for each instruction in turn; if A is sparse, two, which fill only half of its rows.
//
// A loop is one asm statement, so that the compiler can put nothing between its instructions, and ptxas sees that
// nothing touches the accumulators before the wait at its end.
#pragma once

#include "probes/asm_operands.cuh"
#include "probes/wgmma_kernel.cuh"
#include "timing.hpp"
#include "timing_common.cuh"

namespace tcnum {

/// Each warpgroup has one accumulator tile.
template <class Op>
constexpr unsigned most_warps_of_wgmma(unsigned = 1) {
  constexpr int kWarpgroup = kThreads / kWarpLanes;
  // Accumulators, A and some more in the 65536 registers of an SM.
  return kWarpgroup * (Op::kDRegisters <= 80 ? 4 : Op::kDRegisters <= 112 ? 3 : 2);
}

template <class Op>
__global__ void __launch_bounds__(most_warps_of_wgmma<Op>() * kWarpLanes, 1) time_wgmma_kernel(const TimedLaunch run) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  constexpr int kRowsBytes = kWgmmaRows * kLongestRowBytes, kBytes = kRowsBytes + Op::kN * kLongestRowBytes;
  alignas(kSwizzlePeriod) __shared__ std::uint8_t shared[kBytes];
  constexpr int kSlices = timed_wgmma_slices(Op::kSparse), kStored = Op::kStored;
  constexpr MmaGeometry kGeometry = Op::kGeometry;
  const auto* const a_codes = static_cast<const typename Op::Code*>(run.a);
  const auto* const b_codes = static_cast<const typename Op::Code*>(run.b);
  const SharedLayout layout = wgmma_layout(kSwizzle128, kRowBytes, sizeof(typename Op::Code));
  fill_shared<Op>(shared, layout, kWgmmaRows, kSlices * kStored, 0,
                  [&](int row, int k) { return a_codes[(k / kStored * kWgmmaRows + row) * kStored + k % kStored]; });
  fill_shared<Op>(shared + kRowsBytes, layout, Op::kN, kSlices * Op::kK, 0,
                  [&](int row, int k) { return b_codes[k * Op::kN + row]; });
  const unsigned warpgroup = threadIdx.x / kThreads;
  const int thread = static_cast<int>(threadIdx.x) % kThreads, lane = thread % kWarpLanes;
  std::uint32_t a[kSlices * Op::kARegisters], e[kSlices] = {};
#pragma unroll
  for (int s = 0; s < kSlices; ++s) {
    const int first = (s * kWgmmaRows + thread / kWarpLanes * kGeometry.m) * kStored;
#pragma unroll
    for (int r = 0; r < Op::kARegisters; ++r) {
      const Element at = kGeometry.a(lane, r, 0);
      a[s * Op::kARegisters + r] =
          load_register<Op::kCodeBits, std::uint32_t>(a_codes + first + at.row * kStored + at.column);
    }
    if constexpr (Op::kSparse) e[s] = metadata_register<Op>(static_cast<const std::uint8_t*>(run.e) + first, lane, 0);
  }
  hold(a);
  if constexpr (Op::kSparse) hold(e);
  // The tensor core reads shared memory through the asynchronous proxy.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const std::uint64_t from_a = wgmma_descriptor(layout, shared), from_b = wgmma_descriptor(layout, shared + kRowsBytes);

  // An image of the registers, and behind it the tile.
  std::uint32_t* const image =
      static_cast<std::uint32_t*>(run.d) +
      (blockIdx.x * (run.warps * kWarpLanes / kThreads) + warpgroup) * (2 * Op::kDRegisters * kThreads);
  Stopwatch stopwatch(run);
  for (unsigned round = 0; round < run.rounds; ++round) {
    std::uint32_t d[Op::kDRegisters] = {};
    stopwatch.start();
    if (run.completion) {
      if (run.a_in_registers) {
        Op::complete(d, a, from_b, e, run.steps);
      } else {
        Op::complete(d, from_a, from_b, e, run.steps);
      }
    } else if (run.a_in_registers) {
      Op::back_to_back(d, a, from_b, e, run.steps);
    } else {
      Op::back_to_back(d, from_a, from_b, e, run.steps);
    }
    stopwatch.stop();

    bool same = true;
#pragma unroll
    for (int i = 0; i < Op::kDRegisters; ++i) same &= keep(image + i * kThreads + thread, d[i], round);
    if (!same) stopwatch.differs();
    if (round == 0) {
      const Element first = wgmma_accumulator(thread, 0);
      auto* const matrix = reinterpret_cast<typename Op::Accumulator*>(image + Op::kDRegisters * kThreads);
      store_accumulators<Op::kAccumulatorBits, Op::kAccumulators, Op::kN>(
          d, matrix + first.row * Op::kN + first.column, [](int i) { return wgmma_accumulator(0, i); });
    }
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

// The text of the loops. By N, CMake writes how long a loop's body is: TCNUM_BODY instructions, TCNUM_REPEAT of four.
// Operands behind D are numbered as in wgmma_kernel.cuh: 0 is B, 1 the steps, 2 and 3 the metadata of two slices, and
// from 4 on A's descriptor, or its registers slice by slice. Dense loops do not look at the metadata.
#define TCNUM_TIMED_B(ND) "%" TCNUM_AT(ND, 0)
#define TCNUM_TIMED_STEPS(ND) "%" TCNUM_AT(ND, 1)
#define TCNUM_TIMED_A(ND) "%" TCNUM_AT(ND, 4)
#define TCNUM_TIMED_REGISTERS(ND, i, j, k, l) \
  "{%" TCNUM_AT(ND, i) TCNUM_OPERAND(ND, j) TCNUM_OPERAND(ND, k) TCNUM_OPERAND(ND, l) "}"

#define TCNUM_LOOP_BEGIN(STEPS) \
  "{\n.reg .pred more;\n.reg .b32 left;\n.reg .b64 a1, a2, a3, b1, b2, b3;\nmov.b32 left, " STEPS ";\n"
#define TCNUM_LOOP "again:\nwgmma.fence.sync.aligned;\n"
#define TCNUM_COMMIT "wgmma.commit_group.sync.aligned;\n"
#define TCNUM_WAIT "wgmma.wait_group.sync.aligned 0;\n"
#define TCNUM_LOOP_END(COUNT) "sub.s32 left, left, " COUNT ";\nsetp.ne.s32 more, left, 0;\n@more bra again;\n"

/// One instruction, with what METADATA makes of the operand of that number.
#define TCNUM_ONE(METADATA, TEXT, ND, FROM_A, FROM_B, e, TAIL) \
  "wgmma.mma_async" TEXT " " TCNUM_D_##ND ", " FROM_A ", " FROM_B METADATA(TCNUM_OPERAND(ND, e), "0") TAIL "\n"
#define TCNUM_SHARED_TAIL(IMMEDIATES) ", 1" IMMEDIATES("1", "1", ", 0", ", 0")
#define TCNUM_REGISTERS_TAIL(IMMEDIATES) ", 1" IMMEDIATES("1", "1", "", ", 0")

// Of the slices of one kind of instruction, TCNUM_DENSE or TCNUM_SPARSE: where they begin (32 bytes after each other,
// of a sparse one's B 64; descriptors count in 16), four instructions in turn, and the registers of A.
#define TCNUM_DENSE_A_SLICES(ND) TCNUM_TIMED_SLICES(TCNUM_TIMED_A(ND), "a", "2", "4", "6")
#define TCNUM_DENSE_B_SLICES(ND) TCNUM_TIMED_SLICES(TCNUM_TIMED_B(ND), "b", "2", "4", "6")
#define TCNUM_SPARSE_A_SLICES(ND) "add.s64 a1, " TCNUM_TIMED_A(ND) ", 2;\n"
#define TCNUM_SPARSE_B_SLICES(ND) "add.s64 b1, " TCNUM_TIMED_B(ND) ", 4;\n"
#define TCNUM_TIMED_SLICES(OF, NAME, FIRST, SECOND, THIRD)                                                           \
  "add.s64 " NAME "1, " OF ", " FIRST ";\nadd.s64 " NAME "2, " OF ", " SECOND ";\nadd.s64 " NAME "3, " OF ", " THIRD \
  ";\n"

#define TCNUM_DENSE_FOUR_SHARED(TEXT, ND, TAIL)                                   \
  TCNUM_ONE(TCNUM_DENSE, TEXT, ND, TCNUM_TIMED_A(ND), TCNUM_TIMED_B(ND), 2, TAIL) \
  TCNUM_ONE(TCNUM_DENSE, TEXT, ND, "a1", "b1", 2, TAIL)                           \
  TCNUM_ONE(TCNUM_DENSE, TEXT, ND, "a2", "b2", 2, TAIL)                           \
  TCNUM_ONE(TCNUM_DENSE, TEXT, ND, "a3", "b3", 2, TAIL)
#define TCNUM_DENSE_FOUR_REGISTERS(TEXT, ND, TAIL)                                                    \
  TCNUM_ONE(TCNUM_DENSE, TEXT, ND, TCNUM_TIMED_REGISTERS(ND, 4, 5, 6, 7), TCNUM_TIMED_B(ND), 2, TAIL) \
  TCNUM_ONE(TCNUM_DENSE, TEXT, ND, TCNUM_TIMED_REGISTERS(ND, 8, 9, 10, 11), "b1", 2, TAIL)            \
  TCNUM_ONE(TCNUM_DENSE, TEXT, ND, TCNUM_TIMED_REGISTERS(ND, 12, 13, 14, 15), "b2", 2, TAIL)          \
  TCNUM_ONE(TCNUM_DENSE, TEXT, ND, TCNUM_TIMED_REGISTERS(ND, 16, 17, 18, 19), "b3", 2, TAIL)
#define TCNUM_SPARSE_TWO_SHARED(TEXT, ND, TAIL)                                    \
  TCNUM_ONE(TCNUM_SPARSE, TEXT, ND, TCNUM_TIMED_A(ND), TCNUM_TIMED_B(ND), 2, TAIL) \
  TCNUM_ONE(TCNUM_SPARSE, TEXT, ND, "a1", "b1", 3, TAIL)
#define TCNUM_SPARSE_TWO_REGISTERS(TEXT, ND, TAIL)                                                     \
  TCNUM_ONE(TCNUM_SPARSE, TEXT, ND, TCNUM_TIMED_REGISTERS(ND, 4, 5, 6, 7), TCNUM_TIMED_B(ND), 2, TAIL) \
  TCNUM_ONE(TCNUM_SPARSE, TEXT, ND, TCNUM_TIMED_REGISTERS(ND, 8, 9, 10, 11), "b1", 3, TAIL)
#define TCNUM_SPARSE_FOUR_SHARED(TEXT, ND, TAIL) \
  TCNUM_SPARSE_TWO_SHARED(TEXT, ND, TAIL) TCNUM_SPARSE_TWO_SHARED(TEXT, ND, TAIL)
#define TCNUM_SPARSE_FOUR_REGISTERS(TEXT, ND, TAIL) \
  TCNUM_SPARSE_TWO_REGISTERS(TEXT, ND, TAIL) TCNUM_SPARSE_TWO_REGISTERS(TEXT, ND, TAIL)

#define TCNUM_DENSE_REGISTERS TCNUM_ASM_INPUTS("r", 16, a)
#define TCNUM_SPARSE_REGISTERS TCNUM_ASM_INPUTS("r", 8, a)

/// A function with such a loop; A_INPUTS: how the operand `a` enters it.
#define TCNUM_TIMED_LOOP(FUNCTION, A, A_INPUTS, ND, TEXT)                                                              \
  __device__ static void FUNCTION(Register(&d)[ND], A, std::uint64_t b, const Register(&e)[kSlices], unsigned steps) { \
    asm volatile(TCNUM_LOOP_BEGIN(TCNUM_TIMED_STEPS(ND)) TEXT "}"                                                      \
                 : TCNUM_INOUT_D_##ND                                                                                  \
                 : "l"(b), "r"(steps), "r"(e[0]), "r"(e[1]), A_INPUTS                                                  \
                 : "memory");                                                                                          \
  }
#define TCNUM_BACK_TO_BACK(FOUR) \
  TCNUM_LOOP TCNUM_REPEAT(FOUR)  \
  TCNUM_COMMIT TCNUM_LOOP_END(TCNUM_BODY) TCNUM_WAIT
#define TCNUM_COMPLETE(ONE) TCNUM_LOOP ONE TCNUM_COMMIT TCNUM_WAIT TCNUM_LOOP_END("1")

/// Defines the type TYPE of an instruction's loops: `back_to_back` takes the slices in turn, `complete` the first one
/// alone, each with A from shared memory and from registers. The parameters are those of TCNUM_PROBED_WGMMA; KIND is
/// METADATA.
#define TCNUM_TIMED_WGMMA(TYPE, TEXT, IS_SPARSE, N, ND, K, D, A, KIND, IMMEDIATES)                              \
  struct TYPE : WgmmaShape<N, K, spelled(#A), spelled(#D), IS_SPARSE> {                                         \
    static_assert(kDRegisters == ND);                                                                           \
    static constexpr int kSlices = timed_wgmma_slices(kSparse);                                                 \
    TCNUM_TIMED_LOOP(back_to_back, std::uint64_t a, "l"(a), ND,                                                 \
                     KIND##_A_SLICES(ND) KIND##_B_SLICES(ND)                                                    \
                         TCNUM_BACK_TO_BACK(KIND##_FOUR_SHARED(TEXT, ND, TCNUM_SHARED_TAIL(IMMEDIATES))))       \
    TCNUM_TIMED_LOOP(back_to_back, const Register (&a)[kSlices * kARegisters], KIND##_REGISTERS, ND,            \
                     KIND##_B_SLICES(ND)                                                                        \
                         TCNUM_BACK_TO_BACK(KIND##_FOUR_REGISTERS(TEXT, ND, TCNUM_REGISTERS_TAIL(IMMEDIATES)))) \
    TCNUM_TIMED_LOOP(complete, std::uint64_t a, "l"(a), ND,                                                     \
                     TCNUM_COMPLETE(TCNUM_ONE(KIND, TEXT, ND, TCNUM_TIMED_A(ND), TCNUM_TIMED_B(ND), 2,          \
                                              TCNUM_SHARED_TAIL(IMMEDIATES))))                                  \
    TCNUM_TIMED_LOOP(complete, const Register (&a)[kSlices * kARegisters], KIND##_REGISTERS, ND,                \
                     TCNUM_COMPLETE(TCNUM_ONE(KIND, TEXT, ND, TCNUM_TIMED_REGISTERS(ND, 4, 5, 6, 7),            \
                                              TCNUM_TIMED_B(ND), 2, TCNUM_REGISTERS_TAIL(IMMEDIATES))))         \
  };

/// Its row in the table of timing kernels.
#define TCNUM_TIMED_WGMMA_ROW(TYPE, NAME) {NAME, {time_wgmma<TYPE>, most_warps_of_wgmma<TYPE>}},
