// Datapaths without the fraction bits that no number of theirs has: the same results, by the exact emulator.
// Labels: sanitized
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "edge_tiles.hpp"
#include "emu/cpu/panels/needed_bits.hpp"
#include "reference/any_datapath.hpp"
#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

Datapath with_needed_bits(const Datapath& d) {
  return {panels::needed_bits(d.numerics, SortedTree(d.tree)).numerics, d.unit_names, d.tree};
}

/// Of some tiles' results the first that differs, in words; empty if none does.
std::string difference(const Datapath& datapath, const Datapath& fewer) {
  constexpr std::size_t kSide = 5;
  const bool edges = *rc::gen::arbitrary<bool>();
  Tiles tiles = edges ? test::edge_tiles(datapath, 2, kSide, kSide, *rc::gen::arbitrary<std::uint64_t>())
                      : test::random_tiles(datapath, 2, kSide, kSide);
  Tiles same = tiles;
  emulate_exact(datapath, tiles);
  emulate_exact(fewer, same);
  for (std::size_t i = 0; i < tiles.d.size(); ++i) {
    if (tiles.d[i] == same.d[i]) continue;
    return fmt::format("result {} of {}\nand {}", i, to_json(datapath).dump(), to_json(fewer).dump());
  }
  return {};
}

TEST(NeededBits, LeaveTheSameResults) {
  int drawn = 0, with_fewer = 0;
  EXPECT_TRUE(rc::check("of random datapaths", [&] {
    constexpr int kDatapaths = 100;  // an example has little to do
    for (int i = 0; i < kDatapaths; ++i) {
      const Datapath datapath = test::datapath_of_any_kind(), fewer = with_needed_bits(datapath);
      ++drawn;
      if (fewer == datapath) continue;
      ++with_fewer;
      const std::string found = difference(datapath, fewer);
      if (!found.empty()) RC_FAIL(found);
    }
  }));
  constexpr int kAmong = 20;  // at least one, or little is tested
  EXPECT_GE(with_fewer * kAmong, drawn);
}

Datapath datapath_of(const char* operands, int fraction_bits, const char* steps) {
  auto json = nlohmann::ordered_json::parse(R"({
    "schema": "tcnum.datapath/1", "k": 4, "operands": {}, "result": "fp32", "product": {"exponent": "sum"},
    "units": {"sum": {"fraction_bits": 0, "align_rounding": "toward_zero", "zero_exponent": "none", "result": [],
      "zero_sign": "ieee", "underflow_sign": "kept"}},
    "tree": ["sum", "c", "0..3"], "nan": {"code": "0x7fffffff"}})");
  for (const char* name : {"a", "b", "c"})
    json["operands"][name] = {{"format", operands}, {"subnormals", "kept"}, {"subnormal_exponent", "minimum"}};
  json["units"]["sum"]["fraction_bits"] = fraction_bits;
  json["units"]["sum"]["result"] = nlohmann::ordered_json::parse(steps);
  return datapath_from_json(json);
}

constexpr const char* kToFp32 =
    R"([{"format": "fp32", "rounding": "nearest_even", "subnormals": "kept", "overflow": "ieee"}])";

TEST(NeededBits, OfACutReachFromTheLargestExponentToTheLastBit) {
  // Products of fp8e4m3 are aligned with 2^16 at most, and multiples of 2^−18.
  const auto bits_of_sum = [](const char* operands, int bits) {
    return with_needed_bits(datapath_of(operands, bits, kToFp32)).numerics.units[0].fraction_bits;
  };
  EXPECT_EQ(bits_of_sum("fp8e4m3", 160), 16 + 18);
  EXPECT_EQ(bits_of_sum("fp8e4m3", 20), 20);
  // Of products of fp32 these are 2^254 and 2^−298.
  EXPECT_EQ(bits_of_sum("fp32", 160), 160);
}

TEST(NeededBits, OfAStepAreThoseOfTheNumber) {
  constexpr const char* kLongStep =
      R"([{"fraction_bits": 150, "from": "leading_bit", "rounding": "up", "subnormals": "kept", "overflow": "ieee"},
          {"format": "fp32", "rounding": "nearest_even", "subnormals": "kept", "overflow": "ieee"}])";
  const Datapath fewer = with_needed_bits(datapath_of("fp16", 25, kLongStep));
  const int bits = fewer.numerics.units[0].result.step[0].fraction_bits;
  EXPECT_GE(bits, 32);
  EXPECT_LE(bits, 48);
  // What is beyond the largest number becomes that one, which has all its bits.
  constexpr const char* kLargest =
      R"([{"fraction_bits": 150, "from": "leading_bit", "max_exponent": 3, "rounding": "up", "subnormals": "kept",
           "overflow": "max_finite"},
          {"format": "fp32", "rounding": "nearest_even", "subnormals": "kept", "overflow": "ieee"}])";
  EXPECT_EQ(with_needed_bits(datapath_of("fp16", 25, kLargest)).numerics.units[0].result.step[0].fraction_bits, 150);
}

TEST(NeededBits, OfAStepThatMakesAllInfiniteIsTheLargestExponentBelowThemAll) {
  const auto largest_of = [](const char* rounding, int max_exponent) {
    const std::string step = fmt::format(
        R"([{{"fraction_bits": 20, "from": "leading_bit", "min_exponent": -129, "max_exponent": {},
             "rounding": "{}", "subnormals": "kept", "overflow": "ieee"}}])",
        max_exponent, rounding);
    return with_needed_bits(datapath_of("fp16", 25, step.c_str())).numerics.units[0].result.step[0].max_exponent;
  };
  // Products of fp16 are multiples of 2^−48.
  EXPECT_EQ(largest_of("nearest_even", -120), -49);
  EXPECT_EQ(largest_of("nearest_even", -48), -48);
  // These become the largest number.
  EXPECT_EQ(largest_of("toward_zero", -120), -120);
  EXPECT_EQ(largest_of("up", -120), -120);
}

}  // namespace
}  // namespace tcnum
