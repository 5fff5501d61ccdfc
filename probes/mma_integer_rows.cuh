// mma with operands of 8-bit and 4-bit integers, and of single bits.
#pragma once

#include "mma_kernel.cuh"

namespace tcnum {

// clang-format off
// S and U: the signed and the unsigned type.
#define TCNUM_INTEGER_SIGNS(X, FIRST, ND, NA, NB, M, K, S, U) \
  X(FIRST, "r", ND, NA, NB, M, K, s32, S, S, s32)             \
  X(FIRST, "r", ND, NA, NB, M, K, s32, S, U, s32)             \
  X(FIRST, "r", ND, NA, NB, M, K, s32, U, S, s32)             \
  X(FIRST, "r", ND, NA, NB, M, K, s32, U, U, s32)
// K fills one register of A for each 8 rows, K2 = 2·K two.
#define TCNUM_INTEGER_ROWS(X, K, K2, S, U)                    \
  TCNUM_INTEGER_SIGNS(X, 75, 2, 1, 1, 8,  K,  S, U)           \
  TCNUM_INTEGER_SIGNS(X, 80, 4, 2, 1, 16, K,  S, U)           \
  TCNUM_INTEGER_SIGNS(X, 80, 4, 4, 2, 16, K2, S, U)
#define TCNUM_ROWS(X)                                         \
  TCNUM_INTEGER_ROWS(X, 16, 32, s8, u8)                       \
  TCNUM_INTEGER_ROWS(X, 32, 64, s4, u4)
// Of bits: the operation, its first architecture, registers of D, A and B, M and K.
#define TCNUM_BITS_ROWS(X)                                    \
  X(and, 80, 2, 1, 1, 8,  128)                                \
  X(xor, 75, 2, 1, 1, 8,  128)                                \
  X(and, 80, 4, 2, 1, 16, 128)                                \
  X(xor, 80, 4, 2, 1, 16, 128)                                \
  X(and, 80, 4, 4, 2, 16, 256)                                \
  X(xor, 80, 4, 4, 2, 16, 256)
// clang-format on

#define TCNUM_MMA_BITS_NAME(OPERATION, M, K) mma_m##M##n8k##K##_b1_##OPERATION
#define TCNUM_MMA_BITS_OP(OPERATION, FIRST, ND, NA, NB, M, K)                                                         \
  TCNUM_MMA_TYPE(TCNUM_MMA_BITS_NAME(OPERATION, M, K), "", "." #OPERATION ".popc", FIRST, "r", ND, NA, NB, M, K, s32, \
                 b1, b1, s32)
#define TCNUM_MMA_BITS_KERNEL(OPERATION, FIRST, ND, NA, NB, M, K)                             \
  TCNUM_MMA_ROW("mma.m" #M "n8k" #K TCNUM_MMA_TYPES(s32, b1, b1, s32) "." #OPERATION ".popc", \
                TCNUM_MMA_BITS_NAME(OPERATION, M, K))

TCNUM_ROWS(TCNUM_MMA_OP)
TCNUM_ROWS(TCNUM_MMA_SATURATING_OP)
TCNUM_BITS_ROWS(TCNUM_MMA_BITS_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS \
  TCNUM_ROWS(TCNUM_MMA_KERNEL) TCNUM_ROWS(TCNUM_MMA_SATURATING_KERNEL) TCNUM_BITS_ROWS(TCNUM_MMA_BITS_KERNEL)
