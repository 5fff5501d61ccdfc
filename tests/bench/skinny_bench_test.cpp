// Tall and skinny products on a device that makes its times up.
#include <gtest/gtest.h>

#include <cmath>

#include "bench/measure/gemm/skinny.hpp"
#include "fake_gemm.hpp"

namespace tcnum::bench {
namespace {

TEST(SkinnySums, AreThoseOfAllRows) {
  for (const FormatId id : {FormatId::fp64, FormatId::fp32}) {
    constexpr std::size_t kN = 4, kFirst = 12345, kRows = 3 * kSkinnyPeriod + 17;
    std::vector<std::int64_t> right(kN * kN);
    for (std::size_t row = kFirst; row < kFirst + kRows; ++row) {
      for (std::size_t i = 0; i < kN * kN; ++i) {
        right[i] += skinny_element(id, 0, kN, row, i / kN) * skinny_element(id, 1, kN, row, i % kN);
      }
    }
    EXPECT_EQ(SkinnySums(id, kN).of(kFirst, kRows), right);
  }
}

TEST(SkinnySums, NoOrderRoundsThem) {
  for (const std::size_t n : kSkinnySizes) {
    EXPECT_NO_THROW(SkinnySums(FormatId::fp64, n).of(0, kSkinnyBytes / (n * sizeof(double))));
    EXPECT_NO_THROW(SkinnySums(FormatId::fp32, n).of(0, kSkinnyBytes / (n * sizeof(float))));
  }
  EXPECT_THROW(SkinnySums(FormatId::fp32, 1).of(0, std::size_t{1} << 32), std::logic_error);
}

/// Rows in which A's elements and B's alike are zero would hide what a kernel does with them.
TEST(SkinnySums, RowsCount) {
  for (const FormatId id : {FormatId::fp64, FormatId::fp32}) {
    std::size_t alike = 0;
    const SkinnySums sums(id, 8);
    for (std::size_t row = 0; row < 200; ++row) alike += sums.of(row, 64) == sums.of(row + 1, 64);
    EXPECT_LT(alike, 50u);
  }
}

Document measured(FakeGemmDevice& device, const std::vector<std::string>& axes) {
  return {"", device.facts(), {}, measure("skinny", device, {"skinny.fp64"}, axes)};
}

TEST(SkinnyBench, SaysRatesOverK) {
  FakeGemmDevice device;
  Document document = measured(device, {"n=1,64", "by=split"});
  ASSERT_EQ(document.records.size(), 2u);
  for (const Record& r : document.records) {
    EXPECT_EQ(r.error + r.waived, "");
    const double n = *r.number("n"), seconds = FakeGemmDevice::kSkinnyStart + 2 * kSkinnyBytes / 1e12;
    EXPECT_EQ(r.number("k"), kSkinnyBytes / (n * 8));
    EXPECT_NEAR(*r.number("microseconds"), seconds * 1e6, 1);
    EXPECT_NEAR(*r.number("giga_bytes_per_second"), 2 * kSkinnyBytes / seconds * 1e-9, 1);
    EXPECT_NEAR(*r.number("giga_flops"), 2 * n * n * (kSkinnyBytes / (n * 8)) / seconds * 1e-9, 10);
    ASSERT_EQ(r.numbers("sweep_k")->size(), 7u);
    EXPECT_LT(r.numbers("sweep_giga_bytes_per_second")->front(), 60);  // what a launch costs
    EXPECT_EQ(r.find("algorithm"), nullptr);                           // the library's alone
    EXPECT_FALSE(r.number("percent_of_pins"));                         // nobody says how fast the memory is
  }
}

TEST(SkinnyBench, WhatTakesLongHasFewerRows) {
  FakeGemmDevice device;
  const Document document = measured(device, {"n=8", "by=cublaslt"});
  const Record& r = document.records.at(0);
  EXPECT_EQ(r.number("k"), (std::size_t{1} << 26) / 64);  // 128 MiB at 1 GB/s
  EXPECT_EQ(r.numbers("sweep_k")->size(), 5u);
  EXPECT_EQ(r.text("algorithm"), "made up");
}

TEST(SkinnyBench, AWrongElementIsFound) {
  FakeGemmDevice device;
  device.spoiled = Spoiled::element;
  const Document document = measured(device, {"n=4", "by=split"});
  EXPECT_NE(document.records.at(0).error.find("element 3, 3 of the product of"), std::string::npos);
  EXPECT_TRUE(document.records[0].values.empty());
}

TEST(SkinnyBench, WhatIsNotThereIsWaived) {
  FakeGemmDevice device;
  EXPECT_EQ(measured(device, {"n=2", "by=cublaslt"}).records.at(0).waived, "no algorithm");
  EXPECT_FALSE(measurement("skinny").subjects(ArchId::sm_80).empty());
  EXPECT_TRUE(measurement("skinny").subjects(ArchId::gfx942).empty());
}

}  // namespace
}  // namespace tcnum::bench
