// The v_mfma and v_smfmac that there are kernels for: a row for each, with LLVM's builtin. Plain C++, so that the rows
// are checked where no HIP is.
//
// Source of the builtins: LLVM, clang/include/clang/Basic/BuiltinsAMDGPU.def. Those of gfx950 are not here.
#pragma once

#include <array>
#include <string_view>

#include "isa/mfma_fragment.hpp"

// Instruction, builtin without its __builtin_amdgcn_, architectures, M (which is N), K, blocks, formats of D, A and B.
// clang-format off
#define TCNUM_DENSE_MFMA_ROWS(ROW)                                                                                   \
  ROW(v_mfma_f32_32x32x1_2b_f32, mfma_f32_32x32x1f32, kFromCdna1, 32, 1, 2, fp32, fp32, fp32)                        \
  ROW(v_mfma_f32_16x16x1_4b_f32, mfma_f32_16x16x1f32, kFromCdna1, 16, 1, 4, fp32, fp32, fp32)                        \
  ROW(v_mfma_f32_4x4x1_16b_f32, mfma_f32_4x4x1f32, kFromCdna1, 4, 1, 16, fp32, fp32, fp32)                           \
  ROW(v_mfma_f32_32x32x2_f32, mfma_f32_32x32x2f32, kFromCdna1, 32, 2, 1, fp32, fp32, fp32)                           \
  ROW(v_mfma_f32_16x16x4_f32, mfma_f32_16x16x4f32, kFromCdna1, 16, 4, 1, fp32, fp32, fp32)                           \
  ROW(v_mfma_f32_16x16x8_xf32, mfma_f32_16x16x8_xf32, kCdna3, 16, 8, 1, fp32, tf32, tf32)                            \
  ROW(v_mfma_f32_32x32x4_xf32, mfma_f32_32x32x4_xf32, kCdna3, 32, 4, 1, fp32, tf32, tf32)                            \
  ROW(v_mfma_f64_16x16x4_f64, mfma_f64_16x16x4f64, kFromCdna2, 16, 4, 1, fp64, fp64, fp64)                           \
  ROW(v_mfma_f64_4x4x4_4b_f64, mfma_f64_4x4x4f64, kFromCdna2, 4, 4, 4, fp64, fp64, fp64)                             \
  ROW(v_mfma_f32_32x32x4_2b_f16, mfma_f32_32x32x4f16, kFromCdna1, 32, 4, 2, fp32, fp16, fp16)                        \
  ROW(v_mfma_f32_16x16x4_4b_f16, mfma_f32_16x16x4f16, kFromCdna1, 16, 4, 4, fp32, fp16, fp16)                        \
  ROW(v_mfma_f32_4x4x4_16b_f16, mfma_f32_4x4x4f16, kFromCdna1, 4, 4, 16, fp32, fp16, fp16)                           \
  ROW(v_mfma_f32_32x32x8_f16, mfma_f32_32x32x8f16, kFromCdna1, 32, 8, 1, fp32, fp16, fp16)                           \
  ROW(v_mfma_f32_16x16x16_f16, mfma_f32_16x16x16f16, kFromCdna1, 16, 16, 1, fp32, fp16, fp16)                        \
  ROW(v_mfma_f32_32x32x2_2b_bf16, mfma_f32_32x32x2bf16, kCdna1And2, 32, 2, 2, fp32, bf16, bf16)                      \
  ROW(v_mfma_f32_16x16x2_4b_bf16, mfma_f32_16x16x2bf16, kCdna1And2, 16, 2, 4, fp32, bf16, bf16)                      \
  ROW(v_mfma_f32_4x4x2_16b_bf16, mfma_f32_4x4x2bf16, kCdna1And2, 4, 2, 16, fp32, bf16, bf16)                         \
  ROW(v_mfma_f32_32x32x4_bf16, mfma_f32_32x32x4bf16, kCdna1And2, 32, 4, 1, fp32, bf16, bf16)                         \
  ROW(v_mfma_f32_16x16x8_bf16, mfma_f32_16x16x8bf16, kCdna1And2, 16, 8, 1, fp32, bf16, bf16)                         \
  ROW(v_mfma_f32_32x32x4_2b_bf16, mfma_f32_32x32x4bf16_1k, kFromCdna2, 32, 4, 2, fp32, bf16, bf16)                   \
  ROW(v_mfma_f32_16x16x4_4b_bf16, mfma_f32_16x16x4bf16_1k, kFromCdna2, 16, 4, 4, fp32, bf16, bf16)                   \
  ROW(v_mfma_f32_4x4x4_16b_bf16, mfma_f32_4x4x4bf16_1k, kFromCdna2, 4, 4, 16, fp32, bf16, bf16)                      \
  ROW(v_mfma_f32_32x32x8_bf16, mfma_f32_32x32x8bf16_1k, kFromCdna2, 32, 8, 1, fp32, bf16, bf16)                      \
  ROW(v_mfma_f32_16x16x16_bf16, mfma_f32_16x16x16bf16_1k, kFromCdna2, 16, 16, 1, fp32, bf16, bf16)                   \
  ROW(v_mfma_i32_32x32x4_2b_i8, mfma_i32_32x32x4i8, kFromCdna1, 32, 4, 2, s32, s8, s8)                               \
  ROW(v_mfma_i32_16x16x4_4b_i8, mfma_i32_16x16x4i8, kFromCdna1, 16, 4, 4, s32, s8, s8)                               \
  ROW(v_mfma_i32_4x4x4_16b_i8, mfma_i32_4x4x4i8, kFromCdna1, 4, 4, 16, s32, s8, s8)                                  \
  ROW(v_mfma_i32_32x32x8_i8, mfma_i32_32x32x8i8, kCdna1And2, 32, 8, 1, s32, s8, s8)                                  \
  ROW(v_mfma_i32_16x16x16_i8, mfma_i32_16x16x16i8, kCdna1And2, 16, 16, 1, s32, s8, s8)                               \
  ROW(v_mfma_i32_32x32x16_i8, mfma_i32_32x32x16_i8, kCdna3, 32, 16, 1, s32, s8, s8)                                  \
  ROW(v_mfma_i32_16x16x32_i8, mfma_i32_16x16x32_i8, kCdna3, 16, 32, 1, s32, s8, s8)                                  \
  ROW(v_mfma_f32_32x32x16_fp8_fp8, mfma_f32_32x32x16_fp8_fp8, kCdna3, 32, 16, 1, fp32, fp8e4m3fnuz, fp8e4m3fnuz)     \
  ROW(v_mfma_f32_32x32x16_fp8_bf8, mfma_f32_32x32x16_fp8_bf8, kCdna3, 32, 16, 1, fp32, fp8e4m3fnuz, fp8e5m2fnuz)     \
  ROW(v_mfma_f32_32x32x16_bf8_fp8, mfma_f32_32x32x16_bf8_fp8, kCdna3, 32, 16, 1, fp32, fp8e5m2fnuz, fp8e4m3fnuz)     \
  ROW(v_mfma_f32_32x32x16_bf8_bf8, mfma_f32_32x32x16_bf8_bf8, kCdna3, 32, 16, 1, fp32, fp8e5m2fnuz, fp8e5m2fnuz)     \
  ROW(v_mfma_f32_16x16x32_fp8_fp8, mfma_f32_16x16x32_fp8_fp8, kCdna3, 16, 32, 1, fp32, fp8e4m3fnuz, fp8e4m3fnuz)     \
  ROW(v_mfma_f32_16x16x32_fp8_bf8, mfma_f32_16x16x32_fp8_bf8, kCdna3, 16, 32, 1, fp32, fp8e4m3fnuz, fp8e5m2fnuz)     \
  ROW(v_mfma_f32_16x16x32_bf8_fp8, mfma_f32_16x16x32_bf8_fp8, kCdna3, 16, 32, 1, fp32, fp8e5m2fnuz, fp8e4m3fnuz)     \
  ROW(v_mfma_f32_16x16x32_bf8_bf8, mfma_f32_16x16x32_bf8_bf8, kCdna3, 16, 32, 1, fp32, fp8e5m2fnuz, fp8e5m2fnuz)

