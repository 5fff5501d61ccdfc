// Numbers as people write them are those of the format, or refused with those that are nearest.
#include "src/files/written_number.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <string>

#include "tcnum/error.hpp"

namespace tcnum {
namespace {

std::string refusal_of_text(const Format& f, const std::string& text) {
  try {
    return "no refusal, but " + hex(f, code_of_written(f, text, "x"));
  } catch (const InputError& error) {
    return error.what();
  }
}

/// C's hexadecimal, exactly.
std::string hexadecimal(const Format& f, std::uint64_t code) {
  const Decoded d = decode(f, code);
  return fmt::format("{}0x{:x}p{}", d.negative ? "-" : "", d.significand, d.exponent - f.fraction_bits);
}
/// "5*2^-3".
std::string times_power(const Format& f, std::uint64_t code) {
  const Decoded d = decode(f, code);
  return fmt::format("{}{}*2^{}", d.negative ? "-" : "", d.significand, d.exponent - f.fraction_bits);
}

/// All codes of narrow formats, and some of the others.
template <class Check>
void for_codes(const Format& f, Check check) {
  constexpr std::uint64_t kAll = 1 << 14;
  const std::uint64_t mask = f.code_mask() & ~((std::uint64_t{1} << f.padding_bits) - 1);
  std::uint64_t code = 0;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(kAll, mask + 1); ++i) {
    check(f.storage_bits < 16 ? i : code & mask);
    code = code * 6364136223846793005u + 1442695040888963407u;
  }
}

TEST(WrittenNumber, EveryCodeIsReadBack) {
  for (const Format& f : kFormats) {
    SCOPED_TRACE(f.name);
    for_codes(f, [&](std::uint64_t code) {
      ASSERT_EQ(code_of_written(f, hex(f, code), "x"), code);
      if (!decode(f, code).is_finite()) return;
      ASSERT_EQ(code_of_written(f, hexadecimal(f, code), "x"), code);
      ASSERT_EQ(code_of_written(f, times_power(f, code), "x"), code);
    });
  }
}

/// The number half way between two codes is refused, and they are named.
TEST(WrittenNumber, NothingIsRounded) {
  for (const Format& f : kFormats) {
    if (!f.floating) continue;
    SCOPED_TRACE(f.name);
    for_codes(f, [&](std::uint64_t code) {
      const std::uint64_t next = code + (std::uint64_t{1} << f.padding_bits);
      const Decoded x = decode(f, code), y = decode(f, next);
      if (!x.is_finite() || !y.is_finite() || x.negative != y.negative || (next & ~f.code_mask()) != 0) return;
      const int lsb = std::min(x.exponent, y.exponent) - f.fraction_bits - 1;
      const auto in_halves = [&](const Decoded& d) {
        return d.significand << static_cast<unsigned>(d.exponent - f.fraction_bits - lsb);
      };
      const std::string between =
          fmt::format("{}{}*2^{}", x.negative ? "-" : "", in_halves(x) / 2 + in_halves(y) / 2, lsb);
      const std::string refused = refusal_of_text(f, between);
      for (const std::uint64_t each : {code, next})
        ASSERT_NE(refused.find(fmt::format("{} = {}", number_text(f, each), hex(f, each))), std::string::npos)
            << refused;
    });
  }
}

TEST(WrittenNumber, DecimalsAreExact) {
  const Format& fp16 = format(FormatId::fp16);
  EXPECT_EQ(code_of_written(fp16, "1.5", "x"), 0x3e00u);
  EXPECT_EQ(code_of_written(fp16, "+15e-1", "x"), 0x3e00u);
  EXPECT_EQ(code_of_written(fp16, ".5", "x"), 0x3800u);
  EXPECT_EQ(code_of_written(fp16, "5.9604644775390625e-8", "x"), 1u);
  EXPECT_EQ(code_of_written(fp16, "-2^3", "x"), 0xc800u);
}

TEST(WrittenNumber, WhatTheFormatLacksIsRefused) {
  const auto of = [](FormatId id) -> const Format& { return format(id); };
  EXPECT_EQ(refusal_of_text(of(FormatId::fp16), "65505"),
            "x: 65505; expected a number of fp16, of which 65504 = 0x7bff is the nearest");
  EXPECT_EQ(refusal_of_text(of(FormatId::fp8e4m3), "inf"),
            "x: inf; expected a number of fp8e4m3, which has no infinities");
  EXPECT_EQ(refusal_of_text(of(FormatId::fp4e2m1), "nan"), "x: nan; expected a number of fp4e2m1, which has no NaN");
  EXPECT_EQ(refusal_of_text(of(FormatId::s8), "128"),
            "x: 128; expected a number of s8, of which 127 = 0x7f is the nearest");
  EXPECT_EQ(refusal_of_text(of(FormatId::u8), "-1"),
            "x: -1; expected a number of u8, of which 0 = 0x00 is the nearest");
  EXPECT_EQ(refusal_of_text(of(FormatId::s8), "1.5"),
            "x: 1.5; expected a number of s8, of which 1 = 0x01 and 2 = 0x02 are the nearest");
  EXPECT_EQ(refusal_of_text(of(FormatId::fp8e4m3fnuz), "-0"),
            "x: -0; expected a number of fp8e4m3fnuz, of which 0 = 0x00 is the nearest");
  EXPECT_NE(refusal_of_text(of(FormatId::ue8m0), "0").find("5.877471754111438e-39 = 0x00 is the nearest"),
            std::string::npos);
  EXPECT_EQ(refusal_of_text(of(FormatId::fp16), "0x12345"), "x: 0x12345; expected a code of fp16, 0xffff or less");
  EXPECT_EQ(refusal_of_text(of(FormatId::fp16), "-0x1"),
            "x: -0x1; expected a code of fp16, 0xffff or less, or -0x1p0, the number");
  EXPECT_EQ(refusal_of_text(of(FormatId::fp16), "+0x3c00"),
            "x: +0x3c00; expected a code of fp16, 0xffff or less, or +0x3c00p0, the number");
  EXPECT_EQ(refusal_of_text(of(FormatId::fp64), "0x12345678901234567"),
            "x: 0x12345678901234567; expected a code of fp64, 0xffffffffffffffff or less, or "
            "0x12345678901234567p0, the number");
  EXPECT_EQ(
      refusal_of_text(of(FormatId::tf32), "1.0001"),
      "x: 1.0001; expected a number of tf32, of which 1 = 0x3f800000 and 1.0009765625 = 0x3f802000 are the nearest");
  EXPECT_EQ(code_of_written(of(FormatId::tf32), "0x3f800347", "x"), 0x3f800347u);
  EXPECT_EQ(code_of_written(of(FormatId::fp16), "-0x1p0", "x"), 0xbc00u);
  EXPECT_EQ(code_of_written(of(FormatId::fp16), "-inf", "x"), 0xfc00u);
  EXPECT_EQ(code_of_written(of(FormatId::fp8e4m3), "nan", "x"), 0x7fu);
}

RC_GTEST_PROP(WrittenNumber, ShortestDecimalsOfDoublesAreThoseOrRefused, ()) {
  const Format& f = format(FormatId::fp64);
  const auto code = *rc::gen::arbitrary<std::uint64_t>();
  RC_PRE(decode(f, code).is_finite());
  // The shortest digits that read back to a double need not be it; all of its digits are.
  const double number = std::bit_cast<double>(code);
  RC_ASSERT(code_of_written(f, fmt::format("{:.1080f}", number), "x") == code);
  const std::string refused = refusal_of_text(f, number_text(f, code));
  RC_ASSERT(refused.find("no refusal, but " + hex(f, code)) == 0 || refused.find(hex(f, code)) != std::string::npos);
}

}  // namespace
}  // namespace tcnum
