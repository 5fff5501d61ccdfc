// wmma with fp64 operands.
#include "wmma_kernel.cuh"

namespace tcnum {

#define TCNUM_WMMA_OP(FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                                                   \
  TCNUM_WMMA_TYPE(TCNUM_WMMA_NAME(M, N, K, D, A, B, C), TCNUM_WMMA_TYPES, "", FIRST, R, ND, NA, NB, NC, M, N, K, D, A, \
                  B, C)

#define TCNUM_ROWS(X) X(80, "l", 2, 1, 1, 2, 8, 8, 4, f64, f64, f64, f64)

TCNUM_ROWS(TCNUM_WMMA_OP)

std::span<const Kernel> wmma_fp64_kernels() {
  static const Kernel kernels[] = {TCNUM_ROWS(TCNUM_WMMA_KERNEL)};
  return kernels;
}

}  // namespace tcnum
