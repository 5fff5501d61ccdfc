// mma with 4-bit integer operands.
#pragma once

#include "mma_integer_rows.cuh"

namespace tcnum {

#define TCNUM_ROWS(X) TCNUM_INTEGER_ROWS(X, 32, 64, s4, u4)

TCNUM_ROWS(TCNUM_MMA_OP)
TCNUM_ROWS(TCNUM_MMA_SATURATING_OP)

}  // namespace tcnum

/// The table's rows.
#define TCNUM_KERNELS TCNUM_ROWS(TCNUM_MMA_KERNEL) TCNUM_ROWS(TCNUM_MMA_SATURATING_KERNEL)
