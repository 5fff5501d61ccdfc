// Matrix products on a device that computes by the emulator and makes its times up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "bench/measure/gemm/gemm.hpp"
#include "bench/measure/measurement.hpp"
#include "bench/measure/report/sections.hpp"
#include "fake_products.hpp"
#include "tcnum/error.hpp"

namespace tcnum::bench::gemm_bench_test {
namespace {

std::vector<Record> measure(FakeProducts& device, const std::vector<std::string>& subjects,
                            const std::vector<std::string>& axes, const Settings& settings = {},
                            const char* name = "gemm") {
  return bench::measure(name, device, subjects, axes, ArchId::sm_90, settings);
}

const std::string kHalf = "gemm.fp16.fp16", kFp8 = "gemm.fp8e4m3.bf16";

// --- Rasters

/// Every place is there once; a band is done before the next one begins, and within it a column before the next one.
TEST(GemmRasters, HaveEveryPlaceOnceInBands) {
  for (const auto& [rows, columns, band] : std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>{
           {1, 1, 1}, {1, 7, 1}, {7, 1, 3}, {8, 5, 4}, {9, 5, 4}, {3, 5, 8}, {64, 33, 11}}) {
    const GemmRaster raster{rows, columns, band};
    ASSERT_EQ(raster.count(), rows * columns);
    std::vector<std::tuple<std::size_t, std::size_t, std::size_t>> order;
    for (std::size_t i = 0; i < raster.count(); ++i) {
      const auto [row, column] = raster.place(i);
      ASSERT_LT(row, rows);
      ASSERT_LT(column, columns);
      order.emplace_back(row / band, column, row);
    }
    EXPECT_TRUE(std::ranges::is_sorted(order)) << rows << " × " << columns << ", bands of " << band;
    EXPECT_EQ(std::ranges::adjacent_find(order), order.end()) << rows << " × " << columns << ", bands of " << band;
  }
}

// --- Names

TEST(GemmNames, AreOfOneTileOrFormatsEach) {
  EXPECT_EQ(tile_name({128, 64, 1, 1}), "128x64");
  EXPECT_EQ(tile_name({256, 128, 1, 2}), "256x128/1x2");
  for (const GemmTile& tile : gemm_tiles()) EXPECT_EQ(find_tile(tile_name(tile)), &tile);
  EXPECT_EQ(find_tile(kLibraryName), nullptr);
  for (const GemmFormats& formats : kGemmFormats) EXPECT_EQ(find_gemm_formats(gemm_subject(formats)), &formats);
  EXPECT_EQ(measurement("gemm").subjects(ArchId::sm_90), (std::vector<std::string>{kHalf, "gemm.bf16.bf16", kFp8}));
  EXPECT_TRUE(measurement("gemm").subjects(ArchId::sm_100).empty()) << "its tensor cores have no wgmma";
}

// --- Shapes

/// Multiples of the granule, the same each time; and the model is judged by products that it was not fitted to.
TEST(GemmShapes, AreTheSameEachTimeAndOthersInEachSet) {
  std::vector<GemmShape> random;
  for (const std::string_view set : {kFitShapes, kRandomShapes, kUnseenShapes, kDeepSeekShapes, kSmallShapes}) {
    const std::vector<GemmShape> shapes = gemm_shapes(set);
    EXPECT_FALSE(shapes.empty());
    EXPECT_EQ(shapes, gemm_shapes(set));
    for (const GemmShape& s : shapes) {
      for (const std::size_t size : {s.m, s.n, s.k}) EXPECT_TRUE(size > 0 && size % kGemmGranule == 0) << set;
      if (set == kDeepSeekShapes || set == kSmallShapes) continue;
      EXPECT_EQ(std::ranges::find(random, s), random.end()) << set;
      random.push_back(s);
    }
  }
  EXPECT_EQ(random.size(), 60u + 200u + 60u);
}

// --- Checks

constexpr std::uint64_t kSeed = 1;

class CheckProduct : public testing::Test {
 protected:
  /// These are many.
  static const std::vector<std::byte>& codes_of(FormatId format) {
    static std::map<FormatId, std::vector<std::byte>> made;
    std::vector<std::byte>& codes = made[format];
    if (codes.empty()) codes = gemm_codes(format, kSeed);
    return codes;
  }

