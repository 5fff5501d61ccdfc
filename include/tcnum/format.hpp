// Number formats. A format is one constexpr row; code names ue8m0 alone, which has no zero and no subnormals.
//
// Encodings: IEEE 754 for fp16, fp32, fp64; OCP 8-bit Floating Point Specification 1.0 for e4m3 and e5m2; OCP
// Microscaling Formats 1.0 for fp6, fp4 and e8m0; PTX ISA, "Alternate floating point data formats", for tf32, bf16
// and ue4m3; AMD's CDNA3 ISA guide for the fnuz formats.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tcnum/rounding.hpp"

namespace tcnum {

using uint128 = unsigned __int128;
using int128 = __int128;

/// A row of the table below, or beyond it one of own_format().
enum class FormatId : std::uint16_t {
  fp64, fp32, tf32, bf16, fp16, fp8e5m2, fp8e4m3, fp6e3m2, fp6e2m3, fp4e2m1, ue8m0, ue4m3, fp8e5m2fnuz,
  fp8e4m3fnuz, s32, s8, u8, s4, u4, b1
};

/// How a format spends its codes on what is not a finite number.
enum class NonFinite : std::uint8_t {
  ieee,               ///< the largest exponent field holds infinities and NaNs
  nan_all_ones,       ///< only the code with all bits but the sign set is NaN; no infinities
  nan_negative_zero,  ///< the code of negative zero is the one NaN; no infinities, no negative zero
  none,               ///< every code is a finite number
};

struct Format {
  FormatId id;
  std::string_view name;         ///< as tcnum writes it
  std::string_view ptx;          ///< as PTX (or the vendor's ISA) spells it
  bool floating;                 ///< false: an integer format
  bool has_sign;
  int storage_bits;              ///< bits of a code as it is stored and given to the hardware
  int exponent_bits;             ///< 0 for integers
  int fraction_bits;             ///< for integers: the width of the magnitude
  int padding_bits;              ///< low bits of the storage that are not part of the number (tf32: 13)
  int bias;
  NonFinite non_finite;
  std::string_view safetensors;  ///< dtype in vector files

  /// Exponent of the smallest normal number. Subnormals have this exponent and a significand below one. Integers are
  /// spaced like subnormals, so none of theirs is as large as this.
  constexpr int min_exponent() const { return floating ? 1 - bias : fraction_bits; }
  /// Exponent of the largest finite number.
  constexpr int max_exponent() const {
    if (!floating) return fraction_bits - 1;
    const int top = (1 << exponent_bits) - 1 - bias;
    const bool top_is_special =
        non_finite == NonFinite::ieee || (non_finite == NonFinite::nan_all_ones && fraction_bits == 0);
    return top_is_special ? top - 1 : top;
  }
  constexpr bool has_infinity() const { return floating && non_finite == NonFinite::ieee; }
  /// Of floating-point formats: codes without sign and padding from this on are infinities or NaNs; one past the last
  /// if there are none (or −0 alone).
  constexpr std::uint64_t first_non_finite() const {
    const std::uint64_t end = std::uint64_t{1} << (exponent_bits + fraction_bits);
    if (non_finite == NonFinite::ieee) return end - (std::uint64_t{1} << fraction_bits);
    return non_finite == NonFinite::nan_all_ones ? end - 1 : end;
  }
  /// Of a code: 1, 2, 4 or 8.
  constexpr int storage_bytes() const {
    return storage_bits <= 8 ? 1 : storage_bits <= 16 ? 2 : storage_bits <= 32 ? 4 : 8;
  }
  constexpr std::uint64_t code_mask() const {
    return storage_bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << storage_bits) - 1;
  }
};

