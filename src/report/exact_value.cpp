#include "exact_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tcnum {

ExactValue ExactValue::of(const Format& f, std::uint64_t code) {
  const Decoded d = decode(f, code);
  ExactValue x;
  if (d.number_class == NumberClass::nan) {
    x.kind_ = Kind::nan;
  } else if (d.number_class == NumberClass::infinity) {
    x.kind_ = Kind::infinity;
    x.number_ = 1;
  } else {
    x.number_ = d.significand;
    x.lsb_ = d.exponent - f.fraction_bits;
  }
  if (d.negative) x.number_ = -x.number_;
  return x;
}

ExactValue ExactValue::of(const TracedNumber& number) {
  ExactValue x;
  if (number.kind == TracedNumber::Kind::nan) {
    x.kind_ = Kind::nan;
    return x;
  }
  if (number.kind == TracedNumber::Kind::infinity) {
    x.kind_ = Kind::infinity;
    x.number_ = 1;
  } else {
    for (const char bit : number.bits) x.number_ = 2 * x.number_ + (bit == '1' ? 1 : 0);
    x.lsb_ = number.lsb;
  }
  if (number.negative) x.number_ = -x.number_;
  return x;
}

ExactValue operator+(const ExactValue& x, const ExactValue& y) {
  using Kind = ExactValue::Kind;
  ExactValue sum;
  if (x.kind_ != Kind::finite || y.kind_ != Kind::finite) {
    if (x.kind_ == Kind::finite) return y;
    if (y.kind_ == Kind::finite || x == y) return x;
    sum.kind_ = Kind::nan;
    return sum;
  }
  if (x.is_zero()) return y;
  if (y.is_zero()) return x;
  sum.lsb_ = std::min(x.lsb_, y.lsb_);
  sum.number_ = x.scaled_to(sum.lsb_) + y.scaled_to(sum.lsb_);
  return sum;
}

ExactValue operator*(const ExactValue& x, const ExactValue& y) {
  using Kind = ExactValue::Kind;
  ExactValue product;
  if (x.kind_ == Kind::finite && y.kind_ == Kind::finite) {
    product.number_ = x.number_ * y.number_;
    product.lsb_ = x.lsb_ + y.lsb_;
  } else if (x.kind_ == Kind::nan || y.kind_ == Kind::nan || x.is_zero() || y.is_zero()) {
    product.kind_ = Kind::nan;
  } else {
    product.kind_ = Kind::infinity;
    product.number_ = x.number_.sign() * y.number_.sign();
  }
  return product;
}

bool operator==(const ExactValue& x, const ExactValue& y) {
  if (x.kind_ != y.kind_) return false;
  if (x.kind_ != ExactValue::Kind::finite) return x.number_ == y.number_;
  const int lsb = std::min(x.lsb_, y.lsb_);
  return x.scaled_to(lsb) == y.scaled_to(lsb);
}

std::uint64_t ExactValue::nearest(const Format& f) const {
  if (kind_ == Kind::nan) return nan_code(f);
  if (kind_ == Kind::infinity) return infinity_code(f, number_ < 0);
  if (number_ == 0) return zero_code(f, false);
  // So many bits that no rounding to any format needs to know what is below them.
  constexpr int kBits = 80;
  Integer magnitude = abs(number_);
  const int shift = kBits - static_cast<int>(msb(magnitude));
  bool sticky = false;
  if (shift > 0) {
    magnitude <<= static_cast<unsigned>(shift);
  } else {
    sticky = static_cast<int>(lsb(magnitude)) < -shift;
    magnitude >>= static_cast<unsigned>(-shift);
  }
  return encode(f, number_ < 0, static_cast<uint128>(magnitude), lsb_ - shift, sticky, Rounding::nearest_even);
}

std::optional<double> ExactValue::ulps_to(const ExactValue& result, const Format& f) const {
  if (kind_ != Kind::finite || result.kind_ != Kind::finite) return std::nullopt;
  int ulp = 0;
  if (f.floating) {
    int exponent = f.min_exponent();
    if (number_ != 0) exponent = std::max(exponent, static_cast<int>(msb(abs(number_))) + lsb_);
    ulp = std::min(exponent, f.max_exponent()) - f.fraction_bits;
  }
  const int lsb = std::min(lsb_, result.lsb_);
  Integer error = result.scaled_to(lsb) - scaled_to(lsb);
  if (error == 0) return 0;
  // A word is rounded once as it becomes a double; its last bit stands for all below.
  constexpr int kBits = 63;
  const bool negative = error < 0;
  error = abs(error);
  const int shift = std::max(0, static_cast<int>(msb(error)) - kBits);
  auto word = static_cast<std::uint64_t>(error >> static_cast<unsigned>(shift));
  if (shift > 0 && static_cast<int>(boost::multiprecision::lsb(error)) < shift) word |= 1;
  const double size = std::ldexp(static_cast<double>(word), lsb + shift - ulp);
  return negative ? -size : size;
}

std::string ExactValue::text() const {
  constexpr std::size_t kMostDigits = 32, kFirstDigits = 20;
  constexpr int kLeastPower = -6, kMostPower = 20;  // of ten, without a power of ten
  if (kind_ == Kind::nan) return "nan";
  const std::string sign = number_ < 0 ? "-" : "";
  if (kind_ == Kind::infinity) return sign + "inf";
  if (number_ == 0) return "0";
  Integer magnitude = abs(number_);
  const unsigned zeros = lsb(magnitude);
  magnitude >>= zeros;
  const int exponent = lsb_ + static_cast<int>(zeros);
  // m · 2^-e = m · 5^e · 10^-e
  if (exponent >= 0)
    magnitude <<= static_cast<unsigned>(exponent);
  else
    magnitude *= boost::multiprecision::pow(Integer(5), static_cast<unsigned>(-exponent));
  std::string digits = magnitude.str();
  const int power = static_cast<int>(digits.size()) - 1 + std::min(exponent, 0);  // of ten, of the first digit
  digits.erase(digits.find_last_not_of('0') + 1);
  std::string more;
  if (digits.size() > kMostDigits) {
    digits.resize(kFirstDigits);
    more = "...";
  }
  if (power < kLeastPower || power > kMostPower) {
    if (digits.size() > 1) digits.insert(1, ".");
    return fmt::format("{}{}{}e{:+03}", sign, digits, more, power);
  }
  if (power < 0) return sign + "0." + std::string(static_cast<std::size_t>(-power - 1), '0') + digits + more;
  const auto before_point = static_cast<std::size_t>(power) + 1;
  if (digits.size() <= before_point) return sign + digits + std::string(before_point - digits.size(), '0');
  return sign + digits.insert(before_point, ".") + more;
}

std::string ExactValue::hexadecimal() const {
  if (kind_ != Kind::finite) return text();
  if (number_ == 0) return "0x0p+0";
  Integer magnitude = abs(number_);
  const int leading = static_cast<int>(msb(magnitude));
  // So that whole digits are behind the point.
  if (leading % 4 != 0) magnitude <<= static_cast<unsigned>(4 - leading % 4);
  std::string digits = magnitude.str(0, std::ios_base::hex);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.size() > 1) digits.insert(1, ".");
  return fmt::format("{}0x{}p{:+}", number_ < 0 ? "-" : "", digits, leading + lsb_);
}

std::string ulps_off_text(const std::optional<double>& ulps) {
  if (!ulps) return "";
  return *ulps == 0 ? "0" : fmt::format("{:+.4g}", *ulps);
}

}  // namespace tcnum
