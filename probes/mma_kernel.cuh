// mma.sync: a warp puts one tile after the other through the instruction, exactly once, with C as the accumulator.
#pragma once

#include <algorithm>

#include "asm_operands.cuh"
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

// One row of a file's table: first architecture, constraint (of asm_operands.cuh), registers of D, A and B, M, K, and
// the four types.
#define TCNUM_MMA_NAME(M, K, D, A, B, C) mma_m##M##n8k##K##_##D##_##A##_##B##_##C
#define TCNUM_MMA_TYPES(D, A, B, C) "." #D "." #A "." #B "." #C
/// The registers of D, A, B and C of an mma.
#define TCNUM_MMA_REGISTERS(ND, NA, NB)                                                                \
  TCNUM_ASM_VECTOR(0, ND)                                                                              \
  ", " TCNUM_ASM_VECTOR(ND, NA) ", " TCNUM_ASM_VECTOR(BOOST_PP_ADD(ND, NA), NB) ", " TCNUM_ASM_VECTOR( \
      BOOST_PP_ADD(ND, BOOST_PP_ADD(NA, NB)), ND)
#define TCNUM_MMA_INPUTS(R, ND, NA, NB) \
  TCNUM_ASM_INPUTS(R, NA, a), TCNUM_ASM_INPUTS(R, NB, b), TCNUM_ASM_INPUTS(R, ND, c)

/// Calls X with more and a pair of 8-, 6- and 4-bit types: of fp8 alone, with one that is narrower, or any.
#define TCNUM_WITH_FP8(X, A, ...) X(__VA_ARGS__, A, e4m3) X(__VA_ARGS__, A, e5m2)
#define TCNUM_WITH_NARROW(X, A, ...) X(__VA_ARGS__, A, e3m2) X(__VA_ARGS__, A, e2m3) X(__VA_ARGS__, A, e2m1)
#define TCNUM_WITH_ANY(X, A, ...) TCNUM_WITH_FP8(X, A, __VA_ARGS__) TCNUM_WITH_NARROW(X, A, __VA_ARGS__)
#define TCNUM_NARROW_AND_ANY(X, ...) \
  TCNUM_WITH_ANY(X, e3m2, __VA_ARGS__) TCNUM_WITH_ANY(X, e2m3, __VA_ARGS__) TCNUM_WITH_ANY(X, e2m1, __VA_ARGS__)
#define TCNUM_FP8_PAIRS(X, ...) TCNUM_WITH_FP8(X, e4m3, __VA_ARGS__) TCNUM_WITH_FP8(X, e5m2, __VA_ARGS__)
#define TCNUM_NARROW_PAIRS(X, ...) \
  TCNUM_WITH_NARROW(X, e4m3, __VA_ARGS__) TCNUM_WITH_NARROW(X, e5m2, __VA_ARGS__) TCNUM_NARROW_AND_ANY(X, __VA_ARGS__)
#define TCNUM_ANY_PAIRS(X, ...) \
  TCNUM_WITH_ANY(X, e4m3, __VA_ARGS__) TCNUM_WITH_ANY(X, e5m2, __VA_ARGS__) TCNUM_NARROW_AND_ANY(X, __VA_ARGS__)

/// Defines the type TYPE of an instruction that PTX spells with BEFORE and AFTER around its types. Not for an unnamed
/// namespace: where an architecture lacks the instruction, nothing uses issue(), and nvcc would warn.
#define TCNUM_MMA_TYPE(TYPE, BEFORE, AFTER, FIRST, R, ND, NA, NB, M, K, D, A, B, C)                     \
  struct TYPE : MmaShape<FIRST, M, K, spelled(#A), spelled(#B), spelled(#D)> {                          \
    static_assert(kDRegisters == ND && kARegisters == NA && kBRegisters == NB);                         \
    __device__ static void issue(Register (&d)[ND], const Register (&a)[NA], const Register (&b)[NB],   \
                                 const Register (&c)[ND]) {                                             \
      asm volatile("mma.sync.aligned.m" #M "n8k" #K ".row.col" BEFORE TCNUM_MMA_TYPES(D, A, B, C) AFTER \
                   " " TCNUM_MMA_REGISTERS(ND, NA, NB) ";"                                              \
                   : TCNUM_ASM_OUTPUTS(R, ND, d)                                                        \
                   : TCNUM_MMA_INPUTS(R, ND, NA, NB));                                                  \
    }                                                                                                   \
  };

/// The row of a type without variants in the table of kernels.
#define TCNUM_MMA_ROW(NAME, TYPE) {NAME, launch_mma<TYPE>},

/// The type of a row without a modifier, and its row in the table of kernels.
#define TCNUM_MMA_OP(FIRST, R, ND, NA, NB, M, K, D, A, B, C) \
  TCNUM_MMA_TYPE(TCNUM_MMA_NAME(M, K, D, A, B, C), "", "", FIRST, R, ND, NA, NB, M, K, D, A, B, C)
#define TCNUM_MMA_KERNEL(FIRST, R, ND, NA, NB, M, K, D, A, B, C) \
  TCNUM_MMA_ROW("mma.m" #M "n8k" #K TCNUM_MMA_TYPES(D, A, B, C), TCNUM_MMA_NAME(M, K, D, A, B, C))

/// The same with a modifier, which PTX spells before the types.
#define TCNUM_MMA_MODIFIED_NAME(MODIFIER, M, K, D, A, B, C) mma_m##M##n8k##K##_##D##_##A##_##B##_##C##_##MODIFIER
#define TCNUM_MMA_MODIFIED_OP(MODIFIER, FIRST, R, ND, NA, NB, M, K, D, A, B, C)                                      \
  TCNUM_MMA_TYPE(TCNUM_MMA_MODIFIED_NAME(MODIFIER, M, K, D, A, B, C), "." #MODIFIER, "", FIRST, R, ND, NA, NB, M, K, \
                 D, A, B, C)
#define TCNUM_MMA_MODIFIED_KERNEL(MODIFIER, FIRST, R, ND, NA, NB, M, K, D, A, B, C) \
  TCNUM_MMA_ROW("mma.m" #M "n8k" #K TCNUM_MMA_TYPES(D, A, B, C) "." #MODIFIER,      \
                TCNUM_MMA_MODIFIED_NAME(MODIFIER, M, K, D, A, B, C))
#define TCNUM_MMA_SATURATING_OP(...) TCNUM_MMA_MODIFIED_OP(satfinite, __VA_ARGS__)
#define TCNUM_MMA_SATURATING_KERNEL(...) TCNUM_MMA_MODIFIED_KERNEL(satfinite, __VA_ARGS__)
