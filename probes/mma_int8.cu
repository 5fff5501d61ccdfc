// mma with 8-bit integer operands.
#include "mma_integer_rows.cuh"

namespace tcnum {

#define TCNUM_ROWS(X) TCNUM_INTEGER_ROWS(X, 16, 32, s8, u8)

TCNUM_ROWS(TCNUM_MMA_OP)
TCNUM_ROWS(TCNUM_MMA_SATURATING_OP)

namespace {
constexpr Kernel kKernels[] = {TCNUM_ROWS(TCNUM_MMA_KERNEL) TCNUM_ROWS(TCNUM_MMA_SATURATING_KERNEL)};
}  // namespace

std::span<const Kernel> mma_int8_kernels() { return kKernels; }

}  // namespace tcnum