  /// Of a product of the fake's, in which an element may be wrong.
  static std::string complaint(std::string_view subject, const GemmShape& shape,
                               std::optional<FakeProducts::Spoiled> spoiled, unsigned launches = 3) {
    const GemmFormats& formats = *find_gemm_formats(subject);
    const std::vector<std::byte>& codes = codes_of(formats.operands);
    FakeProducts device;
    device.spoiled = spoiled;
    device.load_codes(codes);
    const GemmWork work{formats, shape, gemm_tiles().front(), launches};
    const GemmTimes times = device.multiply(work);
    try {
      check_product(device, work, times, codes, kSeed, 1);
    } catch (const WrongResult& wrong) {
      return wrong.what();
    }
    return "";
  }
};

TEST_F(CheckProduct, TakesWhatIsRight) {
  for (const GemmFormats& formats : kGemmFormats) {
    EXPECT_EQ(complaint(gemm_subject(formats), {272, 144, 80}, {}), "");
    // Launch 4200 begins beyond the last code, which is followed by the first one.
    EXPECT_EQ(complaint(gemm_subject(formats), {272, 144, 80}, {}, 4200), "");
  }
  EXPECT_EQ(complaint(kHalf, {16, 16, 16}, {}), "") << "no more lines than there are";
}

TEST_F(CheckProduct, FindsAWrongElement) {
  const GemmShape shape{272, 144, 80};
  for (const char* subject : {kHalf.c_str(), kFp8.c_str()}) {
    for (const FakeProducts::Spoiled& at :
         {FakeProducts::Spoiled{0, 0}, {shape.m - 1, shape.n - 1}, {0, shape.n - 1}, {shape.m - 1, 0}}) {
      const std::string said = complaint(subject, shape, at);
      EXPECT_TRUE(said.starts_with(fmt::format("272 × 144 × 80: element {}, {} is 0x", at.row, at.column))) << said;
    }
  }
}

// --- The measurement

/// Of values, which have six digits.
constexpr double kRounding = 1e-5;
const std::vector<std::string> kSmallOnly = {"shapes=small", "kernel=128x64"};

TEST(Gemm, HasARecordOfEachKernelAndItsProductsAsSeries) {
  FakeProducts device;
  const auto records = measure(device, {kHalf}, {"shapes=small", "kernel=128x64,cublaslt"});
  ASSERT_EQ(records.size(), 2u);
  const std::vector<GemmShape> shapes = gemm_shapes(kSmallShapes);
  for (const Record& r : records) {
    EXPECT_EQ(r.error + r.waived, "");
    EXPECT_EQ(r.measurement, "gemm");
    EXPECT_EQ(r.subject, kHalf);
    EXPECT_EQ(r.text("shapes"), "small");
    EXPECT_EQ(r.number("products"), static_cast<double>(shapes.size()));
    const GemmTile* const tile = find_tile(r.text("kernel"));
    double most = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      EXPECT_EQ(r.numbers("m")->at(i), static_cast<double>(shapes[i].m));
      EXPECT_EQ(r.numbers("n")->at(i), static_cast<double>(shapes[i].n));
      EXPECT_EQ(r.numbers("k")->at(i), static_cast<double>(shapes[i].k));
      const double seconds = FakeProducts::seconds_of(shapes[i], tile == nullptr ? std::nullopt : std::optional(*tile));
      EXPECT_NEAR(r.numbers("microseconds")->at(i), seconds * 1e6, seconds * 1e6 * kRounding);
      EXPECT_EQ(r.numbers("spread_percent")->at(i), 0);
      most = std::max(most, 2e-12 * static_cast<double>(shapes[i].m * shapes[i].n * shapes[i].k) / seconds);
    }
    EXPECT_NEAR(*r.number("tera_ops_max"), most, most * kRounding);
    EXPECT_LT(*r.number("tera_ops_median"), most);
  }
  EXPECT_EQ(records[0].number("clock_mhz"), FakeProducts::kClockMhz);
  EXPECT_EQ(records[0].numbers("clock_mhz")->size(), shapes.size());
  EXPECT_EQ(records[0].numbers("algorithm_id"), nullptr);
  EXPECT_NE(records[0].text("checked"), "no");
  EXPECT_FALSE(records[1].number("clock_mhz"));
  EXPECT_EQ(records[1].text("checked"), "no");
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, int>>{{"algorithm_id", FakeProducts::kAlgorithm.id},
                                                {"tile_id", FakeProducts::kAlgorithm.tile},
                                                {"cluster_id", FakeProducts::kAlgorithm.cluster},
                                                {"split_k", FakeProducts::kAlgorithm.split_k}}) {
    EXPECT_EQ(*records[1].numbers(name), std::vector<double>(shapes.size(), value)) << name;
  }
}

