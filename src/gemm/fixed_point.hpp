// Exact sums of numbers whose exponents lie within known bounds: two's complement integers of many words.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tcnum/format.hpp"

namespace tcnum {

/// Multiples of 2^lowest whose magnitude is below 2^highest.
struct FixedRange {
  int lowest = 0, highest = 0;

  /// With a bit for the sign.
  std::size_t words() const { return static_cast<std::size_t>(highest - lowest) / 64 + 1; }
  friend bool operator==(const FixedRange&, const FixedRange&) = default;
};
/// That of all numbers of either.
constexpr FixedRange both(const FixedRange& x, const FixedRange& y) {
  return {std::min(x.lowest, y.lowest), std::max(x.highest, y.highest)};
}
/// That of all products of the two.
constexpr FixedRange product(const FixedRange& x, const FixedRange& y) {
  return {x.lowest + y.lowest, x.highest + y.highest};
}
/// That of sums of so many; they are not more than 2^64.
constexpr FixedRange sum_of_many(const FixedRange& x) { return {x.lowest, x.highest + 64}; }

/// ±significand · 2^exponent.
struct Dyadic {
  bool negative = false;
  std::uint64_t significand = 0;
  int exponent = 0;

  FixedRange range() const { return {exponent, exponent + static_cast<int>(std::bit_width(significand))}; }
};

/// That of a finite code.
inline Dyadic dyadic_of(const Format& f, std::uint64_t code) {
  const Decoded x = decode(f, code);
  return {x.negative, x.significand, x.exponent - f.fraction_bits};
}
/// Of a finite number, with an odd significand or zero.
inline Dyadic dyadic_of(double number) {
  Dyadic x = dyadic_of(format(FormatId::fp64), std::bit_cast<std::uint64_t>(number));
  if (x.significand == 0) return {x.negative, 0, 0};
  const int zeros = std::countr_zero(x.significand);
  return {x.negative, x.significand >> zeros, x.exponent + zeros};
}
/// That of all finite numbers of a format.
constexpr FixedRange fixed_range_of(const Format& f) {
  // ue8m0 has no subnormals: its field of zero is half of the smallest normal number. −128 is a number of s8.
  return {f.min_exponent() - f.fraction_bits - 1, (f.floating ? f.max_exponent() : f.fraction_bits) + 1};
}

/// The number in words of somebody else's, the least significant word first; all zero is zero.
class FixedPoint {
 public:
  FixedPoint(std::span<std::uint64_t> words, int lowest) : words_(words), lowest_(lowest) {}

  /// Adds ±magnitude · 2^exponent. It, and the sum, are in the range.
  void add(bool negative, uint128 magnitude, int exponent) {
    // A zero may have any exponent, and so may what has zeros at its end.
    if (magnitude == 0) return;
    if (exponent < lowest_) {
      magnitude >>= lowest_ - exponent;
      exponent = lowest_;
    }
    const auto shift = static_cast<unsigned>(exponent - lowest_);
    const std::size_t at = shift / 64;
    const unsigned up = shift % 64;
    const auto low = static_cast<std::uint64_t>(magnitude), high = static_cast<std::uint64_t>(magnitude >> 64);
    const std::uint64_t moved[3] = {low << up, up == 0 ? high : high << up | low >> (64 - up),
                                    up == 0 ? 0 : high >> (64 - up)};
    bool carry = false;
    for (std::size_t i = at; i < words_.size() && (i < at + 3 || carry); ++i) {
      const std::uint64_t more = i < at + 3 ? moved[i - at] : 0, before = words_[i];
      std::uint64_t after = 0;
      bool first = false, second = false;
      if (negative) {
        first = __builtin_sub_overflow(before, more, &after);
        second = __builtin_sub_overflow(after, std::uint64_t{carry}, &after);
      } else {
        first = __builtin_add_overflow(before, more, &after);
        second = __builtin_add_overflow(after, std::uint64_t{carry}, &after);
      }
      words_[i] = after;
      carry = first || second;
    }
  }
  void add(const Dyadic& x) { add(x.negative, x.significand, x.exponent); }
  /// Adds ±x · factor, where x is not negative.
  void add_product(bool negative, const FixedPoint& x, const Dyadic& factor) {
    for (std::size_t i = 0; i < x.words_.size(); ++i) {
      const int exponent = x.lowest_ + static_cast<int>(i * 64) + factor.exponent;
      add(negative != factor.negative, uint128{x.words_[i]} * factor.significand, exponent);
    }
  }

  /// Makes it its magnitude; returns whether it was negative.
  bool drop_sign() {
    if (words_.back() >> 63 == 0) return false;
    bool carry = true;
    for (std::uint64_t& word : words_) {
      word = ~word + std::uint64_t{carry};
      carry = carry && word == 0;
    }
    return true;
  }

  // Of one that is not negative.

  /// Of the leading bit; nothing if it is zero.
  std::optional<int> exponent() const {
    for (std::size_t i = words_.size(); i-- > 0;) {
      if (words_[i] != 0) return lowest_ + static_cast<int>(i * 64) + static_cast<int>(std::bit_width(words_[i])) - 1;
    }
    return std::nullopt;
  }
  bool is_power_of_two() const {
    int ones = 0;
    for (const std::uint64_t word : words_) ones += std::popcount(word);
    return ones == 1;
  }
  /// Its leading 64 bits or more: magnitude · 2^exponent, and `sticky` if there is more.
  struct Leading {
    uint128 magnitude = 0;
    int exponent = 0;
    bool sticky = false;
  };
  Leading leading() const {
    std::size_t top = words_.size();
    while (top > 0 && words_[top - 1] == 0) --top;
    if (top == 0) return {};
    const std::size_t below = top == 1 ? 0 : top - 2;
    Leading found{words_[top - 1], lowest_ + static_cast<int>(below * 64), false};
    if (top > 1) found.magnitude = found.magnitude << 64 | words_[below];
    for (std::size_t i = 0; i < below; ++i) found.sticky = found.sticky || words_[i] != 0;
    return found;
  }
  /// Within 2^-62 of it.
  long double approximately() const {
    const Leading x = leading();
    return std::ldexp(static_cast<long double>(x.magnitude), x.exponent);
  }

 private:
  std::span<std::uint64_t> words_;
  int lowest_;
};

}  // namespace tcnum