#define TCNUM_SPARSE_MFMA_ROWS(ROW)                                                                                  \
  ROW(v_smfmac_f32_32x32x16_f16, smfmac_f32_32x32x16_f16, kCdna3, 32, 16, 1, fp32, fp16, fp16)                       \
  ROW(v_smfmac_f32_16x16x32_f16, smfmac_f32_16x16x32_f16, kCdna3, 16, 32, 1, fp32, fp16, fp16)                       \
  ROW(v_smfmac_f32_32x32x16_bf16, smfmac_f32_32x32x16_bf16, kCdna3, 32, 16, 1, fp32, bf16, bf16)                     \
  ROW(v_smfmac_f32_16x16x32_bf16, smfmac_f32_16x16x32_bf16, kCdna3, 16, 32, 1, fp32, bf16, bf16)                     \
  ROW(v_smfmac_i32_32x32x32_i8, smfmac_i32_32x32x32_i8, kCdna3, 32, 32, 1, s32, s8, s8)                              \
  ROW(v_smfmac_i32_16x16x64_i8, smfmac_i32_16x16x64_i8, kCdna3, 16, 64, 1, s32, s8, s8)                              \
  ROW(v_smfmac_f32_32x32x32_fp8_fp8, smfmac_f32_32x32x32_fp8_fp8, kCdna3, 32, 32, 1, fp32, fp8e4m3fnuz, fp8e4m3fnuz) \
  ROW(v_smfmac_f32_32x32x32_fp8_bf8, smfmac_f32_32x32x32_fp8_bf8, kCdna3, 32, 32, 1, fp32, fp8e4m3fnuz, fp8e5m2fnuz) \
  ROW(v_smfmac_f32_32x32x32_bf8_fp8, smfmac_f32_32x32x32_bf8_fp8, kCdna3, 32, 32, 1, fp32, fp8e5m2fnuz, fp8e4m3fnuz) \
  ROW(v_smfmac_f32_32x32x32_bf8_bf8, smfmac_f32_32x32x32_bf8_bf8, kCdna3, 32, 32, 1, fp32, fp8e5m2fnuz, fp8e5m2fnuz) \
  ROW(v_smfmac_f32_16x16x64_fp8_fp8, smfmac_f32_16x16x64_fp8_fp8, kCdna3, 16, 64, 1, fp32, fp8e4m3fnuz, fp8e4m3fnuz) \
  ROW(v_smfmac_f32_16x16x64_fp8_bf8, smfmac_f32_16x16x64_fp8_bf8, kCdna3, 16, 64, 1, fp32, fp8e4m3fnuz, fp8e5m2fnuz) \
  ROW(v_smfmac_f32_16x16x64_bf8_fp8, smfmac_f32_16x16x64_bf8_fp8, kCdna3, 16, 64, 1, fp32, fp8e5m2fnuz, fp8e4m3fnuz) \
  ROW(v_smfmac_f32_16x16x64_bf8_bf8, smfmac_f32_16x16x64_bf8_bf8, kCdna3, 16, 64, 1, fp32, fp8e5m2fnuz, fp8e5m2fnuz)