/// As many launches as take a burst's time, within bounds, of the tile and formats that were asked for.
TEST(Gemm, LaunchesAsOftenAsTakesABurst) {
  FakeProducts device;
  measure(device, {kFp8}, {"shapes=small", "kernel=128x128/2x1"});
  unsigned most = 0;
  for (const GemmWork& work : device.calls) {
    ASSERT_TRUE(work.tile);
    EXPECT_EQ(tile_name(*work.tile), "128x128/2x1");
    EXPECT_EQ(work.formats.operands, FormatId::fp8e4m3);
    EXPECT_EQ(work.formats.results, FormatId::bf16);
    most = std::max(most, work.launches);
  }
  EXPECT_EQ(most, 64u) << "all of these products are short";
}

/// After a rest each, beside the first launch, whose results are compared; the time is their median.
TEST(Gemm, SingleCallsAreTimedAlone) {
  FakeProducts device;
  const auto records =
      measure(device, {"single.fp16.fp16"}, {"shapes=small", "kernel=128x64,cublaslt"}, {}, "single gemm");
  ASSERT_EQ(records.size(), 2u);
  const std::vector<GemmShape> shapes = gemm_shapes(kSmallShapes);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const double alone_us = 2e6 * FakeProducts::seconds_of(shapes[i], *find_tile("128x64"));
    EXPECT_NEAR(records[0].numbers("microseconds")->at(i), alone_us, 1e-5 * alone_us);
    EXPECT_EQ(records[0].numbers("clock_mhz")->at(i), FakeProducts::kClockMhz);
  }
  EXPECT_EQ(records[0].measurement, "single gemm");
  EXPECT_NE(records[1].numbers("tile_id"), nullptr);
  for (std::size_t i = 0; i < device.calls.size(); ++i) {
    const GemmWork& work = device.calls[i];
    EXPECT_EQ(work.rest_seconds > 0, i % 2 == 1) << i;
    EXPECT_EQ(work.launches, i % 2 == 1 ? 11u : 1u) << i;
  }

  FakeProducts spoiled;
  spoiled.spoiled = {0, 0, 1};
  const auto wrong = measure(spoiled, {"single.fp16.fp16"}, kSmallOnly, {}, "single gemm");
  EXPECT_TRUE(wrong.at(0).error.starts_with("16 × 16 × 16: element 0, 0 is 0x")) << wrong[0].error;
}

TEST(Gemm, AWrongResultIsTheRowsError) {
  FakeProducts device;
  const GemmShape last = gemm_shapes(kSmallShapes).back();
  device.spoiled = {last.m - 1, 0, 0};
  const auto records = measure(device, {kHalf}, {"shapes=small", "kernel=128x64,cublaslt"});
  ASSERT_EQ(records.size(), 2u);
  EXPECT_TRUE(records[0].error.starts_with(fmt::format("1296 × 1552 × 528: element {}, 0 is 0x", last.m - 1)))
      << records[0].error;
  EXPECT_TRUE(records[0].values.empty());
  EXPECT_TRUE(records[0].series.empty());
  EXPECT_EQ(records[1].error, "") << "the library's are not checked";
}

