// mma.sync: a warp puts one tile after the other through the instruction, exactly once, with C as the accumulator.
#pragma once

#include <algorithm>

#include "mma_operands.cuh"
#include "mma_scales.cuh"
#include "sparse_metadata.cuh"

namespace tcnum {

template <class Op>
__global__ void __launch_bounds__(kThreads) mma_kernel(const DeviceTiles tiles) {
  if constexpr (kCompiledFor < Op::kFirstArch) {
    __trap();
  } else {
    using Code = typename Op::Code;
    using Accumulator = typename Op::Accumulator;
    using Register = typename Op::Register;
    constexpr MmaGeometry kGeometry = Op::kGeometry;
    constexpr auto accumulator_at = [](int i) {
      constexpr MmaGeometry kOwn = Op::kGeometry;
      return kOwn.c(0, i);
    };
    constexpr int kWarpSize = 32, kWarps = kThreads / kWarpSize;

    const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
    const Element first = kGeometry.c(lane, 0);
    // A warp has a row of a grid at a time, of which the tiles have one A.
    const std::size_t bands = tiles.count / tiles.columns, step = std::size_t{gridDim.x} * kWarps;
    for (std::size_t band = std::size_t{blockIdx.x} * kWarps + threadIdx.x / kWarpSize; band < bands; band += step) {
      const std::size_t a_at = band * (kGeometry.m * kGeometry.a_columns());
      const Code* const from_a = static_cast<const Code*>(tiles.a) + a_at;
      Register a[Op::kARegisters];
      load_a<Op>(a, from_a, lane);
      [[maybe_unused]] std::uint32_t metadata = 0, a_scales = 0, b_scales = 0;
      if constexpr (kGeometry.sparse) {
        const int selector = Op::kScaleBlocks == 0 ? tiles.variant : 0;
        metadata = metadata_register<Op>(static_cast<const std::uint8_t*>(tiles.e) + a_at, lane, selector);
      }
      if constexpr (Op::kScaleBlocks != 0) {
        const auto* const from = static_cast<const std::uint8_t*>(tiles.sa) + band * (kGeometry.m * Op::kScaleBlocks);
        a_scales = a_scale_register<Op>(from, lane, scale_selector<Op>(tiles.variant));
      }

      const std::size_t first_b = band / tiles.rows * tiles.columns;
      for (unsigned column = 0; column < tiles.columns; ++column) {
        const std::size_t tile = band * tiles.columns + column, b_at = (first_b + column) * (kGeometry.k * kColumns);
        const Code* const from_b = static_cast<const Code*>(tiles.b) + b_at;
        const std::size_t c_at = tile * (kGeometry.m * kColumns) + first.row * kColumns + first.column;
        const Accumulator* const from_c = static_cast<const Accumulator*>(tiles.c) + c_at;
        Accumulator* const to_d = static_cast<Accumulator*>(tiles.d) + c_at;

        Register b[Op::kBRegisters], c[Op::kDRegisters], d[Op::kDRegisters];
        load_b<Op>(b, from_b, lane);
        if constexpr (Op::kScaleBlocks != 0) {
          const auto* const from =
              static_cast<const std::uint8_t*>(tiles.sb) + (first_b + column) * (Op::kScaleBlocks * kColumns);
          b_scales = b_scale_register<Op>(from, lane, scale_selector<Op>(tiles.variant));
        }
        load_accumulators<Op::kAccumulatorBits, kGeometry.accumulators(), kColumns>(c, from_c, accumulator_at);

        if constexpr (Op::kScaleBlocks != 0)
          issue_with_scales<Op>(d, a, b, c, metadata, a_scales, b_scales, tiles.variant);
        else if constexpr (kGeometry.sparse)
          issue_with_selector<Op>(d, a, b, c, metadata, tiles.variant);
        else
          Op::issue(d, a, b, c);

        store_accumulators<Op::kAccumulatorBits, kGeometry.accumulators(), kColumns>(d, to_d, accumulator_at);
      }
    }
  }
}

template <class Op>
cudaError_t launch_mma(const Instruction&, const DeviceTiles& tiles) {
  constexpr std::size_t kBandsPerBlock = kThreads / 32;
  const std::size_t bands = tiles.count / tiles.columns;
  const std::size_t blocks = std::min(kMaxBlocks, (bands + kBandsPerBlock - 1) / kBandsPerBlock);
  mma_kernel<Op><<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(tiles.stream)>>>(tiles);
  return cudaGetLastError();
}

}  // namespace tcnum

