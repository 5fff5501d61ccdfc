#include "written_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>
#include <cmath>
#include <vector>

#include "io/printable.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using Integer = boost::multiprecision::cpp_int;

/// Powers of two or ten beyond these are in no format, and would fill memory.
constexpr int kMostPower = 5000;
constexpr std::size_t kMostCharacters = 4096;

/// ±numerator / denominator.
struct Rational {
  bool negative = false;
  Integer numerator = 0, denominator = 1;

  void multiply_by_power(unsigned base, int exponent) {
    const Integer factor = boost::multiprecision::pow(Integer(base), static_cast<unsigned>(std::abs(exponent)));
    (exponent < 0 ? denominator : numerator) *= factor;
  }
};

/// "-14", "+3", "7": all of it.
std::optional<int> power_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int power = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, power);
  if (error != std::errc{} || stop != end || std::abs(power) > kMostPower) return std::nullopt;
  return power;
}

/// "12.5e-3", or with a base of 16 "1.8p3", without a sign.
std::optional<Rational> with_point(std::string_view text, unsigned base) {
  const std::size_t at_power = std::min(text.find_first_of(base == 16 ? "pP" : "eE"), text.size());
  const std::string_view digits = text.substr(0, at_power);
  const auto power = at_power == text.size() ? std::optional(0) : power_of(text.substr(at_power + 1));
  if (!power) return std::nullopt;
  Rational x;
  int behind_point = 0;
  bool point = false, any = false;
  for (const char c : digits) {
    if (c == '.') {
      if (point) return std::nullopt;
      point = true;
      continue;
    }
    unsigned digit = 0;
    const auto [stop, error] = std::from_chars(&c, &c + 1, digit, static_cast<int>(base));
    if (error != std::errc{} || stop != &c + 1) return std::nullopt;
    x.numerator = x.numerator * base + digit;
    any = true;
    if (point) ++behind_point;
  }
  if (!any) return std::nullopt;
  x.multiply_by_power(base, -behind_point);
  x.multiply_by_power(base == 16 ? 2 : base, *power);
  return x;
}

/// "1.5", "0x1.8p3", "2^-14", "-1.5*2^30"; nothing if it is no finite number.
std::optional<Rational> number_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::optional<int> two_to;
  if (const std::size_t caret = text.find('^'); caret != std::string_view::npos) {
    two_to = power_of(text.substr(caret + 1));
    text = text.substr(0, caret);
    if (!two_to || !text.ends_with('2')) return std::nullopt;
    text.remove_suffix(1);
    if (text.ends_with('*') && text.size() > 1)
      text.remove_suffix(1);
    else if (text.empty())
      text = "1";
    else
      return std::nullopt;
  }
  auto x = text.starts_with("0x") ? with_point(text.substr(2), 16) : with_point(text, 10);
  if (!x) return std::nullopt;
  x->negative = negative;
  if (two_to) x->multiply_by_power(2, *two_to);
  return x;
}

/// Whether the code has just that number, the sign of a zero too.
bool is_that(const Format& f, std::uint64_t code, const Rational& x) {
  const Decoded d = decode(f, code);
  if (!d.is_finite() || d.negative != x.negative) return false;
  const int exponent = d.exponent - f.fraction_bits;
  const Integer significand = d.significand;
  const auto shift = static_cast<unsigned>(std::abs(exponent));
  return exponent < 0 ? significand * x.denominator == x.numerator << shift
                      : (significand << shift) * x.denominator == x.numerator;
}

/// The number as the format has it, rounded.
std::uint64_t rounded(const Format& f, const Rational& x, Rounding mode) {
  // So many bits that no rounding to any format needs to know what is below them.
  constexpr int kBits = 80;
  uint128 magnitude = 0;
  int exponent = 0;
  bool sticky = false;
  if (x.numerator != 0) {
    const int shift = kBits - static_cast<int>(msb(x.numerator)) + static_cast<int>(msb(x.denominator));
    const Integer up = shift > 0 ? x.numerator << static_cast<unsigned>(shift) : x.numerator;
    const Integer by = shift > 0 ? x.denominator : Integer(x.denominator << static_cast<unsigned>(-shift));
    magnitude = static_cast<uint128>(Integer(up / by));
    sticky = up % by != 0;
    exponent = -shift;
  }
  return encode(f, x.negative, magnitude, exponent, sticky, mode, Overflow::max_finite);
}

