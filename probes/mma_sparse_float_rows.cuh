// mma.sp with fp16, bf16, tf32 and fp8 operands.
#pragma once

#include "mma_sparse_kernel.cuh"

namespace tcnum {

// clang-format off
#define TCNUM_ROWS(X)                              \
  X(80, 4, 2, 2, 16, f32, f16,  f16,  f32)         \
  X(80, 4, 4, 4, 32, f32, f16,  f16,  f32)         \
  X(80, 2, 2, 2, 16, f16, f16,  f16,  f16)         \
  X(80, 2, 4, 4, 32, f16, f16,  f16,  f16)         \
  X(80, 4, 2, 2, 16, f32, bf16, bf16, f32)         \
  X(80, 4, 4, 4, 32, f32, bf16, bf16, f32)         \
  X(80, 4, 2, 2, 8,  f32, tf32, tf32, f32)         \
  X(80, 4, 4, 4, 16, f32, tf32, tf32, f32)         \
  X(89, 4, 4, 4, 64, f32, e4m3, e4m3, f32)         \
  X(89, 4, 4, 4, 64, f32, e4m3, e5m2, f32)         \
  X(89, 4, 4, 4, 64, f32, e5m2, e4m3, f32)         \
  X(89, 4, 4, 4, 64, f32, e5m2, e5m2, f32)
// clang-format on

TCNUM_ROWS(TCNUM_SPARSE_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_SPARSE_KERNEL)