inline constexpr std::array<Format, 20> kFormats = {{
    // id                  name           ptx       float  sign  store exp frac pad bias  non-finite                   dtype
    {FormatId::fp64,       "fp64",        "f64",    true,  true,  64, 11, 52, 0,  1023, NonFinite::ieee,              "F64"},
    {FormatId::fp32,       "fp32",        "f32",    true,  true,  32, 8,  23, 0,  127,  NonFinite::ieee,              "F32"},
    {FormatId::tf32,       "tf32",        "tf32",   true,  true,  32, 8,  10, 13, 127,  NonFinite::ieee,              "F32"},
    {FormatId::bf16,       "bf16",        "bf16",   true,  true,  16, 8,  7,  0,  127,  NonFinite::ieee,              "BF16"},
    {FormatId::fp16,       "fp16",        "f16",    true,  true,  16, 5,  10, 0,  15,   NonFinite::ieee,              "F16"},
    {FormatId::fp8e5m2,    "fp8e5m2",     "e5m2",   true,  true,  8,  5,  2,  0,  15,   NonFinite::ieee,              "F8_E5M2"},
    {FormatId::fp8e4m3,    "fp8e4m3",     "e4m3",   true,  true,  8,  4,  3,  0,  7,    NonFinite::nan_all_ones,      "F8_E4M3"},
    {FormatId::fp6e3m2,    "fp6e3m2",     "e3m2",   true,  true,  6,  3,  2,  0,  3,    NonFinite::none,              "U8"},
    {FormatId::fp6e2m3,    "fp6e2m3",     "e2m3",   true,  true,  6,  2,  3,  0,  1,    NonFinite::none,              "U8"},
    {FormatId::fp4e2m1,    "fp4e2m1",     "e2m1",   true,  true,  4,  2,  1,  0,  1,    NonFinite::none,              "U8"},
    {FormatId::ue8m0,      "ue8m0",       "ue8m0",  true,  false, 8,  8,  0,  0,  127,  NonFinite::nan_all_ones,      "U8"},
    {FormatId::ue4m3,      "ue4m3",       "ue4m3",  true,  false, 7,  4,  3,  0,  7,    NonFinite::nan_all_ones,      "U8"},
    {FormatId::fp8e5m2fnuz,"fp8e5m2fnuz", "bf8",    true,  true,  8,  5,  2,  0,  16,   NonFinite::nan_negative_zero, "U8"},
    {FormatId::fp8e4m3fnuz,"fp8e4m3fnuz", "fp8",    true,  true,  8,  4,  3,  0,  8,    NonFinite::nan_negative_zero, "U8"},
    {FormatId::s32,        "s32",         "s32",    false, true,  32, 0,  31, 0,  0,    NonFinite::none,              "I32"},
    {FormatId::s8,         "s8",          "s8",     false, true,  8,  0,  7,  0,  0,    NonFinite::none,              "I8"},
    {FormatId::u8,         "u8",          "u8",     false, false, 8,  0,  8,  0,  0,    NonFinite::none,              "U8"},
    {FormatId::s4,         "s4",          "s4",     false, true,  4,  0,  3,  0,  0,    NonFinite::none,              "I8"},
    {FormatId::u4,         "u4",          "u4",     false, false, 4,  0,  4,  0,  0,    NonFinite::none,              "U8"},
    {FormatId::b1,         "b1",          "b1",     false, false, 1,  0,  1,  0,  0,    NonFinite::none,              "U8"},
}};

constexpr bool is_own(FormatId id) { return static_cast<std::size_t>(id) >= kFormats.size(); }

/// What somebody's own number format is: as a row of the table, with a sign or without, but never an integer format, nor
/// one with padding.
struct OwnFormat {
  std::string name;  ///< up to 60 letters, digits, _ and -; no name of the table's
  int exponent_bits = 0, fraction_bits = 0;
  int bias = 0;
  NonFinite non_finite = NonFinite::ieee;
  bool has_sign = true;
};
/// The FormatId of that description: equal descriptions have equal ones, at any time and in any thread. Its name, from
/// now on, is that of this format, also where it was another one's before. Throws InputError naming the field and what
/// was expected, such as that every number is a double; or if there are kMostOwnFormats others already.
FormatId own_format(const OwnFormat& own);
/// 2^(exponent_bits − 1) − 1, as IEEE 754 has it; 0 where that is no number.
constexpr int usual_bias(int exponent_bits) {
  return exponent_bits >= 1 && exponent_bits <= 16 ? (1 << (exponent_bits - 1)) - 1 : 0;
}
inline constexpr std::size_t kMostOwnFormats = 4096;

namespace detail {
const Format& find_own_format(FormatId id);
}
#ifdef __CUDA_ARCH__  // no kernel asks for any other
constexpr const Format& format(FormatId id) { return kFormats[static_cast<std::size_t>(id)]; }
#else
constexpr const Format& format(FormatId id) {
  return is_own(id) ? detail::find_own_format(id) : kFormats[static_cast<std::size_t>(id)];
}
#endif

namespace detail {
constexpr std::uint64_t low_mask(int bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}
constexpr bool formats_are_consistent() {
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    const Format& f = kFormats[i];
    if (static_cast<std::size_t>(f.id) != i) return false;
    if (f.storage_bits != (f.has_sign ? 1 : 0) + f.exponent_bits + f.fraction_bits + f.padding_bits) return false;
  }
  return true;
}
}  // namespace detail
static_assert(detail::formats_are_consistent());

/// Whether `f` has every finite number that `operand` has, which has a sign.
constexpr bool holds(const Format& f, const Format& operand) {
  return f.floating && operand.floating && operand.has_sign && operand.fraction_bits <= f.fraction_bits &&
         operand.max_exponent() <= f.max_exponent() &&
         operand.min_exponent() - operand.fraction_bits >= f.min_exponent() - f.fraction_bits;
}

