// mma with operands of single bits.
#pragma once

#include "mma_kernel.cuh"

namespace tcnum {

// Rows of their own: the operation on bits, its first architecture, registers of D, A and B, M and K.
#define TCNUM_MMA_BITS_NAME(OPERATION, M, K) mma_m##M##n8k##K##_b1_##OPERATION
#define TCNUM_MMA_BITS_OP(OPERATION, FIRST, ND, NA, NB, M, K)                                                       \
  TCNUM_MMA_TYPE(TCNUM_MMA_BITS_NAME(OPERATION, M, K), "", "." #OPERATION ".popc", FIRST, "r", ND, NA, NB, M, K, s32, \
                 b1, b1, s32)
#define TCNUM_MMA_BITS_KERNEL(OPERATION, FIRST, ND, NA, NB, M, K)                               \
  TCNUM_MMA_ROW("mma.m" #M "n8k" #K TCNUM_MMA_TYPES(s32, b1, b1, s32) "." #OPERATION ".popc", \
                TCNUM_MMA_BITS_NAME(OPERATION, M, K))

// clang-format off
#define TCNUM_ROWS(X)                                     \
  X(and, 80, 2, 1, 1, 8,  128)                            \
  X(xor, 75, 2, 1, 1, 8,  128)                            \
  X(and, 80, 4, 2, 1, 16, 128)                            \
  X(xor, 80, 4, 2, 1, 16, 128)                            \
  X(and, 80, 4, 4, 2, 16, 256)                            \
  X(xor, 80, 4, 4, 2, 16, 256)
// clang-format on

TCNUM_ROWS(TCNUM_MMA_BITS_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_MMA_BITS_KERNEL)