/// The format's numbers that enclose it; one, if it is that, or beyond all of them.
std::vector<std::uint64_t> nearest(const Format& f, const Rational& x) {
  std::vector<std::uint64_t> codes = {rounded(f, x, Rounding::down)};
  if (const std::uint64_t above = rounded(f, x, Rounding::up); above != codes[0]) codes.push_back(above);
  return codes;
}

std::string code_and_number(const Format& f, std::uint64_t code) {
  return fmt::format("{} = {}", number_text(f, code), hex(f, code));
}

[[noreturn]] void refuse(std::string_view where, std::string_view text, std::string_view right) {
  throw InputError(fmt::format("{}: {}; expected {}", where, text.empty() ? "is empty" : shown(text), right));
}

std::uint64_t code_of_number(const Format& f, const Rational& x, std::string_view text, std::string_view where) {
  const std::vector<std::uint64_t> codes = nearest(f, x);
  for (const std::uint64_t code : codes) {
    if (is_that(f, code, x)) return code;
  }
  if (codes.size() == 2) {
    refuse(where, text,
           fmt::format("a number of {}, of which {} and {} are the nearest", f.name, code_and_number(f, codes[0]),
                       code_and_number(f, codes[1])));
  }
  refuse(where, text, fmt::format("a number of {}, of which {} is the nearest", f.name, code_and_number(f, codes[0])));
}

}  // namespace

std::string hex(const Format& f, std::uint64_t code) {
  return fmt::format("0x{:0{}x}", code, (f.storage_bits + 3) / 4);
}

std::string number_text(const Format& f, std::uint64_t code) {
  const Decoded d = decode(f, code);
  if (d.number_class == NumberClass::nan) return "nan";
  const std::string_view sign = d.negative ? "-" : "";
  if (d.number_class == NumberClass::infinity) return fmt::format("{}inf", sign);
  return fmt::format("{}{}", sign, std::ldexp(static_cast<double>(d.significand), d.exponent - f.fraction_bits));
}

std::uint64_t code_of_written(const Format& f, std::string_view text, std::string_view where) {
  std::string right = fmt::format("a number of {} such as 1.5, -2^3 or 0x1.8p1, or its code, such as {}", f.name,
                                  hex(f, f.code_mask() >> 1));
  if (text.size() > kMostCharacters) refuse(where, text, right);
  if (const auto code = parse_code(text)) {
    if ((*code & ~f.code_mask()) == 0) return *code;
    refuse(where, text, fmt::format("a code of {}, {} or less", f.name, hex(f, f.code_mask())));
  }
  const std::string_view size = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  // Hexadecimal digits alone are a code; a point or a power makes them a number, which may have a sign.
  if (size.starts_with("0x") && size.find_first_of(".pP^") == size.npos) {
    const std::string as_number = shown(text) + "p0";
    refuse(where, text,
           fmt::format("a code of {}, {} or less, or {}, the number", f.name, hex(f, f.code_mask()), as_number));
  }
  if (size == "inf" || size == "infinity") {
    if (f.has_infinity() && (f.has_sign || !text.starts_with('-'))) return infinity_code(f, text.starts_with('-'));
    refuse(where, text, fmt::format("a number of {}, which has no infinities", f.name));
  }
  if (text == "nan" || text == "NaN") {
    if (f.non_finite != NonFinite::none) return nan_code(f);
    refuse(where, text, fmt::format("a number of {}, which has no NaN", f.name));
  }
  const auto number = number_of(text);
  if (!number) refuse(where, text, right);
  return code_of_number(f, *number, text, where);
}

std::uint64_t code_of_printed(const Format& f, std::string_view text, std::string_view where) {
  if (text.size() <= kMostCharacters && !parse_code(text)) {
    if (const auto number = number_of(text)) return rounded(f, *number, Rounding::nearest_even);
  }
  return code_of_written(f, text, where);
}

}  // namespace tcnum
