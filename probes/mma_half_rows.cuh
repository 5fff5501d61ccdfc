// mma with fp16, bf16 and tf32 operands.
#pragma once

#include "mma_kernel.cuh"

namespace tcnum {

// clang-format off
#define TCNUM_ROWS(X)                                     \
  X(75, "r", 4, 2, 1, 16, 8,  f32, f16,  f16,  f32)       \
  X(80, "r", 4, 4, 2, 16, 16, f32, f16,  f16,  f32)       \
  X(75, "r", 2, 2, 1, 16, 8,  f16, f16,  f16,  f16)       \
  X(80, "r", 2, 4, 2, 16, 16, f16, f16,  f16,  f16)       \
  X(80, "r", 4, 2, 1, 16, 8,  f32, bf16, bf16, f32)       \
  X(80, "r", 4, 4, 2, 16, 16, f32, bf16, bf16, f32)       \
  X(80, "r", 4, 2, 1, 16, 4,  f32, tf32, tf32, f32)       \
  X(80, "r", 4, 4, 2, 16, 8,  f32, tf32, tf32, f32)
// clang-format on

TCNUM_ROWS(TCNUM_MMA_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_MMA_KERNEL)
