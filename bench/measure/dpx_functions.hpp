// The DPX functions of the CUDA math API, as it documents them: what they compute, bit for bit.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tcnum::bench {

/// What a function does with its arguments before the maximum or minimum.
enum class DpxForm : std::uint8_t {
  sum,    ///< extreme(a + b, c); the sum wraps around
  three,  ///< extreme(a, b, c)
  two,    ///< extreme(a, b)
};

struct DpxFunction {
  std::string_view name;  ///< "__viaddmax_s16x2_relu"
  DpxForm form;
  bool is_max;
  int bits;  ///< of a part: a word is one of 32, or two of 16 that do not know of each other
  bool is_signed, relu;
  bool has_predicates = false;  ///< of each part: whether a is the extreme (a >= b of a maximum, a <= b of a minimum)

  constexpr int parts() const { return 32 / bits; }
};

/// The minimum to a maximum of two and the other way round, with which it takes turns in timed chains: nvcc makes one
/// maximum of three of two maxima. Of others the function itself.
const DpxFunction& in_turn_with(const DpxFunction& function);

/// All of them (CUDA Math API, "SIMD Intrinsics").
std::span<const DpxFunction> dpx_functions();

struct DpxResult {
  std::uint32_t value = 0;
  unsigned predicates = 0;  ///< bit 0: of the low part; bit 1: of the high one
  friend bool operator==(const DpxResult&, const DpxResult&) = default;
};
/// Functions of two arguments do not look at c.
DpxResult evaluate(const DpxFunction& function, std::uint32_t a, std::uint32_t b, std::uint32_t c);

}  // namespace tcnum::bench
