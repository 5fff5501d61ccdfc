// mma.sp with fp8 operands.
#pragma once

#include "mma_sparse_kernel.cuh"

namespace tcnum {

// clang-format off
#define TCNUM_ROWS(X)                              \
  X(89, 4, 4, 4, 64, f32, e4m3, e4m3, f32)         \
  X(89, 4, 4, 4, 64, f32, e4m3, e5m2, f32)         \
  X(89, 4, 4, 4, 64, f32, e5m2, e4m3, f32)         \
  X(89, 4, 4, 4, 64, f32, e5m2, e5m2, f32)
// clang-format on

TCNUM_ROWS(TCNUM_SPARSE_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_SPARSE_KERNEL)
