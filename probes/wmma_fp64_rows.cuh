// wmma with fp64 operands.
#pragma once

#include "fp64_roundings.cuh"
#include "wmma_kernel.cuh"

namespace tcnum {

#define TCNUM_ROWS(X) X(80, "l", 2, 1, 1, 2, 8, 8, 4, f64, f64, f64, f64)

TCNUM_ROWS(TCNUM_WMMA_OP)

// The same with a rounding of their own, which PTX spells before the types.
#define TCNUM_ROUNDING_TYPES_rz(D, A, B, C) ".rz" TCNUM_WMMA_TYPES(D, A, B, C)
#define TCNUM_ROUNDING_TYPES_rm(D, A, B, C) ".rm" TCNUM_WMMA_TYPES(D, A, B, C)
#define TCNUM_ROUNDING_TYPES_rp(D, A, B, C) ".rp" TCNUM_WMMA_TYPES(D, A, B, C)
#define TCNUM_ROUNDING_NAME(ROUNDING, M, N, K, D, A, B, C) wmma_m##M##n##N##k##K##_##D##_##A##_##B##_##C##_##ROUNDING
#define TCNUM_ROUNDING_OP(ROUNDING, FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                                   \
  TCNUM_WMMA_TYPE(TCNUM_ROUNDING_NAME(ROUNDING, M, N, K, D, A, B, C), TCNUM_ROUNDING_TYPES_##ROUNDING, "", FIRST, R, \
                  ND, NA, NB, NC, M, N, K, D, A, B, C)
#define TCNUM_ROUNDING_KERNEL(ROUNDING, FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C) \
  TCNUM_WMMA_ROW(TCNUM_ROUNDING_NAME(ROUNDING, M, N, K, D, A, B, C),                   \
                 TCNUM_ROUNDING_NAME(ROUNDING, M, N, K, C, A, B, D), "." #ROUNDING, M, N, K, D, A, B, C)

TCNUM_ROWS(TCNUM_ROUNDING_OPS)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_WMMA_KERNEL) TCNUM_ROWS(TCNUM_ROUNDING_KERNELS)
