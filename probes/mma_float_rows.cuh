// mma with fp16, bf16, tf32 and fp8 operands.
#pragma once

#include "mma_kernel.cuh"

namespace tcnum {

// clang-format off
#define TCNUM_FP8_ROWS(X, ND, NA, NB, K, ACC)             \
  X(89, "r", ND, NA, NB, 16, K, ACC, e4m3, e4m3, ACC)     \
  X(89, "r", ND, NA, NB, 16, K, ACC, e4m3, e5m2, ACC)     \
  X(89, "r", ND, NA, NB, 16, K, ACC, e5m2, e4m3, ACC)     \
  X(89, "r", ND, NA, NB, 16, K, ACC, e5m2, e5m2, ACC)
#define TCNUM_ROWS(X)                                     \
  X(75, "r", 4, 2, 1, 16, 8,  f32, f16,  f16,  f32)       \
  X(80, "r", 4, 4, 2, 16, 16, f32, f16,  f16,  f32)       \
  X(75, "r", 2, 2, 1, 16, 8,  f16, f16,  f16,  f16)       \
  X(80, "r", 2, 4, 2, 16, 16, f16, f16,  f16,  f16)       \
  X(80, "r", 4, 2, 1, 16, 8,  f32, bf16, bf16, f32)       \
  X(80, "r", 4, 4, 2, 16, 16, f32, bf16, bf16, f32)       \
  X(80, "r", 4, 2, 1, 16, 4,  f32, tf32, tf32, f32)       \
  X(80, "r", 4, 4, 2, 16, 8,  f32, tf32, tf32, f32)       \
  TCNUM_FP8_ROWS(X, 4, 2, 1, 16, f32)                     \
  TCNUM_FP8_ROWS(X, 4, 4, 2, 32, f32)                     \
  TCNUM_FP8_ROWS(X, 2, 2, 1, 16, f16)                     \
  TCNUM_FP8_ROWS(X, 2, 4, 2, 32, f16)
// clang-format on

TCNUM_ROWS(TCNUM_MMA_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_MMA_KERNEL)