TEST(Gemm, IsWaivedWhereThereIsNoLibrary) {
  FakeProducts device;
  device.has_library = false;
  const auto records = measure(device, {kHalf}, {"shapes=small", "kernel=cublaslt"});
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].waived, "there is no libcublasLt.so");
  EXPECT_TRUE(records[0].values.empty() && records[0].series.empty());
}

TEST(Gemm, EndsWhenItIsToldAndKeepsWhatThereIs) {
  FakeProducts device;
  Settings settings;
  settings.go_on = [](const std::string&) { return false; };
  EXPECT_TRUE(measure(device, {kHalf}, kSmallOnly, settings).empty());

  int left = 3;  // the row, and two products
  settings.go_on = [&](const std::string&) { return left-- > 0; };
  auto records = measure(device, {kHalf}, {"shapes=small", "kernel=128x64,128x128"}, settings);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].number("products"), 2);
  EXPECT_EQ(records[0].numbers("microseconds")->size(), 2u);

  left = 1;
  records = measure(device, {kHalf}, kSmallOnly, settings);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].waived, "interrupted");
}

// --- Pages

/// Rows as the measurement writes them, of a few products of which times are given.
Record row(const std::string& set, const std::string& kernel, std::vector<double> microseconds) {
  Record r{"gemm", kHalf, {{"shapes", set}, {"kernel", kernel}}, {{"spread_percent", 0.5}}, {}, "", ""};
  std::vector<double> m = {1000, 2000, 1000}, sides = {1000, 1000, 1000};
  m.resize(microseconds.size());
  sides.resize(microseconds.size());
  r.series = {{"m", m}, {"n", sides}, {"k", sides}, {"microseconds", std::move(microseconds)}};
  return r;
}

const Section* find_section(const std::vector<Section>& sections, std::string_view title) {
  const auto found = std::ranges::find(sections, title, &Section::title);
  return found == sections.end() ? nullptr : &*found;
}

using Cells = std::vector<std::string>;

/// A run that was interrupted has fewer products in one row than in another.
TEST(GemmSections, CompareOnlyWhatBothHave) {
  Document document;
  document.records = {row("small", "128x64", {10, 20, 8}), row("small", "cublaslt", {5})};
  std::vector<Section> sections = gemm_sections(document);
  EXPECT_EQ(sections[0].table[1][7], "50.0");
  EXPECT_EQ(sections[0].table[1].back(), "0 of 1");
  EXPECT_EQ(find_section(sections, "Matrix products: one by one, shapes small")->table[2].back(), "–");
  document.records.pop_back();
  sections = gemm_sections(document);
  EXPECT_EQ(sections[0].table[1], (Cells{"small", kHalf, "3", "200", "250", "–", "–", "–", "–", "–", "–"}));
  document.records[0] = row("small", "cublaslt", {5});
  sections = gemm_sections(document);
  EXPECT_EQ(sections[0].table[1][2], "0");
  EXPECT_EQ(sections[0].table[1][5], "400");
}

/// Records of two versions, of which one has other shapes in a set.
TEST(GemmSections, CompareNoDifferentShapes) {
  Document document;
  document.records = {row("small", "128x64", {10, 20}), row("small", "128x128", {5, 25}),
                      row("small", "cublaslt", {4, 22})};
  document.records[1].series[0].numbers[0] = 64;  // m of the first product
  document.records[2].series[0].numbers[1] = 64;  // of the second
  const std::vector<Section> sections = gemm_sections(document);
  EXPECT_EQ(sections[0].table[1][7], "40.0") << "4 of 10 µs, as the 5 are another product's";
  EXPECT_EQ(sections[0].table[1].back(), "0 of 1");
  const Section* const products = find_section(sections, "Matrix products: one by one, shapes small");
  ASSERT_NE(products, nullptr);
  EXPECT_EQ(products->table[2], (Cells{"2000", "1000", "1000", "20.0", "128x64", "–"}));
}

}  // namespace
}  // namespace tcnum::bench::gemm_bench_test
