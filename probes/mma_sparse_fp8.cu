// mma.sp with fp8 operands.
#include "mma_sparse_kernel.cuh"

namespace tcnum {

// clang-format off
#define TCNUM_ROWS(X)                              \
  X(89, 4, 4, 4, 64, f32, e4m3, e4m3, f32)         \
  X(89, 4, 4, 4, 64, f32, e4m3, e5m2, f32)         \
  X(89, 4, 4, 4, 64, f32, e5m2, e4m3, f32)         \
  X(89, 4, 4, 4, 64, f32, e5m2, e5m2, f32)
// clang-format on

TCNUM_ROWS(TCNUM_SPARSE_OP)

std::span<const Kernel> mma_sparse_fp8_kernels() {
  static const Kernel kernels[] = {TCNUM_ROWS(TCNUM_SPARSE_KERNEL)};
  return kernels;
}

}  // namespace tcnum
