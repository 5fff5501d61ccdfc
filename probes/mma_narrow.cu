// mma and mma.sp with an operand of fp6 or fp4, each element in 8 bits: PTX's .kind::f8f6f4, and with it fp8 where only
// sm_120 has it.
#include "mma_sparse_kernel.cuh"

namespace tcnum {

// clang-format off
// Registers of D, and its type.
#define TCNUM_DENSE_ROWS(X) TCNUM_NARROW_PAIRS(X, 4, f32) TCNUM_NARROW_PAIRS(X, 2, f16)
#define TCNUM_SPARSE_ROWS(X) TCNUM_DENSE_ROWS(X) TCNUM_FP8_PAIRS(X, 2, f16)

#define TCNUM_DENSE_OP(ND, D, A, B)                                                                                 \
  TCNUM_MMA_TYPE(TCNUM_MMA_NAME(16, 32, D, A, B, D), ".kind::f8f6f4", "", 120, "r", ND, 4, 2, 16, 32, D, A, B, D)
#define TCNUM_DENSE_KERNEL(ND, D, A, B)                                                                             \
  {"mma.m16n8k32" TCNUM_MMA_TYPES(D, A, B, D), launch_mma<TCNUM_MMA_NAME(16, 32, D, A, B, D)>},
#define TCNUM_SPARSE_NARROW_OP(ND, D, A, B)                                                                         \
  TCNUM_SPARSE_TYPE(TCNUM_ORDERED_NAME(64, D, A, B, D), ".sp::ordered_metadata", ".kind::f8f6f4", 120, ND, 4, 4,    \
                    64, D, A, B, D)
#define TCNUM_SPARSE_NARROW_KERNEL(ND, D, A, B)                                                                     \
  {"mma.sp::ordered_metadata.m16n8k64" TCNUM_MMA_TYPES(D, A, B, D), launch_mma<TCNUM_ORDERED_NAME(64, D, A, B, D)>, \
   selectors_of<TCNUM_ORDERED_NAME(64, D, A, B, D)>()},
// clang-format on

TCNUM_DENSE_ROWS(TCNUM_DENSE_OP)
TCNUM_SPARSE_ROWS(TCNUM_SPARSE_NARROW_OP)

std::span<const Kernel> mma_narrow_kernels() {
  static const Kernel kernels[] = {TCNUM_DENSE_ROWS(TCNUM_DENSE_KERNEL) TCNUM_SPARSE_ROWS(TCNUM_SPARSE_NARROW_KERNEL)};
  return kernels;
}

}  // namespace tcnum
