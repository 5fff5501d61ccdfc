// Doubles as codes of any format that holds them and has infinities, or integers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tcnum/format.hpp"

namespace tcnum::panels {

class NumberWriter {
 public:
  explicit NumberWriter(FormatId id) {
    const Format& f = format(id);
    bytes_ = static_cast<std::size_t>(f.storage_bytes());
    is_integer_ = !f.floating;
    code_mask_ = f.code_mask();
    sign_ = std::uint64_t{1} << (f.storage_bits - 1);
    padding_ = f.padding_bits;
    down_ = kFraction - f.fraction_bits;
    infinity_ = f.first_non_finite() << f.padding_bits;
    unit_ = std::bit_cast<double>(static_cast<std::uint64_t>(f.bias) << kFraction);
  }

  /// Of a number of the format that is no NaN. The machine must keep subnormal numbers.
  std::uint64_t code(double x) const {
    if (is_integer_) return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) & code_mask_;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63), sign = magnitude == bits ? 0 : sign_;
    if (magnitude == std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity())) return sign | infinity_;
    // Multiplied so that its exponent has the format's bias, which makes the format's subnormal numbers doubles'.
    const auto shifted = std::bit_cast<std::uint64_t>(std::bit_cast<double>(magnitude) * unit_);
    return sign | shifted >> down_ << padding_;
  }

  /// Puts a code where element number `at` of a matrix is.
  void write(std::uint64_t code, std::byte* codes, std::size_t at) const {
    std::memcpy(codes + at * bytes_, &code, bytes_);
  }

 private:
  static_assert(std::endian::native == std::endian::little, "codes are written from their lowest byte on");
  static constexpr int kFraction = std::numeric_limits<double>::digits - 1;
  std::size_t bytes_ = 0;
  bool is_integer_ = false;
  std::uint64_t code_mask_ = 0, sign_ = 0, infinity_ = 0;
  int padding_ = 0, down_ = 0;
  double unit_ = 1;
};

}  // namespace tcnum::panels
