// mma.sp with 8-bit integer operands.
#pragma once

#include "mma_sparse_kernel.cuh"

namespace tcnum {

// clang-format off
#define TCNUM_ROWS(X)                              \
  X(80, 4, 2, 2, 32,  s32, s8, s8, s32)            \
  X(80, 4, 2, 2, 32,  s32, s8, u8, s32)            \
  X(80, 4, 2, 2, 32,  s32, u8, s8, s32)            \
  X(80, 4, 2, 2, 32,  s32, u8, u8, s32)            \
  X(80, 4, 4, 4, 64,  s32, s8, s8, s32)            \
  X(80, 4, 4, 4, 64,  s32, s8, u8, s32)            \
  X(80, 4, 4, 4, 64,  s32, u8, s8, s32)            \
  X(80, 4, 4, 4, 64,  s32, u8, u8, s32)
// clang-format on

TCNUM_ROWS(TCNUM_SPARSE_OP)
TCNUM_ROWS(TCNUM_SPARSE_SATURATING_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_SPARSE_KERNEL) TCNUM_ROWS(TCNUM_SPARSE_SATURATING_KERNEL)
