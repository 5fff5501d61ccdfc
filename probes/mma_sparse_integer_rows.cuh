// mma.sp with 8-bit and 4-bit integer operands.
#pragma once

#include "mma_sparse_kernel.cuh"

namespace tcnum {

// clang-format off
// S and U: the signed and the unsigned type.
#define TCNUM_SPARSE_SIGNS(X, NA, NB, K, S, U)  \
  X(80, 4, NA, NB, K, s32, S, S, s32)           \
  X(80, 4, NA, NB, K, s32, S, U, s32)           \
  X(80, 4, NA, NB, K, s32, U, S, s32)           \
  X(80, 4, NA, NB, K, s32, U, U, s32)
#define TCNUM_ROWS(X)                           \
  TCNUM_SPARSE_SIGNS(X, 2, 2, 32,  s8, u8)      \
  TCNUM_SPARSE_SIGNS(X, 4, 4, 64,  s8, u8)      \
  TCNUM_SPARSE_SIGNS(X, 2, 2, 64,  s4, u4)      \
  TCNUM_SPARSE_SIGNS(X, 4, 4, 128, s4, u4)
// clang-format on

TCNUM_ROWS(TCNUM_SPARSE_OP)
TCNUM_ROWS(TCNUM_SPARSE_SATURATING_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_SPARSE_KERNEL) TCNUM_ROWS(TCNUM_SPARSE_SATURATING_KERNEL)
