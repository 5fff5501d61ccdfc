// Matrix products of fp16 and bf16.
#include "time_gemm_kernel.cuh"

namespace tcnum {
namespace {

TCNUM_GEMM_OP(Fp16N64, "m64n64k16.f32.f16.f16", 2, 64, 32, fp16, fp16, ", 0, 0")
TCNUM_GEMM_OP(Fp16N128, "m64n128k16.f32.f16.f16", 2, 128, 64, fp16, fp16, ", 0, 0")
TCNUM_GEMM_OP(Fp16N256, "m64n256k16.f32.f16.f16", 2, 256, 128, fp16, fp16, ", 0, 0")
TCNUM_GEMM_OP(Bf16N64, "m64n64k16.f32.bf16.bf16", 2, 64, 32, bf16, bf16, ", 0, 0")
TCNUM_GEMM_OP(Bf16N128, "m64n128k16.f32.bf16.bf16", 2, 128, 64, bf16, bf16, ", 0, 0")
TCNUM_GEMM_OP(Bf16N256, "m64n256k16.f32.bf16.bf16", 2, 256, 128, bf16, bf16, ", 0, 0")

}  // namespace

std::span<const GemmKernel> gemm_half_kernels() {
  static const GemmKernel kKernels[] = {TCNUM_GEMM_TABLE(Fp16), TCNUM_GEMM_TABLE(Bf16)};
  return kKernels;
}

}  // namespace tcnum
