// Timing the DPX functions of the CUDA math API, lane by lane (time_chains.cuh), and applying them to values.
#include "dpx_functions.hpp"
#include "time_chains.cuh"

namespace tcnum {

// What each form is called with: the chain's number x, the lane's a and b, and where predicates go. Of two arguments
// the turns' bound is b.
#define TCNUM_DPX_sum (x, a, b)
#define TCNUM_DPX_three (x, a, b)
#define TCNUM_DPX_two (x, a)
#define TCNUM_DPX_flag (x, a, &low)
#define TCNUM_DPX_flags (x, a, &high, &low)

#define TCNUM_DPX_FUNCTION(NAME, FORM, OTHER)                                                                \
  struct NAME {                                                                                              \
    static constexpr bool kHasPredicates = DpxForm::FORM >= DpxForm::flag;                                   \
    __device__ static std::uint32_t call(std::uint32_t x, std::uint32_t a, [[maybe_unused]] std::uint32_t b, \
                                         [[maybe_unused]] bool& high, [[maybe_unused]] bool& low) {          \
      return static_cast<std::uint32_t>(__##NAME TCNUM_DPX_##FORM);                                          \
    }                                                                                                        \
  };
#define TCNUM_DPX_KERNELS(NAME, FORM, OTHER)                                             \
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
  using Chain = std::conditional_t<Function::kHasPredicates, PredicateChain, NumberChain<std::uint32_t>>;
  static constexpr int kFirstArch = 50, kBody = kLaneCalls;
  __device__ static void apply(Chain& chain, const std::uint32_t& a, const std::uint32_t& b, int step) {
    bool high = false, low = false;
    if (std::is_same_v<Function, Other> || step % 2 == 0) {
      chain.x = Function::call(chain.x, a, b, high, low);
    } else {
      chain.x = Other::call(chain.x, b, a, high, low);
    }
    if constexpr (Function::kHasPredicates) chain.odd ^= high != low;
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
