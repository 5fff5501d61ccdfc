// mma and mma.sp with block scales: PTX's .kind::mxf8f6f4, .kind::mxf4 and .kind::mxf4nvf4.
#include "mma_sparse_kernel.cuh"

namespace tcnum {
namespace {

/// The kind that PTX spells so.
consteval ScaleKind kind_spelled(std::string_view ptx) {
  if (ptx == "mxf8f6f4") return ScaleKind::mxf8f6f4;
  if (ptx == "mxf4") return ScaleKind::mxf4;
  if (ptx == "mxf4nvf4") return ScaleKind::mxf4nvf4;
  throw "no such kind";
}

}  // namespace

// clang-format off
// The kind, how many scales there are, their format, K, registers of B, and the formats of A and B.
#define TCNUM_DENSE_ROWS(X)                                                                                         \
  TCNUM_ANY_PAIRS(X, mxf8f6f4, 1, ue8m0, 32, 2)                                                                     \
  X(mxf4, 2, ue8m0, 64, 2, e2m1, e2m1)                                                                              \
  X(mxf4nvf4, 2, ue8m0, 64, 2, e2m1, e2m1)                                                                          \
  X(mxf4nvf4, 4, ue4m3, 64, 2, e2m1, e2m1)
#define TCNUM_SPARSE_ROWS(X)                                                                                        \
  TCNUM_ANY_PAIRS(X, mxf8f6f4, 1, ue8m0, 64, 4)                                                                     \
  X(mxf4, 2, ue8m0, 128, 4, e2m1, e2m1)                                                                             \
  X(mxf4nvf4, 2, ue8m0, 128, 4, e2m1, e2m1)                                                                         \
  X(mxf4nvf4, 4, ue4m3, 128, 4, e2m1, e2m1)

#define TCNUM_SCALED_REGISTERS_2 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13}, "             \
  "%14, {%15, %16}, %17, {%18, %19};"
#define TCNUM_SCALED_REGISTERS_4 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%12, %13, %14, %15}, "   \
  "%16, 0x0, %17, {%18, %19}, %20, {%21, %22};"
// Metadata are an operand where there are any.
#define TCNUM_METADATA_2
#define TCNUM_METADATA_4 "r"(metadata),
#define TCNUM_SP_2 ""
#define TCNUM_SP_4 ".sp::ordered_metadata"
// clang-format on

#define TCNUM_SCALED_NAME(KIND, TIMES, SCALE, K, A, B) mma_m16n8k##K##_##KIND##_##TIMES##x_##A##_##B##_##SCALE
#define TCNUM_SCALED_OP(KIND, TIMES, SCALE, K, NB, A, B)                                                          \
  struct TCNUM_SCALED_NAME(KIND, TIMES, SCALE, K, A, B)                                                           \
      : MmaShape<120, 16, K, spelled(#A), spelled(#B), FormatId::fp32, NB == 4, kind_spelled(#KIND), TIMES> {     \
    static_assert(kDRegisters == 4 && kARegisters == 4 && kBRegisters == NB);                                     \
    template <int kByte, int kAThread, int kBThread>                                                              \
    __device__ static void issue(Register (&d)[4], const Register (&a)[4], const Register (&b)[NB],               \
                                 const Register (&c)[4], [[maybe_unused]] std::uint32_t metadata,                 \
                                 std::uint32_t a_scales, std::uint32_t b_scales) {                                \
      asm volatile("mma" TCNUM_SP_##NB ".sync.aligned.m16n8k" #K ".row.col.kind::" #KIND                          \
                   ".block_scale.scale_vec::" #TIMES "X.f32." #A "." #B ".f32." #SCALE                            \
                   " " TCNUM_SCALED_REGISTERS_##NB                                                                \
                   : TCNUM_ASM_OUTPUTS("r", 4, d)                                                                 \
                   : TCNUM_MMA_INPUTS("r", 4, 4, NB), TCNUM_METADATA_##NB                                         \
                     "r"(a_scales), "n"(kByte), "n"(kAThread), "r"(b_scales), "n"(kByte), "n"(kBThread));         \
    }                                                                                                             \
  };
#define TCNUM_SCALED_KERNEL(KIND, TIMES, SCALE, K, NB, A, B)                                                       \
  {"mma" TCNUM_SP_##NB ".m16n8k" #K "." #KIND "." #TIMES "x.f32." #A "." #B ".f32." #SCALE,                        \
   launch_mma<TCNUM_SCALED_NAME(KIND, TIMES, SCALE, K, A, B)>, kScaleSelectorNames},

TCNUM_DENSE_ROWS(TCNUM_SCALED_OP)
TCNUM_SPARSE_ROWS(TCNUM_SCALED_OP)

std::span<const Kernel> mma_scaled_kernels() {
  static const Kernel kernels[] = {TCNUM_DENSE_ROWS(TCNUM_SCALED_KERNEL) TCNUM_SPARSE_ROWS(TCNUM_SCALED_KERNEL)};
  return kernels;
}

}  // namespace tcnum
