// wmma with operands of four bits and of one.
#pragma once

#include "wmma_kernel.cuh"

namespace tcnum {

#define TCNUM_WMMA_SUB_BYTE_OP(FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C) \
  TCNUM_WMMA_ROW_COL_TYPE(TCNUM_WMMA_NAME(M, N, K, D, A, B, C), "", "", FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)
#define TCNUM_WMMA_SATURATING_OP(FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                                        \
  TCNUM_WMMA_ROW_COL_TYPE(TCNUM_WMMA_SATURATING_NAME(M, N, K, D, A, B, C), "", ".satfinite", FIRST, R, ND, NA, NB, NC, \
                          M, N, K, D, A, B, C)

#define TCNUM_ROWS(X)                                \
  X(75, "r", 2, 1, 1, 2, 8, 8, 32, s32, s4, s4, s32) \
  X(75, "r", 2, 1, 1, 2, 8, 8, 32, s32, u4, u4, s32)

// Rows of their own: the operation on bits, and its first architecture.
#define TCNUM_WMMA_BITS_NAME(OPERATION) wmma_m8n8k128_b1_##OPERATION
#define TCNUM_WMMA_BITS_OP(OPERATION, FIRST)                                                                         \
  TCNUM_WMMA_ROW_COL_TYPE(TCNUM_WMMA_BITS_NAME(OPERATION), "." #OPERATION ".popc", "", FIRST, "r", 2, 1, 1, 2, 8, 8, \
                          128, s32, b1, b1, s32)
#define TCNUM_WMMA_BITS_KERNEL(OPERATION, FIRST)                                                                      \
  TCNUM_WMMA_ROW(TCNUM_WMMA_BITS_NAME(OPERATION), TCNUM_WMMA_BITS_NAME(OPERATION), "." #OPERATION ".popc", 8, 8, 128, \
                 s32, b1, b1, s32)
#define TCNUM_BITS_ROWS(X) \
  X(and, 80)               \
  X(xor, 75)

TCNUM_ROWS(TCNUM_WMMA_SUB_BYTE_OP)
TCNUM_ROWS(TCNUM_WMMA_SATURATING_OP)
TCNUM_BITS_ROWS(TCNUM_WMMA_BITS_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS \
  TCNUM_ROWS(TCNUM_WMMA_KERNEL) TCNUM_ROWS(TCNUM_WMMA_SATURATING_KERNEL) TCNUM_BITS_ROWS(TCNUM_WMMA_BITS_KERNEL)