/// Finds a format of the table by tcnum's name or PTX's spelling.
std::optional<FormatId> find_format(std::string_view text);
/// The same, or one of own_format(): by its format_text(); by its name, the format that got this name last. Throws
/// InputError if the text describes a format that there cannot be.
std::optional<FormatId> find_format_or_own(std::string_view text);
/// The format as one word, which find_format_or_own() takes back anywhere: the name of one of the table; else
/// "NAME:EXPONENT_BITS:FRACTION_BITS:BIAS:NON_FINITE:signed" (or unsigned). Ends with a zero byte, and stays.
std::string_view format_text(FormatId id);

/// A code as text, "0x" and at least one hexadecimal digit; nothing if it is none, or of more than 64 bits.
std::optional<std::uint64_t> parse_code(std::string_view text);

enum class NumberClass : std::uint8_t { zero, subnormal, normal, infinity, nan };

/// A code taken apart. value = ±significand · 2^(exponent − fraction_bits of the format); for NaN, `significand` is
/// the fraction field.
struct Decoded {
  NumberClass number_class = NumberClass::zero;
  bool negative = false;
  std::uint64_t significand = 0;
  int exponent = 0;  ///< of the field: subnormals and zeros have the format's min_exponent()

  constexpr bool is_finite() const {
    return number_class != NumberClass::infinity && number_class != NumberClass::nan;
  }
  friend constexpr bool operator==(const Decoded&, const Decoded&) = default;
};

/// Takes a code apart. Bits above the format's storage and its padding bits are ignored. Integers decode to their
/// magnitude with exponent = fraction_bits (so that the value formula above holds).
constexpr Decoded decode(const Format& f, std::uint64_t code) {
  code &= f.code_mask();
  Decoded d;
  if (!f.floating) {
    d.negative = f.has_sign && ((code >> (f.storage_bits - 1)) & 1) != 0;
    d.significand = d.negative ? (~code + 1) & f.code_mask() : code;
    d.exponent = f.fraction_bits;
    d.number_class = d.significand == 0 ? NumberClass::zero : NumberClass::normal;
    return d;
  }
  d.negative = f.has_sign && ((code >> (f.storage_bits - 1)) & 1) != 0;
  if (f.non_finite == NonFinite::nan_negative_zero && code == std::uint64_t{1} << (f.storage_bits - 1)) {
    d.number_class = NumberClass::nan;
    return d;
  }
  code >>= f.padding_bits;
  const std::uint64_t field = (code >> f.fraction_bits) & detail::low_mask(f.exponent_bits);
  const std::uint64_t fraction = code & detail::low_mask(f.fraction_bits);
  const bool top = field == detail::low_mask(f.exponent_bits);
  if (top && f.non_finite == NonFinite::ieee) {
    d.number_class = fraction == 0 ? NumberClass::infinity : NumberClass::nan;
    d.significand = fraction;
    d.exponent = f.max_exponent() + 1;
    return d;
  }
  if (top && f.non_finite == NonFinite::nan_all_ones && fraction == detail::low_mask(f.fraction_bits)) {
    d.number_class = NumberClass::nan;
    d.significand = fraction;
    d.exponent = f.max_exponent();
    return d;
  }
  if (f.id == FormatId::ue8m0) {  // no fraction, no zero, no subnormals: field 0 is 2^-127
    d.number_class = NumberClass::normal;
    d.significand = 1;
    d.exponent = static_cast<int>(field) - f.bias;
    return d;
  }
  if (field == 0) {
    d.number_class = fraction == 0 ? NumberClass::zero : NumberClass::subnormal;
    d.significand = fraction;
    d.exponent = f.min_exponent();
    return d;
  }
  d.number_class = NumberClass::normal;
  d.significand = fraction | (std::uint64_t{1} << f.fraction_bits);
  d.exponent = static_cast<int>(field) - f.bias;
  return d;
}

/// What becomes of a number too large for the format.
enum class Overflow : std::uint8_t {
  ieee,        ///< as IEEE 754: infinity, or the largest finite number when rounding points away from infinity
  infinity,    ///< infinity in every rounding mode (NaN where the format has no infinity)
  max_finite,  ///< the largest finite number (saturation)
  wrap,        ///< the number modulo as many as there are, as two's complement arithmetic has it; not for encode()
};

/// Rounds ±magnitude · 2^exponent (plus, if `sticky`, a nonzero amount below magnitude's last bit) to the format and
/// encodes it. A format without infinity encodes overflow to infinity as its NaN, and without NaN saturates. Integer
/// formats saturate. A format without a sign encodes negative numbers as zero.
std::uint64_t encode(const Format& f, bool negative, uint128 magnitude, int exponent, bool sticky, Rounding mode,
                     Overflow overflow = Overflow::ieee);

std::uint64_t zero_code(const Format& f, bool negative);
/// The infinity of that sign; throws std::logic_error where the format has none.
std::uint64_t infinity_code(const Format& f, bool negative);
/// The largest finite number of that sign.
std::uint64_t max_finite_code(const Format& f, bool negative);
/// A quiet NaN, positive where the format has a choice; throws std::logic_error where the format has none.
std::uint64_t nan_code(const Format& f);

}  // namespace tcnum
