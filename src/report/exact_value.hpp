// Numbers without any rounding, to tell how far a result is from what it should be.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

#include "tcnum/exact.hpp"
#include "tcnum/format.hpp"

namespace tcnum {

/// A number ±n · 2^lsb, an infinity, or NaN. Zeros have no sign.
class ExactValue {
 public:
  enum class Kind : std::uint8_t { finite, infinity, nan };

  ExactValue() = default;  ///< zero
  static ExactValue of(const Format& f, std::uint64_t code);
  static ExactValue of(const TracedNumber& number);

  Kind kind() const { return kind_; }
  bool is_zero() const { return kind_ == Kind::finite && number_ == 0; }
  /// As IEEE 754 has it of infinities and NaNs.
  friend ExactValue operator+(const ExactValue& x, const ExactValue& y);
  friend ExactValue operator*(const ExactValue& x, const ExactValue& y);
  friend bool operator==(const ExactValue& x, const ExactValue& y);

  /// Its code in the format, rounded to nearest, ties to even. The format has infinities and NaNs if it is one.
  std::uint64_t nearest(const Format& f) const;
  /// How far a result of the format is from it, positive if that is greater: docs/plans.md says what an ulp is. Nothing
  /// if either is no finite number.
  std::optional<double> ulps_to(const ExactValue& result, const Format& f) const;
  /// All its decimal digits; "1.2345...e-30" where they are many.
  std::string text() const;
  /// All of it as C has it: "-0x1.cp-1", "inf", "nan".
  std::string hexadecimal() const;

 private:
  using Integer = boost::multiprecision::cpp_int;
  Integer scaled_to(int lsb) const { return number_ << static_cast<unsigned>(lsb_ - lsb); }

  Kind kind_ = Kind::finite;
  Integer number_ = 0;  ///< of an infinity, its sign
  int lsb_ = 0;
};

/// "+0.5", "0"; empty if nothing is known.
std::string ulps_off_text(const std::optional<double>& ulps);

}  // namespace tcnum
