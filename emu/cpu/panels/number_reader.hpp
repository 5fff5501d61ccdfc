// Codes of any format but ue8m0, read as the machine's numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
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

}  // namespace tcnum::panels
