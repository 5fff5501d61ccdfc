// mma with 8-bit integer operands.
#include "mma_kernel.cuh"

namespace tcnum {

// clang-format off
#define TCNUM_PAIRS(X, FIRST, ND, NA, NB, M, K)           \
  X(FIRST, "r", ND, NA, NB, M, K, s32, s8, s8, s32)         \
  X(FIRST, "r", ND, NA, NB, M, K, s32, s8, u8, s32)         \
  X(FIRST, "r", ND, NA, NB, M, K, s32, u8, s8, s32)         \
  X(FIRST, "r", ND, NA, NB, M, K, s32, u8, u8, s32)
#define TCNUM_ROWS(X)                                     \
  TCNUM_PAIRS(X, 75, 2, 1, 1, 8, 16 )                   \
  TCNUM_PAIRS(X, 80, 4, 2, 1, 16, 16)                   \
  TCNUM_PAIRS(X, 80, 4, 4, 2, 16, 32)
// clang-format on

TCNUM_ROWS(TCNUM_MMA_OP)
TCNUM_ROWS(TCNUM_MMA_SATURATING_OP)

namespace {
constexpr Kernel kKernels[] = {TCNUM_ROWS(TCNUM_MMA_KERNEL) TCNUM_ROWS(TCNUM_MMA_SATURATING_KERNEL)};
}  // namespace

std::span<const Kernel> mma_int8_kernels() { return kKernels; }

}  // namespace tcnum
