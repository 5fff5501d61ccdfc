// A kernel that reads memory once, and multiplies and adds so often for each byte.
#include <cuda_fp16.h>

#include "memory_kernels.hpp"
#include "timing_common.cuh"

namespace tcnum {
namespace {

/// What a lane has of a step: made of its words, taken through turns, and put into a checksum (RooflineWork).
template <RooflineUnit kUnit>
struct Step;

template <>
struct Step<RooflineUnit::fp16> {
  __half2 x, y;

  /// 256 in fp16, and the byte in units of its last bits.
  static constexpr std::uint32_t kBase = 0x5c005c00, kBytes = 0x00ff00ff, kShift = 2;

  __device__ explicit Step(std::uint32_t words)
      : x(of_bits(kBase | (words & kBytes) << kShift)), y(of_bits(kBase | (words >> 8 & kBytes) << kShift)) {}
  __device__ void turn(__half2 plus, __half2 minus) {
    x = __hfma2(y, plus, x);
    y = __hfma2(x, minus, y);
  }
  __device__ static __half2 factor(float f) { return __float2half2_rn(f); }
  __device__ std::uint32_t checksum() const { return roofline_checksum(roofline_checksum(0, bits(x)), bits(y)); }

 private:
  __device__ static __half2 of_bits(std::uint32_t bits) { return *reinterpret_cast<const __half2*>(&bits); }
  __device__ static std::uint32_t bits(const __half2& value) { return *reinterpret_cast<const std::uint32_t*>(&value); }
};

/// Two pairs in registers of their own.
template <class Float>
struct PairsStep {
  Float x[2], y[2];

  __device__ explicit PairsStep(std::uint32_t words) {
#pragma unroll
    for (unsigned p = 0; p < 2; ++p) {
      x[p] = of_byte(words >> 16 * p & 0xff);
      y[p] = of_byte(words >> (16 * p + 8) & 0xff);
    }
  }
  __device__ void turn(Float plus, Float minus) {
#pragma unroll
    for (unsigned p = 0; p < 2; ++p) x[p] = fused(y[p], plus, x[p]);
#pragma unroll
    for (unsigned p = 0; p < 2; ++p) y[p] = fused(x[p], minus, y[p]);
  }
  __device__ static Float factor(float f) { return f; }
  __device__ std::uint32_t checksum() const {
    std::uint32_t checksum = 0;
#pragma unroll
    for (unsigned p = 0; p < 2; ++p) checksum = roofline_checksum(roofline_checksum(checksum, bits(x[p])), bits(y[p]));
    return checksum;
  }

 private:
  // 256 in the format, and the byte in units of its last bits: no conversion, which would be slow.
  __device__ static Float of_byte(std::uint32_t byte) {
    if constexpr (sizeof(Float) == sizeof(float)) {
      return __uint_as_float(0x43800000 | byte << 15);
    } else {
      return __hiloint2double(static_cast<int>(0x40700000 | byte << 12), 0);
    }
  }
  __device__ static float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
  __device__ static double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
  __device__ static std::uint32_t bits(float value) { return __float_as_uint(value); }
  __device__ static std::uint32_t bits(double value) {
    return static_cast<std::uint32_t>(__double2hiint(value) ^ __double2loint(value));
  }
};
template <>
struct Step<RooflineUnit::fp32> : PairsStep<float> {
  using PairsStep::PairsStep;
};
template <>
struct Step<RooflineUnit::fp64> : PairsStep<double> {
  using PairsStep::PairsStep;
};

template <>
struct Step<RooflineUnit::tensor> {
  std::uint32_t a[4], b[2];
  float d[4] = {};

  __device__ explicit Step(std::uint32_t words) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) a[i] = roofline_a(words, i);
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) b[i] = roofline_b(words, i);
  }
  __device__ void turn(float, float) {
#if __CUDA_ARCH__ >= 800  // the instruction's first
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
  }
  __device__ static float factor(float f) { return f; }
  __device__ std::uint32_t checksum() const {
    std::uint32_t checksum = 0;
#pragma unroll
    for (float each : d) checksum = roofline_checksum(checksum, __float_as_uint(each));
    return checksum;
  }
};

/// What comes from memory goes by: nothing reads it again.
__device__ inline uint4 load_once(const uint4* from) { return __ldcs(from); }

/// A loop over turns has so many in its body that its counter does not show.
template <RooflineUnit kUnit>
constexpr unsigned kUnrolledTurns = kUnit == RooflineUnit::tensor ? 8 : 32;

template <RooflineUnit kUnit>
__global__ void __launch_bounds__(kRooflineThreads) roofline_kernel(const RooflineLaunch run) {
  constexpr unsigned kLoads = kRooflineLaneBytes / sizeof(uint4);
  const unsigned thread = blockIdx.x * kRooflineThreads + threadIdx.x, lane = threadIdx.x % kWarpLanes;
  const unsigned warps = gridDim.x * kRooflineThreads / kWarpLanes;
  const auto plus = Step<kUnit>::factor(run.plus), minus = Step<kUnit>::factor(run.minus);

  Stopwatch stopwatch(run.times);
  stopwatch.start();
  std::uint64_t sum = 0;
#pragma unroll 1
  for (std::size_t i = thread / kWarpLanes; i < run.steps; i += warps) {
    const auto* from = reinterpret_cast<const uint4*>(run.buffer + i * run.reads * kRooflineTileBytes) + lane;
    std::uint32_t words = 0;
#pragma unroll 1
    for (unsigned read = 0; read < run.reads; ++read, from += kLoads * kWarpLanes) {
      uint4 loaded[kLoads];
#pragma unroll
      for (unsigned l = 0; l < kLoads; ++l) loaded[l] = load_once(from + l * kWarpLanes);
#pragma unroll
      for (const uint4& l : loaded) words ^= l.x ^ l.y ^ l.z ^ l.w;
    }
    Step<kUnit> step(words);
#pragma unroll kUnrolledTurns < kUnit>
    for (unsigned t = 0; t < run.turns; ++t) step.turn(plus, minus);
    sum += step.checksum() * (2 * (i * kWarpLanes + lane) + 1);
  }
  run.sums[thread] = sum;
  stopwatch.stop();
  stopwatch.finish();
}

using RooflineKernel = void (*)(RooflineLaunch);
RooflineKernel kernel_of(RooflineUnit unit) {
  switch (unit) {
    case RooflineUnit::fp16:
      return roofline_kernel<RooflineUnit::fp16>;
    case RooflineUnit::fp32:
      return roofline_kernel<RooflineUnit::fp32>;
    case RooflineUnit::fp64:
      return roofline_kernel<RooflineUnit::fp64>;
    case RooflineUnit::tensor:
      break;
  }
  return roofline_kernel<RooflineUnit::tensor>;
}

}  // namespace

const void* roofline_kernel_of(RooflineUnit unit) { return reinterpret_cast<const void*>(kernel_of(unit)); }

cudaError_t time_roofline(const RooflineLaunch& run, RooflineUnit unit) {
  kernel_of(unit)<<<run.blocks, kRooflineThreads>>>(run);
  return cudaGetLastError();
}

}  // namespace tcnum