// The asm statement for D, A and B of so many registers; the constraint `R` is "r" for 32-bit registers, "l" for
// 64-bit.
#define TCNUM_IN_1(R, x) R(x[0])
#define TCNUM_IN_2(R, x) TCNUM_IN_1(R, x), R(x[1])
#define TCNUM_IN_4(R, x) TCNUM_IN_2(R, x), R(x[2]), R(x[3])
#define TCNUM_IN_8(R, x) TCNUM_IN_4(R, x), R(x[4]), R(x[5]), R(x[6]), R(x[7])
#define TCNUM_OUT_2(R, x) "=" R(x[0]), "=" R(x[1])
#define TCNUM_OUT_4(R, x) TCNUM_OUT_2(R, x), "=" R(x[2]), "=" R(x[3])

#define TCNUM_REGISTERS_2_1_1 "{%0, %1}, {%2}, {%3}, {%4, %5};"
#define TCNUM_REGISTERS_2_2_1 "{%0, %1}, {%2, %3}, {%4}, {%5, %6};"
#define TCNUM_REGISTERS_2_4_2 "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};"
#define TCNUM_REGISTERS_4_2_1 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
#define TCNUM_REGISTERS_4_4_2 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
#define TCNUM_REGISTERS_4_8_4                              \
  "{%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, " \
  "{%12, %13, %14, %15}, {%16, %17, %18, %19};"

// One row of a file's table: first architecture, constraint, registers of D, A and B, M, K, and the four types.
#define TCNUM_MMA_NAME(M, K, D, A, B, C) mma_m##M##n8k##K##_##D##_##A##_##B##_##C
#define TCNUM_MMA_TYPES(D, A, B, C) "." #D "." #A "." #B "." #C

/// Defines the type TYPE of an instruction that PTX spells with BEFORE and AFTER around its types. Not for an unnamed
/// namespace: where an architecture lacks the instruction, nothing uses issue(), and nvcc would warn.
#define TCNUM_MMA_TYPE(TYPE, BEFORE, AFTER, FIRST, R, ND, NA, NB, M, K, D, A, B, C)                     \
  struct TYPE : MmaShape<FIRST, M, K, spelled(#A), spelled(#B), spelled(#D)> {                          \
    static_assert(kDRegisters == ND && kARegisters == NA && kBRegisters == NB);                         \
    __device__ static void issue(Register (&d)[ND], const Register (&a)[NA], const Register (&b)[NB],   \
                                 const Register (&c)[ND]) {                                             \
      asm volatile("mma.sync.aligned.m" #M "n8k" #K ".row.col" BEFORE TCNUM_MMA_TYPES(D, A, B, C) AFTER \
                   " " TCNUM_REGISTERS_##ND##_##NA##_##NB                                               \
                   : TCNUM_OUT_##ND(R, d)                                                               \
                   : TCNUM_IN_##NA(R, a), TCNUM_IN_##NB(R, b), TCNUM_IN_##ND(R, c));                    \
    }                                                                                                   \
  };

/// The type of a row without a modifier.
#define TCNUM_MMA_OP(FIRST, R, ND, NA, NB, M, K, D, A, B, C) \
  TCNUM_MMA_TYPE(TCNUM_MMA_NAME(M, K, D, A, B, C), "", "", FIRST, R, ND, NA, NB, M, K, D, A, B, C)

/// The row of a type without variants in the table of kernels.
#define TCNUM_MMA_ROW(NAME, TYPE) {NAME, launch_mma<TYPE>},

#define TCNUM_MMA_KERNEL(FIRST, R, ND, NA, NB, M, K, D, A, B, C) \
  TCNUM_MMA_ROW("mma.m" #M "n8k" #K TCNUM_MMA_TYPES(D, A, B, C), TCNUM_MMA_NAME(M, K, D, A, B, C))

// The same with .satfinite.
#define TCNUM_MMA_SATURATING_NAME(M, K, D, A, B, C) mma_m##M##n8k##K##_##D##_##A##_##B##_##C##_satfinite
#define TCNUM_MMA_SATURATING_OP(FIRST, R, ND, NA, NB, M, K, D, A, B, C) \
  TCNUM_MMA_TYPE(TCNUM_MMA_SATURATING_NAME(M, K, D, A, B, C), ".satfinite", "", FIRST, R, ND, NA, NB, M, K, D, A, B, C)
#define TCNUM_MMA_SATURATING_KERNEL(FIRST, R, ND, NA, NB, M, K, D, A, B, C)   \
  TCNUM_MMA_ROW("mma.m" #M "n8k" #K TCNUM_MMA_TYPES(D, A, B, C) ".satfinite", \
                TCNUM_MMA_SATURATING_NAME(M, K, D, A, B, C))
