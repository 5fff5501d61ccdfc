// Timing plain arithmetic, lane by lane (time_chains.cuh).
#include "time_chains.cuh"

namespace tcnum {
// One row an operation: its name, first architecture, how many make a loop's body (fewer of those that are many
// instructions each), width and constraint of its registers, and the operands of its PTX (%0 the chain's number; %1 and
// %2 constants).
// clang-format off
#define TCNUM_INCORE_ROWS(X)                                      \
  X(fma_f16x2,   "fma.rn.f16x2", 53, 128, 32, "r", "%0, %0, %1, %2") \
  X(fma_bf16x2,  "fma.rn.bf16x2", 80, 128, 32, "r", "%0, %0, %1, %2") \
  X(fma_f32,     "fma.rn.f32", 50, 128, 32, "r", "%0, %0, %1, %2") \
  X(fma_f64,     "fma.rn.f64", 50, 128, 64, "l", "%0, %0, %1, %2") \
  X(mad_s32,     "mad.lo.s32", 50, 128, 32, "r", "%0, %0, %1, %2") \
  X(div_f32,     "div.rn.f32", 50, 16, 32, "r", "%0, %1, %0")     \
  X(div_fast,    "div.approx.f32", 50, 16, 32, "r", "%0, %1, %0")     \
  X(sqrt_f32,    "sqrt.rn.f32", 50, 16, 32, "r", "%0, %0")         \
  X(sqrt_fast,   "sqrt.approx.f32", 50, 16, 32, "r", "%0, %0")         \
  X(div_f64,     "div.rn.f64", 50, 16, 64, "l", "%0, %1, %0")     \
  X(sqrt_f64,    "sqrt.rn.f64", 50, 16, 64, "l", "%0, %0")
// clang-format on

#define TCNUM_INCORE_OP(NAME, PTX, FIRST, BODY, BITS, R, OPERANDS)                    \
  struct NAME {                                                                       \
    using Register = Bits<BITS>;                                                      \
    using Chain = NumberChain<Register>;                                              \
    static constexpr int kFirstArch = FIRST, kBody = BODY;                            \
    __device__ static void apply(Chain& c, const Register& a, const Register& b, int) { \
      asm volatile(PTX " " OPERANDS ";" : "+" R(c.x) : R(a), R(b));                   \
    }                                                                                 \
  };
#define TCNUM_INCORE_KERNEL(NAME, PTX, FIRST, BODY, BITS, R, OPERANDS) \
  {"incore." PTX, {launch_chains<incore::NAME>, most_lane_warps}},

/// Not in an unnamed namespace: where timing kernels are not built, nothing uses them, and nvcc would warn.
namespace incore {
TCNUM_INCORE_ROWS(TCNUM_INCORE_OP)
}  // namespace incore

namespace {

constexpr TimingKernel kKernels[] = {TCNUM_INCORE_ROWS(TCNUM_INCORE_KERNEL)};

}  // namespace

std::span<const TimingKernel> incore_timing_kernels() { return kKernels; }

}  // namespace tcnum
