// Linear layers on a device that computes with the emulator and makes its times up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/measure/gemm/gemm.hpp"
#include "bench/measure/gemm/linear.hpp"
#include "fake_gemm.hpp"

namespace tcnum::bench {
namespace {

constexpr LinearFormat kFp16 = kLinearFormats[0], kFp8 = kLinearFormats[2];
constexpr LinearShape kSmall{32, 96, 48};

double fp8_number(std::uint64_t code) {
  const Format& f = format(FormatId::fp8e4m3);
  const Decoded d = decode(f, code);
  const double magnitude = std::ldexp(static_cast<double>(d.significand), d.exponent - f.fraction_bits);
  return d.negative ? -magnitude : magnitude;
}

/// The nearest code by trying all of that sign, of two the even one.
std::uint64_t nearest_fp8(double number, bool negative) {
  std::uint64_t best = 0;
  double distance = std::numeric_limits<double>::infinity();
  for (std::uint64_t code = 0; code < 0x7f; ++code) {
    const double here = std::abs(fp8_number(code) - std::abs(number));
    if (here < distance || (here == distance && code % 2 == 0)) {
      best = code;
      distance = here;
    }
  }
  return best | (negative ? 0x80U : 0U);
}

TEST(Casts, AreToTheNearest) {
  for (const float scale : {1.0F, 0.3F, 448.0F, 0x1p-120F}) {
    const CastTable table(scale);
    for (std::uint32_t code = 0; code < 0x10000; code += 3) {
      const float number = number_of_bf16(static_cast<std::uint16_t>(code));
      if (!std::isfinite(number * scale)) continue;
      EXPECT_EQ(table[static_cast<std::uint16_t>(code)], nearest_fp8(double{number * scale}, code >= 0x8000))
          << code << " × " << scale;
    }
  }
}

TEST(Casts, SaturateAndKeepNaN) {
  const CastTable table(1e30F);
  EXPECT_EQ(table[0x7f80], 0x7e);  // infinity
  EXPECT_EQ(table[0xff80], 0xfe);
  EXPECT_EQ(table[0x7f00], 0x7e);  // infinite by the scale
  EXPECT_EQ(table[0xff00], 0xfe);
  for (const int nan : {0x7f81, 0x7fff, 0xff81, 0xffff}) EXPECT_EQ(table[static_cast<std::uint16_t>(nan)], 0x7f);
  EXPECT_EQ(table[0x8000], 0x80);  // −0
}

TEST(Casts, ScalesAreTheLargestThatFit) {
  EXPECT_EQ(scale_for(448), 1);
  EXPECT_EQ(scale_for(std::nextafter(448.0F, 449.0F)), 0.5F);
  EXPECT_EQ(scale_for(1), 256);
  EXPECT_EQ(scale_for(std::nextafter(0.875F, 1.0F)), 256);
  EXPECT_EQ(scale_for(0.875F), 512);
  for (const float none :
       {0.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e-45F}) {
    EXPECT_EQ(scale_for(none), 1) << none;
  }
}

struct LinearBench : testing::Test {
  LinearTiming time(const LinearFormat& f, bool cast_output = true) {
    device.load_codes(f.loaded, gemm_codes(f.loaded, settings.seed));
    return time_linear(device, f, kSmall, cast_output, settings);
  }
  std::string error_of(Spoiled spoiled) {
    device.spoiled = spoiled;
    try {
      time(kFp8);
    } catch (const WrongResult& wrong) {
      return wrong.what();
    }
    return "";
  }

