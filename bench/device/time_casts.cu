// Casts to fp8 as delayed scaling has them: the scale is known before, and the largest magnitude is found on the way,
// for the next time.
#include <algorithm>

#include "cast_kernels.hpp"

namespace tcnum {
namespace {

constexpr unsigned kCastThreads = 256;
constexpr unsigned kAtATime = 4;  // vectors of a thread whose loads do not wait for each other
constexpr unsigned kBlocksOfSm = 8;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
constexpr unsigned kWarp = 32, kWarps = kCastThreads / kWarp;
constexpr std::uint32_t kMagnitudes = 0x7fff7fff;  // of two bf16

/// The fp8 codes of two bf16, the first in the low byte. An fp32 has a bf16 in its high half.
__device__ std::uint32_t cast_pair(std::uint32_t two, float scale) {
  const float first = __fmul_rn(__uint_as_float(two << 16), scale);
  const float second = __fmul_rn(__uint_as_float(two & 0xffff0000U), scale);
  std::uint16_t codes = 0;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(second), "f"(first));
  return codes;
}
__device__ std::uint32_t cast_four(std::uint32_t low, std::uint32_t high, float scale) {
  return cast_pair(low, scale) | cast_pair(high, scale) << 16;
}

/// Magnitudes of bf16 are ordered as their codes are; NaNs are above all.
__device__ void take_larger(std::uint32_t& largest, std::uint32_t two) {
  asm("max.u16x2 %0, %0, %1;" : "+r"(largest) : "r"(two & kMagnitudes));
}

/// The largest of all threads' goes to *amax.
__device__ void put_amax(std::uint32_t largest, unsigned* amax) {
  __shared__ unsigned of_warps[kWarps];
  const unsigned of_warp = __reduce_max_sync(0xffffffff, max(largest & 0xffffU, largest >> 16));
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = of_warp;
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned of_block = 0;
  for (const unsigned each : of_warps) of_block = max(of_block, each);
  atomicMax(amax, of_block << 16);
}
#endif

/// Each block takes kAtATime vectors of each thread, then those of the next place in the grid.
__global__ void __launch_bounds__(kCastThreads) cast_kernel([[maybe_unused]] const CastLaunch run) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  const auto* const from = reinterpret_cast<const uint4*>(run.from);
  auto* const to = reinterpret_cast<uint2*>(run.to);
  const std::size_t vectors = run.count / kCastVector;
  const float scale = *run.scale;
  std::uint32_t largest = 0;
  constexpr std::size_t kStep = std::size_t{kAtATime} * kCastThreads;
  for (std::size_t first = blockIdx.x * kStep + threadIdx.x; first < vectors; first += gridDim.x * kStep) {
    uint4 read[kAtATime];
#pragma unroll
    for (unsigned i = 0; i < kAtATime; ++i) {
      const std::size_t at = first + i * kCastThreads;
      read[i] = at < vectors ? __ldg(from + at) : uint4{};
    }
#pragma unroll
    for (unsigned i = 0; i < kAtATime; ++i) {
      const std::size_t at = first + i * kCastThreads;
      const uint4& v = read[i];
      for (const std::uint32_t two : {v.x, v.y, v.z, v.w}) take_larger(largest, two);
      if (at < vectors) to[at] = uint2{cast_four(v.x, v.y, scale), cast_four(v.z, v.w, scale)};
    }
  }
  put_amax(largest, run.amax);
#else
  __trap();
#endif
}

}  // namespace

cudaError_t launch_cast(const CastLaunch& run, unsigned sms) {
  constexpr std::size_t kOfBlock = kCastVector * kAtATime * kCastThreads;
  const std::size_t blocks =
      std::min<std::size_t>((run.count + kOfBlock - 1) / kOfBlock, std::size_t{kBlocksOfSm} * sms);
  cast_kernel<<<static_cast<unsigned>(blocks), kCastThreads>>>(run);
  return cudaGetLastError();
}

}  // namespace tcnum
