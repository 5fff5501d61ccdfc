// Timing the DPX functions of the CUDA math API, lane by lane (time_chains.cuh), and applying them to values.
#include "time_chains.cuh"

namespace tcnum {

// One row a function: its name without the two underscores, that with which it takes turns, how many predicates it
// gives, and its arguments: the chain's number x, the lane's a and b, and where the predicates go. Two maxima of two
// behind each other are a maximum of three, and nvcc makes one machine instruction of them: so they take turns with
// minima, whose bound is b.
// clang-format off
#define TCNUM_DPX_ROWS(X)                                       \
  X(viaddmax_s32, viaddmax_s32, 0, x, a, b)                     \
  X(viaddmax_s32_relu, viaddmax_s32_relu, 0, x, a, b)           \
  X(viaddmax_u32, viaddmax_u32, 0, x, a, b)                     \
  X(viaddmax_s16x2, viaddmax_s16x2, 0, x, a, b)                 \
  X(viaddmax_s16x2_relu, viaddmax_s16x2_relu, 0, x, a, b)       \
  X(viaddmax_u16x2, viaddmax_u16x2, 0, x, a, b)                 \
  X(viaddmin_s32, viaddmin_s32, 0, x, a, b)                     \
  X(viaddmin_s32_relu, viaddmin_s32_relu, 0, x, a, b)           \
  X(viaddmin_u32, viaddmin_u32, 0, x, a, b)                     \
  X(viaddmin_s16x2, viaddmin_s16x2, 0, x, a, b)                 \
  X(viaddmin_s16x2_relu, viaddmin_s16x2_relu, 0, x, a, b)       \
  X(viaddmin_u16x2, viaddmin_u16x2, 0, x, a, b)                 \
  X(vimax3_s32, vimax3_s32, 0, x, a, b)                         \
  X(vimax3_s32_relu, vimax3_s32_relu, 0, x, a, b)               \
  X(vimax3_u32, vimax3_u32, 0, x, a, b)                         \
  X(vimax3_s16x2, vimax3_s16x2, 0, x, a, b)                     \
  X(vimax3_s16x2_relu, vimax3_s16x2_relu, 0, x, a, b)           \
  X(vimax3_u16x2, vimax3_u16x2, 0, x, a, b)                     \
  X(vimin3_s32, vimin3_s32, 0, x, a, b)                         \
  X(vimin3_s32_relu, vimin3_s32_relu, 0, x, a, b)               \
  X(vimin3_u32, vimin3_u32, 0, x, a, b)                         \
  X(vimin3_s16x2, vimin3_s16x2, 0, x, a, b)                     \
  X(vimin3_s16x2_relu, vimin3_s16x2_relu, 0, x, a, b)           \
  X(vimin3_u16x2, vimin3_u16x2, 0, x, a, b)                     \
  X(vimax_s32_relu, vimin_s32_relu, 0, x, a)                    \
  X(vimax_s16x2_relu, vimin_s16x2_relu, 0, x, a)                \
  X(vimin_s32_relu, vimax_s32_relu, 0, x, a)                    \
  X(vimin_s16x2_relu, vimax_s16x2_relu, 0, x, a)                \
  X(vibmax_s32, vibmax_s32, 1, x, a, &low)                      \
  X(vibmax_u32, vibmax_u32, 1, x, a, &low)                      \
  X(vibmin_s32, vibmin_s32, 1, x, a, &low)                      \
  X(vibmin_u32, vibmin_u32, 1, x, a, &low)                      \
  X(vibmax_s16x2, vibmax_s16x2, 2, x, a, &high, &low)           \
  X(vibmax_u16x2, vibmax_u16x2, 2, x, a, &high, &low)           \
  X(vibmin_s16x2, vibmin_s16x2, 2, x, a, &high, &low)           \
  X(vibmin_u16x2, vibmin_u16x2, 2, x, a, &high, &low)
// clang-format on

#define TCNUM_DPX_FUNCTION(NAME, OTHER, PREDICATES, ...)                                                                   \
  struct NAME {                                                                                                     \
    static constexpr int kPredicates = PREDICATES;                                                                  \
    __device__ static std::uint32_t call(std::uint32_t x, std::uint32_t a, [[maybe_unused]] std::uint32_t b,        \
                                         [[maybe_unused]] bool& high, [[maybe_unused]] bool& low) {                 \
      return static_cast<std::uint32_t>(__##NAME(__VA_ARGS__));                                                     \
    }                                                                                                               \
  };
#define TCNUM_DPX_KERNELS(NAME, OTHER, PREDICATES, ...)                                 \
  {"dpx.__" #NAME, {launch_chains<ChainedDpx<dpx::NAME, dpx::OTHER>>, most_lane_warps}}, \
      {"dpx.values.__" #NAME, {launch_values<dpx::NAME>, most_lane_warps}},

/// Not in an unnamed namespace: where timing kernels are not built, nothing uses them, and nvcc would warn.
namespace dpx {
TCNUM_DPX_ROWS(TCNUM_DPX_FUNCTION)
}  // namespace dpx

/// A number, and whether an odd count of predicates was true: what nothing read, the compiler would not compute.
struct PredicateChain {
  using Register = std::uint32_t;
  Register x;
  bool odd = false;
  __device__ Register result() const { return odd ? ~x : x; }
};

template <class Function, class Other>
struct ChainedDpx {
  using Chain = std::conditional_t<Function::kPredicates == 0, NumberChain<std::uint32_t>, PredicateChain>;
  static constexpr int kFirstArch = 50, kBody = kLaneCalls;
  __device__ static void apply(Chain& chain, const std::uint32_t& a, const std::uint32_t& b, int step) {
    bool high = false, low = false;
    if (std::is_same_v<Function, Other> || step % 2 == 0) {
      chain.x = Function::call(chain.x, a, b, high, low);
    } else {
      chain.x = Other::call(chain.x, b, a, high, low);
    }
    if constexpr (Function::kPredicates != 0) chain.odd ^= high != low;
  }
};

/// A, B and C [value]; D [block][value] the result and, beside it, the predicates: the low one is bit 0, the high one
/// bit 1. Each thread has `steps` values.
template <class Function>
__global__ void __launch_bounds__(1024) dpx_values_kernel(const TimedLaunch run) {
  if constexpr (!is_timed(kCompiledFor)) {
    __trap();
  } else {
    const unsigned values = blockDim.x * run.steps;
    const auto* const a = static_cast<const std::uint32_t*>(run.a);
    const auto* const b = static_cast<const std::uint32_t*>(run.b);
    const auto* const c = static_cast<const std::uint32_t*>(run.c);
    uint2* const to_d = static_cast<uint2*>(run.d) + std::size_t{blockIdx.x} * values;
    Stopwatch stopwatch(run);
    stopwatch.start();
    for (unsigned i = threadIdx.x; i < values; i += blockDim.x) {
      bool high = false, low = false;
      const std::uint32_t result = Function::call(a[i], b[i], c[i], high, low);
      to_d[i] = make_uint2(result, (high ? 2u : 0u) | (low ? 1u : 0u));
    }
    stopwatch.stop();
    stopwatch.finish();
  }
}

template <class Function>
cudaError_t launch_values(const TimedLaunch& run) {
  dpx_values_kernel<Function><<<run.blocks, run.warps * kWarpLanes>>>(run);
  return cudaGetLastError();
}

namespace {

constexpr TimingKernel kKernels[] = {TCNUM_DPX_ROWS(TCNUM_DPX_KERNELS)};

}  // namespace

std::span<const TimingKernel> dpx_timing_kernels() { return kKernels; }

}  // namespace tcnum
