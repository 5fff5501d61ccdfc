// The rows of integer mma: 8- and 4-bit operands have the same ones, at their own K.
#pragma once

#include "mma_kernel.cuh"

// clang-format off
// S and U: the signed and the unsigned type.
#define TCNUM_INTEGER_SIGNS(X, FIRST, ND, NA, NB, M, K, S, U) \
  X(FIRST, "r", ND, NA, NB, M, K, s32, S, S, s32)            \
  X(FIRST, "r", ND, NA, NB, M, K, s32, S, U, s32)            \
  X(FIRST, "r", ND, NA, NB, M, K, s32, U, S, s32)            \
  X(FIRST, "r", ND, NA, NB, M, K, s32, U, U, s32)
// K fills one register of A for each 8 rows, K2 = 2·K two.
#define TCNUM_INTEGER_ROWS(X, K, K2, S, U)                  \
  TCNUM_INTEGER_SIGNS(X, 75, 2, 1, 1, 8,  K,  S, U)          \
  TCNUM_INTEGER_SIGNS(X, 80, 4, 2, 1, 16, K,  S, U)          \
  TCNUM_INTEGER_SIGNS(X, 80, 4, 4, 2, 16, K2, S, U)
// clang-format on