  FakeGemmDevice device;
  Settings settings;
};

TEST_F(LinearBench, OfFp8HasAllSteps) {
  const LinearTiming timing = time(kFp8);
  const double cast = FakeGemmDevice::kCastSeconds * 1e6;
  EXPECT_DOUBLE_EQ(timing.step_microseconds[0], cast * 32 * 96);
  EXPECT_DOUBLE_EQ(timing.step_microseconds[1], cast * 96 * 48);
  EXPECT_DOUBLE_EQ(timing.step_microseconds[2], FakeGemmDevice::kProductSeconds / 2 * 1e6 * 32 * 96 * 48);
  EXPECT_DOUBLE_EQ(timing.step_microseconds[3], cast * 32 * 48);
  EXPECT_NEAR(timing.microseconds,
              timing.step_microseconds[0] + timing.step_microseconds[1] + timing.step_microseconds[2] +
                  timing.step_microseconds[3],
              1e-9);
  EXPECT_EQ(timing.scales.input, 256);  // uniform in −1 … 1
  EXPECT_GT(timing.scales.output, 1);
  EXPECT_GT(timing.checked, 100u);
  EXPECT_EQ(timing.equal, timing.checked);
}

TEST_F(LinearBench, OfFp16HasTheProductAlone) {
  const LinearTiming timing = time(kFp16);
  EXPECT_EQ(timing.step_microseconds[0], 0);
  EXPECT_EQ(timing.step_microseconds[3], 0);
  EXPECT_GT(timing.step_microseconds[2], 0);
  EXPECT_EQ(timing.equal, timing.checked);
}

TEST_F(LinearBench, AWrongCastIsFound) {
  EXPECT_NE(error_of(Spoiled::cast_input).find("cast of the input: element 3071"), std::string::npos);
  EXPECT_NE(error_of(Spoiled::cast_weight).find("cast of the weight: element 4607"), std::string::npos);
  EXPECT_NE(error_of(Spoiled::cast_output).find("cast of the output: element 1535"), std::string::npos);
  EXPECT_NE(error_of(Spoiled::amax).find("cast of the weight: the largest magnitude"), std::string::npos);
  EXPECT_EQ(error_of(Spoiled::nothing), "");
}

TEST_F(LinearBench, AWrongElementIsFoundAndAnotherLastBitCounted) {
  EXPECT_NE(error_of(Spoiled::element).find("off by"), std::string::npos);
  EXPECT_NE(error_of(Spoiled::not_a_number).find("off by"), std::string::npos);
  device.spoiled = Spoiled::last_bit;
  const LinearTiming timing = time(kFp8);
  EXPECT_EQ(timing.equal + 1, timing.checked);
}

TEST_F(LinearBench, EveryCodeIsCast) {
  device.load_codes(FormatId::bf16, every_bf16());
  EXPECT_NO_THROW(check_every_cast(device, settings));
  EXPECT_EQ(device.runs, 4);
  device.spoiled = Spoiled::cast_weight;
  EXPECT_THROW(check_every_cast(device, settings), WrongResult);
}

Document measured(const char* name, FakeGemmDevice& device, const std::vector<std::string>& subjects,
                  const std::vector<std::string>& axes) {
  return {"", device.facts(), {}, measure(name, device, subjects, axes)};
}

TEST_F(LinearBench, RecordsSayShares) {
  const Document document = measured("linear", device, {"linear.fp16", "linear.bf16"}, {"N=1024"});
  ASSERT_EQ(document.records.size(), 2u);
  const Record& r = document.records[0];
  EXPECT_EQ(r.error + r.waived, "");
  EXPECT_EQ(r.number("product_percent"), 100);
  EXPECT_EQ(r.number("equal_percent"), 100);
  EXPECT_FALSE(r.number("cast_input_us"));
  EXPECT_NEAR(*r.number("tera_ops"), 2e-12 / FakeGemmDevice::kProductSeconds, 1);
}

TEST_F(LinearBench, ATransformersLayersAddUp) {
  const Document document =
      measured("transformer", device, {"transformer.bf16", "transformer.fp8e4m3"}, {"hidden=1024"});
  ASSERT_EQ(document.records.size(), 2u);
  for (const Record& r : document.records) {
    EXPECT_EQ(r.error + r.waived, "");
    double percent = 0, us = 0;
    for (const char* part : {"qkv", "projection", "up", "down"}) {
      percent += *r.number(fmt::format("{}_percent", part));
      us += *r.number(fmt::format("{}_us", part));
    }
    EXPECT_NEAR(percent, 100, 1e-3);
    EXPECT_NEAR(us / *r.number("layer_us"), 1, 1e-5);
    EXPECT_EQ(r.number("inner"), 2816);
    EXPECT_EQ(r.number("equal_percent"), 100);
  }
  EXPECT_FALSE(document.records[0].number("casts_percent"));
  EXPECT_GT(*document.records[1].number("casts_percent"), 0);
}

TEST_F(LinearBench, SizesAreLlamas) {
  const std::vector<std::pair<std::size_t, std::size_t>> known = {
      {1024, 2816}, {2048, 5632}, {4096, 11008}, {5120, 13824}, {8192, 22016}};
  for (const auto& [hidden, inner] : known) EXPECT_EQ(inner_size(hidden), inner);
  for (const TransformerPart& part : transformer_parts(5120)) {
    EXPECT_EQ(part.shape.tokens, 2048u);
    EXPECT_EQ(part.shape.inputs % 16, 0u);
    EXPECT_EQ(part.shape.outputs % 16, 0u);
  }
}

TEST_F(LinearBench, WhatIsNotThereIsWaived) {
  device.has_casts = false;
  Document document = measured("linear", device, {"linear.fp8e4m3"}, {"N=1024,2048"});
  ASSERT_EQ(document.records.size(), 2u);
  EXPECT_EQ(document.records[1].waived, "no casts here");
  EXPECT_TRUE(document.records[1].values.empty());
  EXPECT_TRUE(measurement("linear").subjects(ArchId::sm_80).empty());
}

TEST_F(LinearBench, AWrongCastIsAnErrorOfAllItsRows) {
  device.spoiled = Spoiled::cast_input;
  const Document document = measured("linear", device, {"linear.fp8e4m3"}, {"N=1024,2048"});
  ASSERT_EQ(document.records.size(), 2u);
  for (const Record& r : document.records) {
    EXPECT_NE(r.error.find("cast of the input"), std::string::npos);
    EXPECT_TRUE(r.values.empty());
  }
}

}  // namespace
}  // namespace tcnum::bench
