// mma with 4-bit integer operands.
#include "mma_kernel.cuh"

namespace tcnum {

// clang-format off
#define TCNUM_PAIRS(X, FIRST, ND, NA, NB, M, K)           \
  X(FIRST, "r", ND, NA, NB, M, K, s32, s4, s4, s32)         \
  X(FIRST, "r", ND, NA, NB, M, K, s32, s4, u4, s32)         \
  X(FIRST, "r", ND, NA, NB, M, K, s32, u4, s4, s32)         \
  X(FIRST, "r", ND, NA, NB, M, K, s32, u4, u4, s32)
#define TCNUM_ROWS(X)                                     \
  TCNUM_PAIRS(X, 75, 2, 1, 1, 8, 32 )                   \
  TCNUM_PAIRS(X, 80, 4, 2, 1, 16, 32)                   \
  TCNUM_PAIRS(X, 80, 4, 4, 2, 16, 64)
// clang-format on

TCNUM_ROWS(TCNUM_MMA_OP)
TCNUM_ROWS(TCNUM_MMA_SATURATING_OP)

namespace {
constexpr Kernel kKernels[] = {TCNUM_ROWS(TCNUM_MMA_KERNEL) TCNUM_ROWS(TCNUM_MMA_SATURATING_KERNEL)};
}  // namespace

std::span<const Kernel> mma_int4_kernels() { return kKernels; }

}  // namespace tcnum
