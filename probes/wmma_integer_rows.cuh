// wmma with operands of 8-bit and 4-bit integers, and of single bits.
#pragma once

#include "wmma_kernel.cuh"

namespace tcnum {

#define TCNUM_WMMA_SATURATING_OP(FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                                      \
  TCNUM_WMMA_TYPE(TCNUM_WMMA_SATURATING_NAME(M, N, K, D, A, B, C), TCNUM_WMMA_TYPES, ".satfinite", FIRST, R, ND, NA, \
                  NB, NC, M, N, K, D, A, B, C)
// The same of operands narrower than a byte.
#define TCNUM_SUB_BYTE_OP(FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C) \
  TCNUM_WMMA_ROW_COL_TYPE(TCNUM_WMMA_NAME(M, N, K, D, A, B, C), "", "", FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)
#define TCNUM_SUB_BYTE_SATURATING_OP(FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                                    \
  TCNUM_WMMA_ROW_COL_TYPE(TCNUM_WMMA_SATURATING_NAME(M, N, K, D, A, B, C), "", ".satfinite", FIRST, R, ND, NA, NB, NC, \
                          M, N, K, D, A, B, C)
// Of bits: the operation, and its first architecture.
#define TCNUM_WMMA_BITS_NAME(OPERATION) wmma_m8n8k128_b1_##OPERATION
#define TCNUM_WMMA_BITS_OP(OPERATION, FIRST)                                                                         \
  TCNUM_WMMA_ROW_COL_TYPE(TCNUM_WMMA_BITS_NAME(OPERATION), "." #OPERATION ".popc", "", FIRST, "r", 2, 1, 1, 2, 8, 8, \
                          128, s32, b1, b1, s32)
#define TCNUM_WMMA_BITS_KERNEL(OPERATION, FIRST)                                                                      \
  TCNUM_WMMA_ROW(TCNUM_WMMA_BITS_NAME(OPERATION), TCNUM_WMMA_BITS_NAME(OPERATION), "." #OPERATION ".popc", 8, 8, 128, \
                 s32, b1, b1, s32)

// clang-format off
#define TCNUM_SHAPES(X, S)                                       \
  X(75, "r", 8, 2, 2, 8, 16, 16, 16, s32, S, S, s32)             \
  X(75, "r", 8, 4, 1, 8, 32, 8,  16, s32, S, S, s32)             \
  X(75, "r", 8, 1, 4, 8, 8,  32, 16, s32, S, S, s32)
#define TCNUM_ROWS(X)                                            \
  TCNUM_SHAPES(X, s8)                                            \
  TCNUM_SHAPES(X, u8)
#define TCNUM_SUB_BYTE_ROWS(X)                                   \
  X(75, "r", 2, 1, 1, 2, 8, 8, 32, s32, s4, s4, s32)             \
  X(75, "r", 2, 1, 1, 2, 8, 8, 32, s32, u4, u4, s32)
#define TCNUM_BITS_ROWS(X)                                       \
  X(and, 80)                                                     \
  X(xor, 75)
// clang-format on

TCNUM_ROWS(TCNUM_WMMA_OP)
TCNUM_ROWS(TCNUM_WMMA_SATURATING_OP)
TCNUM_SUB_BYTE_ROWS(TCNUM_SUB_BYTE_OP)
TCNUM_SUB_BYTE_ROWS(TCNUM_SUB_BYTE_SATURATING_OP)
TCNUM_BITS_ROWS(TCNUM_WMMA_BITS_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_ALL_ROWS(X) TCNUM_ROWS(X) TCNUM_SUB_BYTE_ROWS(X)
#define TCNUM_KERNELS \
  TCNUM_ALL_ROWS(TCNUM_WMMA_KERNEL) TCNUM_ALL_ROWS(TCNUM_WMMA_SATURATING_KERNEL) TCNUM_BITS_ROWS(TCNUM_WMMA_BITS_KERNEL)
