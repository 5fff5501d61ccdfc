// What results are remembered by, as stream.hpp says.
#pragma once

#include <cstdint>

#include "emu/host_device.hpp"

namespace tcnum::stream {

/// x · factor, modulo 2^64. A GPU multiplies 32 bits and adds in one instruction; left alone, its compiler takes two.
TCNUM_HOST_DEVICE inline std::uint64_t product_of(std::uint64_t x, std::uint64_t factor) {
#ifdef __CUDA_ARCH__
  std::uint64_t product;
  asm("{\n"
      ".reg .u32 x_low, x_high, f_low, f_high, low, high;\n"
      ".reg .u64 lows;\n"
      "mov.b64 {x_low, x_high}, %1;\n"
      "mov.b64 {f_low, f_high}, %2;\n"
      "mul.wide.u32 lows, x_low, f_low;\n"
      "mov.b64 {low, high}, lows;\n"
      "mad.lo.u32 high, x_low, f_high, high;\n"
      "mad.lo.u32 high, x_high, f_low, high;\n"
      "mov.b64 %0, {low, high};\n"
      "}"
      : "=l"(product)
      : "l"(x), "l"(factor));
  return product;
#else
  return x * factor;
#endif
}

/// The hash of an index in the stream and the result there, for neighbouring indices.
struct IndexHash {
  static constexpr std::uint64_t kIndex = 0x9e3779b97f4a7c15u;
  std::uint64_t product;
  TCNUM_HOST_DEVICE explicit IndexHash(std::uint64_t index) : product(index * kIndex) {}

  TCNUM_HOST_DEVICE void advance(int by) { product += static_cast<std::uint64_t>(by) * kIndex; }
  /// Of the index so much further.
  TCNUM_HOST_DEVICE std::uint64_t with(int further, std::uint64_t code) const {
    std::uint64_t x = (product + static_cast<std::uint64_t>(further) * kIndex) ^ code;
    x = product_of(x, 0xff51afd7ed558ccdu);
    x ^= x >> 32;
    x = product_of(x, 0xc4ceb9fe1a85ec53u);
    return x ^ x >> 32;
  }
};
TCNUM_HOST_DEVICE inline std::uint64_t hash_of(std::uint64_t index, std::uint64_t code) {
  return IndexHash(index).with(0, code);
}

}  // namespace tcnum::stream
