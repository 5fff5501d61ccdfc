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
#define TCNUM_ROUNDING_OP TCNUM_MMA_MODIFIED_OP
#define TCNUM_ROUNDING_KERNEL TCNUM_MMA_MODIFIED_KERNEL

TCNUM_ROWS(TCNUM_ROUNDING_OPS)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_MMA_KERNEL) TCNUM_ROWS(TCNUM_ROUNDING_KERNELS)