// clang-format on

namespace tcnum {

enum class MfmaNumber : int {
#define TCNUM_NUMBER(NAME, ...) NAME,
  TCNUM_DENSE_MFMA_ROWS(TCNUM_NUMBER) TCNUM_SPARSE_MFMA_ROWS(TCNUM_NUMBER)
#undef TCNUM_NUMBER
};

struct MfmaRow {
  MfmaNumber number;
  std::string_view instruction;  ///< Instruction::name()
  ArchSet archs;                 ///< for which there is a kernel
  int m, k, blocks;
  FormatId d, a, b;

  constexpr bool sparse() const { return instruction.starts_with("v_smfmac"); }
  constexpr MfmaGeometry geometry() const { return {m, k, blocks, rows_of_a_lane(d), sparse()}; }
};

inline constexpr auto kMfmaRows = [] {
  using enum ArchId;
  using enum FormatId;
  constexpr ArchSet kFromCdna1 = archs({gfx908, gfx90a, gfx942}), kCdna1And2 = archs({gfx908, gfx90a});
  constexpr ArchSet kFromCdna2 = archs({gfx90a, gfx942}), kCdna3 = archs({gfx942});
#define TCNUM_ROW(NAME, BUILTIN, ARCHS, M, K, BLOCKS, D, A, B) \
  MfmaRow{MfmaNumber::NAME, #NAME, ARCHS, M, K, BLOCKS, D, A, B},
  return std::to_array<MfmaRow>({TCNUM_DENSE_MFMA_ROWS(TCNUM_ROW) TCNUM_SPARSE_MFMA_ROWS(TCNUM_ROW)});
#undef TCNUM_ROW
}();

}  // namespace tcnum
