// Codes of formats and the machine's numbers: read from any format but ue8m0, and written to any that has infinities,
// or to integers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "tcnum/datapath.hpp"

namespace tcnum::panels {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// What a NaN operand becomes, as bits of a T.
template <class T>
struct NanBits {
  BitsOf<T> code = 0;  ///< that of all
  bool comes_back = false;
  BitsOf<T> quiet = 0;  ///< or, where they come back, their own with these bits set

  BitsOf<T> operator()(std::uint64_t own) const { return comes_back ? static_cast<BitsOf<T>>(own) | quiet : code; }
};

/// Whether every finite number of a format, which may be integers, is one of `number`, which is the machine's.
constexpr bool reads_exactly(FormatId number, FormatId operand) {
  const Format& to = format(number);
  Format from = format(operand);
  if (!from.floating) return from.storage_bits <= to.fraction_bits + 1;
  from.has_sign = true;
  return operand != FormatId::ue8m0 && holds(to, from);
}

/// How codes of one operand are read. T must hold every number of its format.
template <class T>
struct NumberReader {
  NumberReader(const OperandRule& rule, const NanBits<T>& nan_operands);

  /// The bits of what a code is read as. The machine must keep subnormal numbers.
  BitsOf<T> operator()(std::uint64_t code) const {
    code &= code_mask;
    if (is_integer) {
      if (code == 0) return 0;  // a machine that rounds down would make it −0
      const std::uint64_t beside = (code ^ sign) | std::bit_cast<std::uint64_t>(0x1p52);
      const double number = std::bit_cast<double>(beside) - integer_zero;
      return std::bit_cast<BitsOf<T>>(static_cast<T>(number));
    }
    const std::uint64_t negative = code & sign, magnitude = (code & (sign - 1)) >> padding;
    double number = std::bit_cast<double>(magnitude << up) * unit;  // subnormal numbers too
    if (magnitude < smallest) number = 0;
    if (magnitude >= first_special) {
      if (!has_infinity || magnitude > first_special) return nan(code);
      number = std::numeric_limits<double>::infinity();
    }
    if (zero_is_nan && code == sign) return nan(code);
    return std::bit_cast<BitsOf<T>>(static_cast<T>(negative != 0 ? -number : number));
  }

  /// Reads `count` codes, each `stride` codes after the one before.
  void read(const std::byte* codes, std::size_t stride, std::size_t count, T* to) const;

  static constexpr int kFraction = std::numeric_limits<double>::digits - 1;
  static constexpr int kBias = std::numeric_limits<double>::max_exponent - 1;

  std::size_t bytes = 0;  ///< of a code
  std::uint64_t code_mask = 0;
  std::uint64_t sign = 0;           ///< 0 if there is none
  bool is_integer = false;          ///< of which all are floating-point numbers once they are above 2^52
  double integer_zero = 0;          ///< what 0 is then
  std::uint64_t smallest = 0;       ///< magnitudes below this are read as zero
  std::uint64_t first_special = 0;  ///< from this on they are infinities or NaNs
  int padding = 0, up = 0;
  double unit = 1;  ///< what a magnitude, shifted up to be that of a double, is multiplied by
  bool has_infinity = false;
  bool zero_is_nan = false;  ///< −0 is the one NaN
  NanBits<T> nan;
};

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
