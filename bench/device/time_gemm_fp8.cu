// Matrix products of fp8.
#include "time_gemm_kernel.cuh"

namespace tcnum {
namespace {

TCNUM_GEMM_OP(E4m3N64, "m64n64k32.f32.e4m3.e4m3", 1, 64, 32, fp8e4m3, bf16, "")
TCNUM_GEMM_OP(E4m3N128, "m64n128k32.f32.e4m3.e4m3", 1, 128, 64, fp8e4m3, bf16, "")
TCNUM_GEMM_OP(E4m3N256, "m64n256k32.f32.e4m3.e4m3", 1, 256, 128, fp8e4m3, bf16, "")

}  // namespace

std::span<const GemmKernel> gemm_fp8_kernels() {
  static const GemmKernel kKernels[] = {TCNUM_GEMM_TABLE(E4m3)};
  return kKernels;
}

}  // namespace tcnum
