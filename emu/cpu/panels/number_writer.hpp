// Doubles as codes of any format that holds them and has infinities, or integers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "tcnum/format.hpp"

namespace tcnum::panels {

/// A NaN on the way has its code, if it is of a narrower format, in that of a double.
inline constexpr std::uint64_t kQuietNan = std::uint64_t{0x7ff8} << 48;

/// How numbers become codes of one format.
struct NumberWriter {
  /// `nan_code`: of all NaNs; without, each has its own.
  NumberWriter(FormatId id, std::optional<std::uint64_t> nan_code);

  /// Of a number of the format, or a NaN. The machine must keep subnormal numbers.
  std::uint64_t code(const double& number) const {
    // By reference: a floating-point register may make a NaN quiet.
    std::uint64_t bits;
    std::memcpy(&bits, &number, sizeof(bits));
    if (number != number) return nan_code ? *nan_code : is_fp64 ? bits : bits & ~kQuietNan;
    if (is_integer) return static_cast<std::uint64_t>(static_cast<std::int64_t>(number)) & code_mask;
    const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63), of_sign = magnitude == bits ? 0 : sign;
    if (magnitude == kInfinity) return of_sign | infinity;
    // Multiplied so that its exponent has the format's bias, which makes the format's subnormal numbers doubles'.
    const auto shifted = std::bit_cast<std::uint64_t>(std::bit_cast<double>(magnitude) * unit);
    return of_sign | shifted >> down << padding;
  }

  /// Puts a code where element number `at` of a matrix is.
  void put(std::uint64_t code_of_it, std::byte* codes, std::size_t at) const {
    std::memcpy(codes + at * bytes, &code_of_it, bytes);
  }
  /// Writes `count` codes, each `stride` codes after the one before.
  void write(const double* numbers, std::size_t count, std::byte* codes, std::size_t stride) const;

  static_assert(std::endian::native == std::endian::little, "codes are written from their lowest byte on");
  static constexpr int kFraction = std::numeric_limits<double>::digits - 1;
  static constexpr std::uint64_t kInfinity = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
  std::size_t bytes = 0;  ///< of a code
  bool is_integer = false, is_fp64 = false;
  std::uint64_t code_mask = 0, sign = 0, infinity = 0;
  std::optional<std::uint64_t> nan_code;
  int padding = 0, down = 0;
  double unit = 1;
};

}  // namespace tcnum::panels
