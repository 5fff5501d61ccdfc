// The number of bits of an integer, on the CPU and on a GPU.
#pragma once

#include <bit>
#include <cstdint>

#include "host_device.hpp"
#include "tcnum/format.hpp"

namespace tcnum {

/// Bits from the leading one on; 0 for 0.
TCNUM_HOST_DEVICE inline int bit_width(std::uint32_t x) {
#ifdef __CUDA_ARCH__
  return 32 - __clz(static_cast<int>(x));
#else
  return static_cast<int>(std::bit_width(x));
#endif
}
TCNUM_HOST_DEVICE inline int bit_width(std::uint64_t x) {
#ifdef __CUDA_ARCH__
  return 64 - __clzll(static_cast<long long>(x));
#else
  return static_cast<int>(std::bit_width(x));
#endif
}
TCNUM_HOST_DEVICE inline int bit_width(uint128 x) {
  const auto high = static_cast<std::uint64_t>(x >> 64);
  return high != 0 ? 64 + bit_width(high) : bit_width(static_cast<std::uint64_t>(x));
}

}  // namespace tcnum
