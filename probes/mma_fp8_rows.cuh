// mma with fp8 operands.
#pragma once

#include "mma_kernel.cuh"

namespace tcnum {

// clang-format off
#define TCNUM_PAIRS(X, ND, NA, NB, K, ACC)                \
  X(89, "r", ND, NA, NB, 16, K, ACC, e4m3, e4m3, ACC)     \
  X(89, "r", ND, NA, NB, 16, K, ACC, e4m3, e5m2, ACC)     \
  X(89, "r", ND, NA, NB, 16, K, ACC, e5m2, e4m3, ACC)     \
  X(89, "r", ND, NA, NB, 16, K, ACC, e5m2, e5m2, ACC)
#define TCNUM_ROWS(X)                                     \
  TCNUM_PAIRS(X, 4, 2, 1, 16, f32)                        \
  TCNUM_PAIRS(X, 4, 4, 2, 32, f32)                        \
  TCNUM_PAIRS(X, 2, 2, 1, 16, f16)                        \
  TCNUM_PAIRS(X, 2, 4, 2, 32, f16)
// clang-format on

TCNUM_ROWS(TCNUM_MMA_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_MMA_KERNEL)
