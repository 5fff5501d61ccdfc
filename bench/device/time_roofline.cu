// A kernel that reads memory once, and multiplies and adds so often for each byte.
#include <cuda_fp16.h>

#include "memory_kernels.hpp"
#include "timing_common.cuh"

namespace tcnum {
namespace {

/// What a lane has of a step: made of its words, taken through turns, and put into a checksum (RooflineWork).
template <RooflineUnit kUnit>
struct Step;

/// Two halves of fp16.
struct Halves {
  using Value = __half2;
  __device__ static Value x(std::uint32_t words) { return of_bits(kBase | (words & kBytes) << kShift); }
  __device__ static Value y(std::uint32_t words) { return x(words >> 8); }
  __device__ static Value fused(Value a, Value b, Value c) { return __hfma2(a, b, c); }
  __device__ static Value plus(const RooflineLaunch& run) { return of_bits(run.half_plus); }
  __device__ static Value minus(const RooflineLaunch& run) { return of_bits(run.half_minus); }
  __device__ static std::uint32_t bits(const Value& value) { return *reinterpret_cast<const std::uint32_t*>(&value); }

 private:
  /// 256 in fp16, and the byte in units of its last bits.
  static constexpr std::uint32_t kBase = 0x5c005c00, kBytes = 0x00ff00ff, kShift = 2;
  __device__ static Value of_bits(std::uint32_t bits) { return *reinterpret_cast<const Value*>(&bits); }
};
template <class Float>
struct Whole {
  using Value = Float;
  __device__ static Value x(std::uint32_t words) { return of_byte(words & 0xff); }
  __device__ static Value y(std::uint32_t words) { return of_byte(words >> 8 & 0xff); }
  __device__ static float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
  __device__ static double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
  __device__ static Value plus(const RooflineLaunch& run) { return run.plus; }
  __device__ static Value minus(const RooflineLaunch& run) { return run.minus; }
  __device__ static std::uint32_t bits(float value) { return __float_as_uint(value); }
  __device__ static std::uint32_t bits(double value) {
    return static_cast<std::uint32_t>(__double2hiint(value) ^ __double2loint(value));
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
};

template <RooflineUnit kUnit, class Number>
struct NumbersStep {
  using Value = typename Number::Value;
  static constexpr unsigned kRegisters = roofline_registers(kUnit);
  Value x[kRegisters], y[kRegisters];

  __device__ explicit NumbersStep(std::uint32_t words) {
#pragma unroll
    for (unsigned r = 0; r < kRegisters; ++r) {
      const std::uint32_t rotated = __funnelshift_l(words, words, 4 * r);
      x[r] = Number::x(rotated);
      y[r] = Number::y(rotated);
    }
  }
  __device__ void turn(Value plus, Value minus) {
#pragma unroll
    for (unsigned r = 0; r < kRegisters; ++r) x[r] = Number::fused(y[r], plus, x[r]);
#pragma unroll
    for (unsigned r = 0; r < kRegisters; ++r) y[r] = Number::fused(x[r], minus, y[r]);
  }
  __device__ static Value plus(const RooflineLaunch& run) { return Number::plus(run); }
  __device__ static Value minus(const RooflineLaunch& run) { return Number::minus(run); }
  __device__ std::uint32_t checksum() const {
    std::uint32_t checksum = 0;
#pragma unroll
    for (unsigned r = 0; r < kRegisters; ++r) {
      checksum = roofline_checksum(roofline_checksum(checksum, Number::bits(x[r])), Number::bits(y[r]));
    }
    return checksum;
  }
};
template <>
struct Step<RooflineUnit::fp16> : NumbersStep<RooflineUnit::fp16, Halves> {
  using NumbersStep::NumbersStep;
};
template <>
struct Step<RooflineUnit::fp32> : NumbersStep<RooflineUnit::fp32, Whole<float>> {
  using NumbersStep::NumbersStep;
};
template <>
struct Step<RooflineUnit::fp64> : NumbersStep<RooflineUnit::fp64, Whole<double>> {
  using NumbersStep::NumbersStep;
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
  __device__ static float plus(const RooflineLaunch& run) { return run.plus; }
  __device__ static float minus(const RooflineLaunch& run) { return run.minus; }
  __device__ std::uint32_t checksum() const {
    std::uint32_t checksum = 0;
#pragma unroll
    for (float each : d) checksum = roofline_checksum(checksum, __float_as_uint(each));
    return checksum;
  }
};

/// What comes from memory goes by: nothing reads it again.
__device__ inline uint4 load_once(const uint4* from) { return __ldcs(from); }

/// A loop over turns has so many instructions in its body that its counter does not show.
template <RooflineUnit kUnit>
constexpr unsigned kUnrolledTurns = kUnit == RooflineUnit::tensor ? 8 : 64 / roofline_registers(kUnit);

template <RooflineUnit kUnit>
__global__ void __launch_bounds__(kRooflineThreads) roofline_kernel(const RooflineLaunch run) {
  constexpr unsigned kLoads = kRooflineLaneBytes / sizeof(uint4);
  const unsigned thread = blockIdx.x * kRooflineThreads + threadIdx.x, lane = threadIdx.x % kWarpLanes;
  const unsigned warps = gridDim.x * kRooflineThreads / kWarpLanes;
  const auto plus = Step<kUnit>::plus(run), minus = Step<kUnit>::minus(run);

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
