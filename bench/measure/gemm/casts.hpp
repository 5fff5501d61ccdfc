// Casts to fp8, as a GPU ought to do them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace tcnum::bench {

/// The fp8e4m3 code of each bf16 code, which is a number x: that of x · scale, rounded to fp32, then to the nearest
/// fp8, ties to even, and those too large to the largest finite one (PTX ISA, "cvt", .satfinite). NaNs become the one
/// of the format.
class CastTable {
 public:
  explicit CastTable(float scale);
  std::uint8_t operator[](std::uint16_t bf16) const { return (*codes_)[bf16]; }

 private:
  static constexpr std::size_t kCodes = 1 << 16;
  std::unique_ptr<std::array<std::uint8_t, kCodes>> codes_;
};

/// The number of a bf16 code.
float number_of_bf16(std::uint16_t code);

/// The scale that delayed scaling takes for what had that largest magnitude: the largest power of two with which the
/// format's largest number is not exceeded. It is a power of two, so that what undoes it rounds nothing. Of 0, infinity
/// and NaN: 1.
float scale_for(float amax);

}  // namespace tcnum::bench
