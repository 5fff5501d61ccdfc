// wmma with fp16, bf16 and tf32 operands.
#pragma once

#include "wmma_kernel.cuh"

namespace tcnum {

#define TCNUM_WMMA_FP16_OP(FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                                              \
  TCNUM_WMMA_TYPE(TCNUM_WMMA_NAME(M, N, K, D, A, B, C), TCNUM_WMMA_ACCUMULATOR_TYPES, "", FIRST, R, ND, NA, NB, NC, M, \
                  N, K, D, A, B, C)

// clang-format off
#define TCNUM_FP16_SHAPE(X, M, N)                                \
  X(70, "r", 8, 8, 8, 8, M, N, 16, f32, f16, f16, f32)           \
  X(70, "r", 8, 8, 8, 4, M, N, 16, f32, f16, f16, f16)           \
  X(70, "r", 4, 8, 8, 8, M, N, 16, f16, f16, f16, f32)           \
  X(70, "r", 4, 8, 8, 4, M, N, 16, f16, f16, f16, f16)
#define TCNUM_FP16_ROWS(X)                                       \
  TCNUM_FP16_SHAPE(X, 16, 16)                                    \
  TCNUM_FP16_SHAPE(X, 32, 8)                                     \
  TCNUM_FP16_SHAPE(X, 8, 32)
#define TCNUM_ROWS(X)                                            \
  X(80, "r", 8, 4, 4, 8, 16, 16, 16, f32, bf16, bf16, f32)       \
  X(80, "r", 8, 8, 2, 8, 32, 8,  16, f32, bf16, bf16, f32)       \
  X(80, "r", 8, 2, 8, 8, 8,  32, 16, f32, bf16, bf16, f32)       \
  X(80, "r", 8, 4, 4, 8, 16, 16, 8,  f32, tf32, tf32, f32)
// clang-format on

TCNUM_FP16_ROWS(TCNUM_WMMA_FP16_OP)
TCNUM_ROWS(TCNUM_WMMA_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_FP16_ROWS(TCNUM_WMMA_KERNEL) TCNUM_ROWS(TCNUM_WMMA_KERNEL)
