// wmma with 8-bit integer operands.
#pragma once

#include "wmma_kernel.cuh"

namespace tcnum {

#define TCNUM_WMMA_SATURATING_OP(FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                                      \
  TCNUM_WMMA_TYPE(TCNUM_WMMA_SATURATING_NAME(M, N, K, D, A, B, C), TCNUM_WMMA_TYPES, ".satfinite", FIRST, R, ND, NA, \
                  NB, NC, M, N, K, D, A, B, C)

// clang-format off
#define TCNUM_SHAPES(X, S)                                       \
  X(75, "r", 8, 2, 2, 8, 16, 16, 16, s32, S, S, s32)             \
  X(75, "r", 8, 4, 1, 8, 32, 8,  16, s32, S, S, s32)             \
  X(75, "r", 8, 1, 4, 8, 8,  32, 16, s32, S, S, s32)
#define TCNUM_ROWS(X)                                            \
  TCNUM_SHAPES(X, s8)                                            \
  TCNUM_SHAPES(X, u8)
// clang-format on

TCNUM_ROWS(TCNUM_WMMA_OP)
TCNUM_ROWS(TCNUM_WMMA_SATURATING_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_WMMA_KERNEL) TCNUM_ROWS(TCNUM_WMMA_SATURATING_KERNEL)
