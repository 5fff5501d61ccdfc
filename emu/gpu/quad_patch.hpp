// A patch of rows × columns of dot problems of integers of at most 8 bits, four to a word.
#pragma once

#include "emu/integer_sums.hpp"
#include "patch.hpp"
#include "product_chain.hpp"

namespace tcnum::gpu {

/// Four products of 8-bit integers, added to a sum.
TCNUM_HOST_DEVICE inline std::int32_t add_quad(bool a_has_sign, bool b_has_sign, std::uint32_t a, std::uint32_t b,
                                               std::int32_t sum) {
#ifdef __CUDA_ARCH__
  if (a_has_sign && b_has_sign)
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
  else if (a_has_sign)
    asm("dp4a.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
  else if (b_has_sign)
    asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
  else
    asm("dp4a.u32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
#else
  const auto number = [](std::uint32_t word, int byte, bool has_sign) {
    const auto x = static_cast<std::uint8_t>(word >> (8 * byte));
    return has_sign ? static_cast<std::int32_t>(static_cast<std::int8_t>(x)) : static_cast<std::int32_t>(x);
  };
  for (int byte = 0; byte < 4; ++byte) sum += number(a, byte, a_has_sign) * number(b, byte, b_has_sign);
  return sum;
#endif
}

/// One k-step: c becomes the results. `a` and `b` are the first words of the patch's rows and columns, of which a chain
/// of integers has a strip's for each word; they go to where those of the next k-step are.
TCNUM_HOST_DEVICE inline void quad_patch(const GpuDatapath& d, const GpuChain& chain, const std::uint32_t*& a,
                                         const std::uint32_t*& b, std::int32_t (&c)[kPatchRows][kPatchColumns]) {
  const bool differ = d.integers.operation == ProductOperation::exclusive_or;
  const bool a_has_sign = d.a.has_sign, b_has_sign = d.b.has_sign;
  std::int64_t before[kPatchRows][kPatchColumns] = {};
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
  for (int number = 0; number < d.nodes; ++number) {
    const GpuNode& node = d.node[number];
    std::int32_t products[kPatchRows][kPatchColumns] = {};
    const auto add_words = [&](const auto& add) {
#ifdef __CUDA_ARCH__
#pragma unroll 2
#endif
      for (int word = 0; word < chain.node_words[number]; ++word, a += GpuChain::kStrip, b += GpuChain::kStrip) {
        const Pack<std::uint32_t, kPatchRows> x(a);
        const Pack<std::uint32_t, kPatchColumns> y(b);
        each_of_patch([&](int i, int j) { add(x.x[i], y.x[j], products[i][j]); });
      }
    };
    if (differ)  // of bits, a byte each
      add_words([](std::uint32_t x, std::uint32_t y, std::int32_t& sum) {
        sum += static_cast<std::int32_t>(count_bits(x ^ y));
      });
    else if (a_has_sign)
      add_words(
          [&](std::uint32_t x, std::uint32_t y, std::int32_t& sum) { sum = add_quad(true, b_has_sign, x, y, sum); });
    else
      add_words(
          [&](std::uint32_t x, std::uint32_t y, std::int32_t& sum) { sum = add_quad(false, b_has_sign, x, y, sum); });
    const IntegerUnits::Steps& steps = d.integers.unit[static_cast<std::size_t>(node.unit)];
    const bool takes_c = node.others[0] == GpuNode::kAccumulator || node.others[1] == GpuNode::kAccumulator;
    const bool takes_before = node.others[0] >= 0 || node.others[1] >= 0;
    each_of_patch([&](int i, int j) {
      std::int64_t sum = products[i][j];
      if (takes_c) sum += c[i][j];
      if (takes_before) sum += before[i][j];
      bool overflowed = false;
      before[i][j] = apply_steps(steps, sum, overflowed);
    });
  }
  each_of_patch([&](int i, int j) { c[i][j] = static_cast<std::int32_t>(before[i][j]); });
}

}  // namespace tcnum::gpu
