// mma with 8-bit integer operands.
#pragma once

#include "mma_integer_rows.cuh"

namespace tcnum {

#define TCNUM_ROWS(X) TCNUM_INTEGER_ROWS(X, 16, 32, s8, u8)

TCNUM_ROWS(TCNUM_MMA_OP)
TCNUM_ROWS(TCNUM_MMA_SATURATING_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_MMA_KERNEL) TCNUM_ROWS(TCNUM_MMA_SATURATING_KERNEL)
