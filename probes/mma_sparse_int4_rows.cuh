// mma.sp with 4-bit integer operands.
#pragma once

#include "mma_sparse_kernel.cuh"

namespace tcnum {

// clang-format off
#define TCNUM_ROWS(X)                              \
  X(80, 4, 2, 2, 64,  s32, s4, s4, s32)            \
  X(80, 4, 2, 2, 64,  s32, s4, u4, s32)            \
  X(80, 4, 2, 2, 64,  s32, u4, s4, s32)            \
  X(80, 4, 2, 2, 64,  s32, u4, u4, s32)            \
  X(80, 4, 4, 4, 128, s32, s4, s4, s32)            \
  X(80, 4, 4, 4, 128, s32, s4, u4, s32)            \
  X(80, 4, 4, 4, 128, s32, u4, s4, s32)            \
  X(80, 4, 4, 4, 128, s32, u4, u4, s32)
// clang-format on

TCNUM_ROWS(TCNUM_SPARSE_OP)
TCNUM_ROWS(TCNUM_SPARSE_SATURATING_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_SPARSE_KERNEL) TCNUM_ROWS(TCNUM_SPARSE_SATURATING_KERNEL)
