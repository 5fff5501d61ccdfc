// mma with fp64 operands.
#include "mma_kernel.cuh"

namespace tcnum {

// clang-format off
#define TCNUM_ROWS(X)                                     \
  X(80, "l", 2, 1, 1, 8,  4,  f64, f64, f64, f64)         \
  X(90, "l", 4, 2, 1, 16, 4,  f64, f64, f64, f64)         \
  X(90, "l", 4, 4, 2, 16, 8,  f64, f64, f64, f64)         \
  X(90, "l", 4, 8, 4, 16, 16, f64, f64, f64, f64)
// clang-format on

TCNUM_ROWS(TCNUM_MMA_OP)

namespace {
constexpr Kernel kKernels[] = {TCNUM_ROWS(TCNUM_MMA_KERNEL)};
}  // namespace

std::span<const Kernel> mma_fp64_kernels() { return kKernels; }

}  // namespace tcnum
