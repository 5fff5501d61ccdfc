// mma.sp with 8-bit integer operands.
#include "mma_sparse_kernel.cuh"

namespace tcnum {

// clang-format off
#define TCNUM_ROWS(X)                              \
  X(80, 4, 2, 2, 32,  s32, s8, s8, s32)            \
  X(80, 4, 2, 2, 32,  s32, s8, u8, s32)            \
  X(80, 4, 2, 2, 32,  s32, u8, s8, s32)            \
  X(80, 4, 2, 2, 32,  s32, u8, u8, s32)            \
  X(80, 4, 4, 4, 64,  s32, s8, s8, s32)            \
  X(80, 4, 4, 4, 64,  s32, s8, u8, s32)            \
  X(80, 4, 4, 4, 64,  s32, u8, s8, s32)            \
  X(80, 4, 4, 4, 64,  s32, u8, u8, s32)
// clang-format on

TCNUM_ROWS(TCNUM_SPARSE_OP)
TCNUM_ROWS(TCNUM_SPARSE_SATURATING_OP)

std::span<const Kernel> mma_sparse_int8_kernels() {
  static const Kernel kernels[] = {TCNUM_ROWS(TCNUM_SPARSE_KERNEL) TCNUM_ROWS(TCNUM_SPARSE_SATURATING_KERNEL)};
  return kernels;
}

}  // namespace tcnum
