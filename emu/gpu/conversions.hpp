// Doubles as two words, and the machine's conversions between formats, on a GPU as on a CPU.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

#include "emu/host_device.hpp"
#include "emu/machine_rounding.hpp"
#include "tcnum/format.hpp"
#include "tcnum/rounding.hpp"

namespace tcnum::gpu {

/// 2^exponent, a normal double.
TCNUM_HOST_DEVICE inline double power_of_two(int exponent) {
#ifdef __CUDA_ARCH__
  return __hiloint2double((exponent + 1023) << 20, 0);
#else
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
#endif
}

TCNUM_HOST_DEVICE inline std::uint32_t low_word(double x) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__double2loint(x));
#else
  return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x));
#endif
}
TCNUM_HOST_DEVICE inline std::uint32_t high_word(double x) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__double2hiint(x));
#else
  return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x) >> 32);
#endif
}
TCNUM_HOST_DEVICE inline double from_words(std::uint32_t high, std::uint32_t low) {
#ifdef __CUDA_ARCH__
  return __hiloint2double(static_cast<int>(high), static_cast<int>(low));
#else
  return std::bit_cast<double>(static_cast<std::uint64_t>(high) << 32 | low);
#endif
}
inline constexpr std::uint32_t kSignBit = 1u << 31;
inline constexpr int kBias = 1023, kHighFraction = 20;  ///< of a double, and of its high word

/// a · b + c, rounded so, but not to nearest_away.
TCNUM_HOST_DEVICE inline double fused_multiply_add(double a, double b, double c, Rounding rounding) {
#ifdef __CUDA_ARCH__
  switch (rounding) {
    case Rounding::toward_zero:
      return __fma_rz(a, b, c);
    case Rounding::down:
      return __fma_rd(a, b, c);
    case Rounding::up:
      return __fma_ru(a, b, c);
    default:
      return __fma_rn(a, b, c);
  }
#else
  const MachineRounding machine(rounding);
  const volatile double x = a, y = b, z = c;  // keeps the sum between the two changes of rounding
  const volatile double sum = std::fma(x, y, z);
  return sum;
#endif
}

/// The same in single precision, rounded to nearest.
TCNUM_HOST_DEVICE inline float fused_multiply_add(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

TCNUM_HOST_DEVICE inline double double_of(std::uint64_t code) {
#ifdef __CUDA_ARCH__
  return __longlong_as_double(static_cast<long long>(code));
#else
  return std::bit_cast<double>(code);
#endif
}
TCNUM_HOST_DEVICE inline std::uint64_t code_of(double x) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint64_t>(__double_as_longlong(x));
#else
  return std::bit_cast<std::uint64_t>(x);
#endif
}
TCNUM_HOST_DEVICE inline float float_of(std::uint32_t code) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(code);
#else
  return std::bit_cast<float>(code);
#endif
}
TCNUM_HOST_DEVICE inline std::uint32_t code_of(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  return std::bit_cast<std::uint32_t>(x);
#endif
}
TCNUM_HOST_DEVICE inline float to_float_toward_zero(double x) {
#ifdef __CUDA_ARCH__
  return __double2float_rz(x);
#else
  const float nearest = static_cast<float>(x);
  return std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? std::nextafter(nearest, 0.0f) : nearest;
#endif
}
/// The code of fp16 that is nearest.
TCNUM_HOST_DEVICE inline std::uint32_t to_half(double x) {
#ifdef __CUDA_ARCH__
  return __half_as_ushort(__double2half(x));
#else
  constexpr Format kFp16 = format(FormatId::fp16);
  constexpr std::uint32_t kInfinity = 0x7c00;
  const std::uint32_t sign = high_word(x) >> 31 << 15, field = high_word(x) >> kHighFraction & 0x7ff;
  const auto lowest = static_cast<std::uint32_t>(kFp16.min_exponent() + kBias);
  if (field >= static_cast<std::uint32_t>(kFp16.max_exponent() + 1 + kBias)) return sign | kInfinity;
  // The last bits of a number that has this added are in units of the result's last place.
  const std::uint32_t own = field < lowest ? lowest : field;
  const double coarse = power_of_two(static_cast<int>(own) - kBias + 52 - kFp16.fraction_bits);
  const std::uint32_t units = low_word(std::fabs(x) + coarse);
  return sign | (((own - lowest) << kFp16.fraction_bits) + units);  // a carry goes on into the exponent
#endif
}

/// The number of a code of fp32 or fp16; Code is as wide as the format.
template <class Code>
TCNUM_HOST_DEVICE float value_of(std::uint32_t code) {
  if constexpr (sizeof(Code) == 4) {
    return float_of(code);
  } else {
#ifdef __CUDA_ARCH__
    return __half2float(__ushort_as_half(static_cast<unsigned short>(code)));
#else
    constexpr Format kFp16 = format(FormatId::fp16), kFp32 = format(FormatId::fp32);
    const std::uint32_t sign = code >> 15 << 31, magnitude = code & 0x7fff;
    if (magnitude >= 0x7c00) return float_of(sign | 0x7f800000u | (magnitude & 0x3ff) << 13);
    const float x =  // as in read()
        float_of(magnitude << (kFp32.fraction_bits - kFp16.fraction_bits)) * std::ldexp(1.0f, kFp32.bias - kFp16.bias);
    return float_of(code_of(x) | sign);
#endif
  }
}

TCNUM_HOST_DEVICE inline bool finite(float x) {
  constexpr std::uint32_t kInfinity = 0x7f800000;
  return (code_of(x) & kInfinity) != kInfinity;
}

}  // namespace tcnum::gpu
