// Operands as panels read them: rows of A and panels of columns of B, for some k-steps along k, as biased numbers
// (docs/patches.md) with their exponents.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "emu/cpu/buffer.hpp"
#include "plan.hpp"

namespace tcnum::panels {

/// Columns of B in a panel.
inline constexpr std::size_t kColumns = 64;
/// Rows of A that go along a panel together.
inline constexpr std::size_t kRows = 4;

inline constexpr std::size_t rounded_up(std::size_t x, std::size_t to) { return (x + to - 1) / to * to; }

/// Exponents of zeros, and of infinities and NaNs: below those of all products, with whatever other operand.
inline constexpr std::int16_t kNoExponent16 = -1000;

/// One word for a node's products: bit i is that of the product at its place i.
using Word = std::uint32_t;
/// The first 16 bits of a number: its sign, its exponent, and what it has room for of its fraction. Also those for half
/// of a node's products, of which a word has two.
using Top = std::uint16_t;
inline constexpr int kTopBits = 16;
inline constexpr std::size_t kTopsOfWord = sizeof(Word) / sizeof(Top);

/// What occurs among some operands.
struct Range {
  int lowest = std::numeric_limits<std::int16_t>::max();   ///< exponent of those that are not zero
  int highest = std::numeric_limits<std::int16_t>::min();  ///< likewise; below `lowest` if all are zeros
  bool any_special = false;                                ///< infinities or NaNs

  bool is_empty() const { return lowest > highest; }
  int top() const { return is_empty() ? 0 : highest; }
  void add(const Range& other) {
    lowest = lowest < other.lowest ? lowest : other.lowest;
    highest = highest > other.highest ? highest : other.highest;
    any_special |= other.any_special;
  }
};

/// What a code of a scale is worth.
struct Scale {
  double value = 1;  ///< NaN if it is one
  std::int16_t exponent = 0;
};

/// All codes of a format.
inline std::vector<Scale> scales_of(FormatId id) {
  const Format& f = format(id);
  std::vector<Scale> scales;
  for (std::uint64_t code = 0; code <= f.code_mask(); ++code) {
    const Decoded d = decode(f, code);
    const double value = std::ldexp(static_cast<double>(d.significand), d.exponent - f.fraction_bits);
    if (d.number_class == NumberClass::nan)
      scales.push_back({std::numeric_limits<double>::quiet_NaN(), 0});
    else
      scales.push_back({value, static_cast<std::int16_t>(d.exponent)});
  }
  return scales;
}

/// Exponents of ordinary operands, as bytes of which two add up to a byte: the highest of kRows lines of A, or of a
/// panel, is kHighest8, and a zero, an infinity or a NaN is 0. Where none is more than kMostSpan8 lower, the sum of two
/// of numbers that are not zero is at least kLeastSum8, and any other sum is less.
inline constexpr int kHighest8 = 127, kLeastSum8 = 128, kMostSpan8 = kHighest8 - kLeastSum8 / 2;

/// Rows of A or, transposed, a panel of B: `lines` lines of `places` places, a whole number of k-steps. kRows lines of
/// A lie side by side: element (line, place) is number (line / kRows · places + place) · kRows + line % kRows of A, and
/// place · lines + line of B. The words of a line's node in a k-step are number line · words + word of A, and number
/// word · lines + line of B. Ordinary kernels have another order of B's lines, in which they need not be sorted anew.
template <class T>
struct Packed {
  Buffer<T> value;
  Buffer<std::int16_t> exponent;
  Buffer<std::uint8_t> exponent8;  ///< of B, in the order of ordinary kernels
  Buffer<Word> exponent8_words;    ///< of A, four times, which a machine spreads over a vector as it loads them
  Buffer<Word> negative;
  /// `negative` as ordinary kernels have it: number (word · 2 + half) · lines + line of B, in their order.
  Buffer<Top> negative_tops;
  Buffer<Word> negative_twice;  ///< of A, each half twice: number (line · words + word) · 2 + half
  std::vector<Range> range;     ///< of each line of A; of B's panel
  Buffer<T> lines_value;        ///< room for kRows lines of A until they lie side by side
  Buffer<std::int16_t> lines_exponent;
  Buffer<Word> lines_exponent8;

  void resize(std::size_t lines, std::size_t places, std::size_t words, std::size_t ranges) {
    value.resize(lines * places);
    exponent.resize(lines * places);
    negative.resize(lines * words);
    range.resize(ranges);
  }
  /// Of kRows lines of A.
  Range range_of_rows(std::size_t line) const {
    Range all;
    for (std::size_t r = 0; r < kRows; ++r) all.add(range[line + r]);
    return all;
  }
};

/// How a format's codes are taken apart.
struct Fields {
  explicit Fields(const OperandRule& rule) {
    const Format& f = format(rule.format);
    bytes = f.storage_bytes();
    sign = f.has_sign ? std::uint64_t{1} << (f.storage_bits - 1) : 0;
    magnitude_mask = f.code_mask() & ~sign;
    padding = f.padding_bits;
    fraction_bits = f.fraction_bits;
    bias = f.bias;
    smallest = rule.subnormals == Subnormals::flushed ? std::uint64_t{1} << f.fraction_bits : 1;
    first_special = f.first_non_finite();
    floor = rule.subnormal_exponent == SubnormalExponent::minimum ? f.min_exponent() : kNoExponent16;
  }
  bool aligns_subnormals_by_leading_bit() const { return floor == kNoExponent16; }

  int bytes = 2, padding = 0, fraction_bits = 10, bias = 15;
  std::uint64_t sign = 0, magnitude_mask = 0;
  std::uint64_t smallest = 1;       ///< magnitudes below this are read as zero
  std::uint64_t first_special = 0;  ///< from this on they are infinities or NaNs
  int floor = 0;                    ///< no number takes part in alignment with a smaller exponent
};

}  // namespace tcnum::panels
