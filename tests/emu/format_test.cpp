// Formats: what their codes stand for, and rounding against tests/reference.
#include "tcnum/format.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "reference/values.hpp"
#include "seed_of_run.hpp"

namespace tcnum::format_test {
namespace {

constexpr std::array kModes = {Rounding::toward_zero, Rounding::nearest_even, Rounding::nearest_away, Rounding::up,
                               Rounding::down};
constexpr std::array kOverflows = {Overflow::ieee, Overflow::infinity, Overflow::max_finite};

double value_of(const Format& f, std::uint64_t code) {
  const Decoded d = decode(f, code);
  const double magnitude = std::ldexp(static_cast<double>(d.significand), d.exponent - f.fraction_bits);
  return d.negative ? -magnitude : magnitude;
}

/// Of the smallest number above zero, a power of two (ue8m0 has no zero: of its smallest).
int least_exponent(const Format& f) { return f.id == FormatId::ue8m0 ? -127 : f.min_exponent() - f.fraction_bits; }

struct KnownCodes {
  FormatId id;
  std::uint64_t one, largest;
  double largest_value;
  std::uint64_t least;  ///< of all numbers
  double least_value;
  std::optional<std::uint64_t> nan = {}, infinity = {};
};

TEST(Formats, HaveTheirSpecificationsCodes) {
  const std::vector<KnownCodes> known = {
      {FormatId::fp16, 0x3c00, 0x7bff, 65504, 0xfbff, -65504, 0x7e00, 0x7c00},
      {FormatId::bf16, 0x3f80, 0x7f7f, 0x1.fep127, 0xff7f, -0x1.fep127, 0x7fc0, 0x7f80},
      {FormatId::fp32, 0x3f800000, 0x7f7fffff, 0x1.fffffep127, 0xff7fffff, -0x1.fffffep127, 0x7fc00000, 0x7f800000},
      {FormatId::fp64, 0x3ff0000000000000, 0x7fefffffffffffff, 0x1.fffffffffffffp1023, 0xffefffffffffffff,
       -0x1.fffffffffffffp1023, 0x7ff8000000000000, 0x7ff0000000000000},
      {FormatId::tf32, 0x3f800000, 0x7f7fe000, 0x1.ffcp127, 0xff7fe000, -0x1.ffcp127, 0x7fc00000, 0x7f800000},
      {FormatId::fp8e4m3, 0x38, 0x7e, 448, 0xfe, -448, 0x7f},
      {FormatId::fp8e5m2, 0x3c, 0x7b, 57344, 0xfb, -57344, 0x7e, 0x7c},
      {FormatId::fp6e3m2, 0b0'011'00, 0b0'111'11, 28, 0b1'111'11, -28},
      {FormatId::fp6e2m3, 0b0'01'000, 0b0'11'111, 7.5, 0b1'11'111, -7.5},
      {FormatId::fp4e2m1, 0b0'01'0, 0b0'11'1, 6, 0b1'11'1, -6},
      {FormatId::ue8m0, 0x7f, 0xfe, 0x1p127, 0x00, 0x1p-127, 0xff},
      {FormatId::ue4m3, 0x38, 0x7e, 448, 0x00, 0, 0x7f},
      {FormatId::fp8e4m3fnuz, 0x40, 0x7f, 240, 0xff, -240, 0x80},
      {FormatId::fp8e5m2fnuz, 0x40, 0x7f, 57344, 0xff, -57344, 0x80},
      {FormatId::s8, 0x01, 0x7f, 127, 0x80, -128},
      {FormatId::u8, 0x01, 0xff, 255, 0x00, 0},
      {FormatId::s4, 0x1, 0x7, 7, 0x8, -8},
      {FormatId::u4, 0x1, 0xf, 15, 0x0, 0},
      {FormatId::b1, 1, 1, 1, 0, 0},
      {FormatId::s32, 1, 0x7fffffff, 0x1p31 - 1, 0x80000000, -0x1p31},
  };
  EXPECT_EQ(known.size(), kFormats.size());
  for (const KnownCodes& k : known) {
    const Format& f = format(k.id);
    SCOPED_TRACE(f.name);
    EXPECT_EQ(value_of(f, k.one), 1);
    EXPECT_EQ(value_of(f, k.largest), k.largest_value);
    EXPECT_EQ(value_of(f, k.least), k.least_value);
    EXPECT_EQ(max_finite_code(f, false), k.largest);
    if (f.has_sign) {
      EXPECT_EQ(max_finite_code(f, true), k.least);
    }
    EXPECT_EQ(zero_code(f, true), encode(f, true, 0, 0, false, Rounding::toward_zero));
    if (k.nan) {
      EXPECT_EQ(nan_code(f), *k.nan);
      EXPECT_EQ(decode(f, *k.nan).number_class, NumberClass::nan);
    } else if (f.floating) {
      EXPECT_THROW(nan_code(f), std::logic_error);
    }
    if (k.infinity) {
      EXPECT_EQ(infinity_code(f, false), *k.infinity);
      EXPECT_EQ(decode(f, *k.infinity).number_class, NumberClass::infinity);
    } else if (f.floating) {
      EXPECT_THROW(infinity_code(f, true), std::logic_error);
    }
  }
}

TEST(Formats, AreFoundByEitherName) {
  for (const Format& f : kFormats) {
    EXPECT_EQ(find_format(f.name), f.id);
    const bool is_ptx = !f.name.ends_with("fnuz");
    EXPECT_EQ(find_format(f.ptx), is_ptx ? std::optional(f.id) : std::nullopt) << "AMD's fp8 is OCP's on gfx950";
  }
  EXPECT_EQ(find_format("fp17"), std::nullopt);
  EXPECT_EQ(find_format(""), std::nullopt);
}

/// A real number as encode() takes it.
struct Real {
  bool negative = false;
  uint128 magnitude = 0;
  int exponent = 0;
  bool sticky = false;
};

std::string text(const Real& x) {
  return fmt::format("{}{:#x}:{:016x} * 2^{}{}", x.negative ? "-" : "", static_cast<std::uint64_t>(x.magnitude >> 64),
                     static_cast<std::uint64_t>(x.magnitude), x.exponent, x.sticky ? " + sticky" : "");
}

reference::Value exact(const Real& x) {
  reference::Integer magnitude = static_cast<std::uint64_t>(x.magnitude >> 64);
  magnitude = (magnitude << 64) + static_cast<std::uint64_t>(x.magnitude);
  reference::Rational number = magnitude * reference::power_of_two(x.exponent);
  if (x.sticky) number += reference::power_of_two(x.exponent - 8);
  return {reference::Value::Kind::finite, x.negative, x.negative ? reference::Rational(-number) : number};
}

/// Of either sign, in every rounding.
void expect_reference(const Format& f, Real x) {
  using Kind = reference::Value::Kind;
  for (const bool negative : {false, true}) {
    x.negative = negative;
    const reference::Value number = exact(x);
    const int top = f.floating ? f.max_exponent() : f.fraction_bits - 1;
    const bool may_overflow = abs(number.number) >= reference::power_of_two(top);
    for (const Rounding mode : kModes) {
      for (const Overflow overflow : kOverflows) {
        if (overflow != Overflow::ieee && !may_overflow) continue;
        const std::uint64_t code = encode(f, negative, x.magnitude, x.exponent, x.sticky, mode, overflow);
        const reference::Value got = reference::value_of(f.id, code),
                               expected = reference::rounded(f.id, number, mode, overflow);
        const bool is_same = got.kind == expected.kind && got.number == expected.number &&
                             (got.kind == Kind::nan || got.negative == expected.negative);
        ASSERT_TRUE(is_same && (code & f.code_mask() >> f.padding_bits << f.padding_bits) == code)
            << text(x) << " to " << f.name << ", " << name(mode) << ", overflow mode " << static_cast<int>(overflow)
            << ": " << std::hex << code;
        if (got.kind == Kind::nan) {
          const std::uint64_t sign = negative && f.has_sign ? std::uint64_t{1} << (f.storage_bits - 1) : 0;
          ASSERT_EQ(code, nan_code(f) | sign) << f.name;
        }
      }
    }
  }
}

/// Numbers of the small formats, some of the others, and such as lie beyond all or below.
std::vector<Real> numbers_of(const Format& f, std::mt19937_64& random) {
  std::vector<Real> numbers;
  const auto add = [&](std::uint64_t code) {
    const Decoded d = decode(f, code);
    if (d.is_finite()) numbers.push_back({false, d.significand, d.exponent - f.fraction_bits});
  };
  const bool is_small = f.storage_bits <= 8;
  for (std::uint64_t i = 0; i < (is_small ? max_finite_code(f, false) + 1 : 60); ++i) add(is_small ? i : random());
  for (std::uint64_t i = 0; i < 9; ++i) {
    add(i << f.padding_bits);
    add(max_finite_code(f, false) - (i << f.padding_bits));
    add(((std::uint64_t{1} << f.fraction_bits) - 4 + i) << f.padding_bits);  // around the smallest normal number
  }
  numbers.push_back({false, 0, least_exponent(f) - 1});
  const int top = f.floating ? f.max_exponent() : f.fraction_bits;
  for (int beyond = 1; beyond < 5; ++beyond)
    numbers.push_back({false, uint128{1} << (f.fraction_bits + beyond), top - f.fraction_bits});
  return numbers;
}

/// Between each number and the next (for the largest: the next if the exponents went on) the quarter points, as they
/// are, with many zeros below, with a bit far below, and with a sticky amount above.
TEST(Formats, RoundAsTheReferenceDoes) {
  std::mt19937_64 random(test::seed_of_run());
  for (const Format& f : kFormats) {
    for (const Real& number : numbers_of(f, random)) {
      for (unsigned quarter = 0; quarter < 4; ++quarter) {
        const Real x{false, number.magnitude * 4 + quarter, number.exponent - 2};
        const auto zeros = static_cast<int>(1 + random() % static_cast<unsigned>(120 - f.fraction_bits));
        Real longer{false, x.magnitude << zeros, x.exponent - zeros};
        expect_reference(f, x);
        expect_reference(f, longer);
        longer.magnitude |= 1;
        expect_reference(f, longer);
        if (quarter % 2 == 0) expect_reference(f, {false, x.magnitude, x.exponent, true});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Formats, RoundWhatIsFarBeyondOrBelow) {
  for (const Format& f : kFormats) {
    const int least = least_exponent(f), top = f.floating ? f.max_exponent() : f.fraction_bits;
    for (const uint128 magnitude : {uint128{1}, uint128{3}, uint128{1} << 127, ~uint128{0}}) {
      for (const int below : {1, 2, 3, 101, 127, 128, 129, 130, 131, 132, 1001, 100001})
        expect_reference(f, {false, magnitude, least - below, true});
      for (const int exponent : {top + 1, top + 2, top + 100, 100000}) {
        expect_reference(f, {false, magnitude, exponent});
        expect_reference(f, {false, 0, exponent});
      }
    }
    expect_reference(f, {false, ~uint128{0}, top - 127, true});
    expect_reference(f, {false, 1, 100000, true});
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Formats, RefuseAStickyAmountThatLeavesTheResultOpen) {
  for (const Format& f : kFormats) {
    if (!f.floating) continue;
    for (const Rounding mode : kModes) {
      const auto one_and_more = [&] {
        return encode(f, false, uint128{1} << f.fraction_bits, -f.fraction_bits, true, mode);
      };
      if (mode == Rounding::nearest_even || mode == Rounding::nearest_away) {
        EXPECT_THROW(one_and_more(), std::logic_error);
      } else {
        EXPECT_EQ(value_of(f, one_and_more()), mode == Rounding::up ? 1 + std::ldexp(1, -f.fraction_bits) : 1);
      }
      if (f.fraction_bits > 0) {
        EXPECT_THROW(encode(f, false, 1, 0, true, mode), std::logic_error);
      }
      EXPECT_NO_THROW(encode(f, false, 0, least_exponent(f) - 1, true, mode));
    }
  }
}

}  // namespace
}  // namespace tcnum::format_test
