// mma with fp64 operands.
#pragma once

#include "fp64_roundings.cuh"
#include "mma_kernel.cuh"

namespace tcnum {

// clang-format off
#define TCNUM_ROWS(X)                                     \
  X(80, "l", 2, 1, 1, 8,  4,  f64, f64, f64, f64)         \
  X(90, "l", 4, 2, 1, 16, 4,  f64, f64, f64, f64)         \
  X(90, "l", 4, 4, 2, 16, 8,  f64, f64, f64, f64)         \
  X(90, "l", 4, 8, 4, 16, 16, f64, f64, f64, f64)
// clang-format on

TCNUM_ROWS(TCNUM_MMA_OP)

// The same with a rounding of their own.
#define TCNUM_ROUNDING_NAME(ROUNDING, M, K, D, A, B, C) mma_m##M##n8k##K##_##D##_##A##_##B##_##C##_##ROUNDING
#define TCNUM_ROUNDING_OP(ROUNDING, FIRST, R, ND, NA, NB, M, K, D, A, B, C)                                            \
  TCNUM_MMA_TYPE(TCNUM_ROUNDING_NAME(ROUNDING, M, K, D, A, B, C), "." #ROUNDING, "", FIRST, R, ND, NA, NB, M, K, D, A, \
                 B, C)
#define TCNUM_ROUNDING_KERNEL(ROUNDING, FIRST, R, ND, NA, NB, M, K, D, A, B, C) \
  TCNUM_MMA_ROW("mma.m" #M "n8k" #K TCNUM_MMA_TYPES(D, A, B, C) "." #ROUNDING,  \
                TCNUM_ROUNDING_NAME(ROUNDING, M, K, D, A, B, C))

TCNUM_ROWS(TCNUM_ROUNDING_OPS)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_MMA_KERNEL) TCNUM_ROWS(TCNUM_ROUNDING_KERNELS)
