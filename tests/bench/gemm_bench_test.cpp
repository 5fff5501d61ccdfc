// Matrix products on a device that computes by the emulator and makes its times up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "bench/measure/gemm/gemm.hpp"
#include "bench/measure/gemm/shapes.hpp"
#include "bench/measure/measurement.hpp"
#include "bench/measure/report/sections.hpp"
#include "fake_products.hpp"
#include "tcnum/error.hpp"

namespace tcnum::bench::gemm_bench_test {
namespace {

constexpr unsigned kH200Sms = 132;

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

/// What the blocks at work need, rows and columns of tiles, is nearly as small as bands of any height make it.
TEST(GemmRasters, NeedLittle) {
  constexpr double kOff = 1.1;
  for (const GemmTile& tile : gemm_tiles()) {
    for (const GemmShape& shape : gemm_shapes(kRandomShapes)) {
      const std::size_t height = std::size_t{tile.rows} * tile.cluster_rows,
                        width = std::size_t{tile.columns} * tile.cluster_columns;
      const GemmRaster raster = raster_of(shape, tile, kH200Sms);
      EXPECT_EQ(raster.rows, (shape.m + height - 1) / height);
      EXPECT_EQ(raster.columns, (shape.n + width - 1) / width);
      ASSERT_GE(raster.band, 1u);
      ASSERT_LE(raster.band, raster.rows);
      const auto needed = [&](std::size_t band) {
        const double columns = double{kH200Sms} / tile.cluster() / static_cast<double>(band);
        return static_cast<double>(band * height) + std::max(1.0, columns) * static_cast<double>(width);
      };
      double least = needed(1);
      for (std::size_t band = 2; band <= raster.rows; ++band) least = std::min(least, needed(band));
      EXPECT_LE(needed(raster.band), kOff * least)
          << tile_name(tile) << ", " << shape.m << " × " << shape.n << ": bands of " << raster.band;
    }
  }
}

// --- Names

TEST(GemmNames, AreOfOneTileOrFormatsEach) {
  EXPECT_EQ(tile_name({128, 64, 1, 1}), "128x64");
  EXPECT_EQ(tile_name({256, 128, 1, 2}), "256x128/1x2");
  std::set<std::string> names;
  for (const GemmTile& tile : gemm_tiles()) {
    EXPECT_TRUE(names.insert(tile_name(tile)).second) << tile_name(tile);
    ASSERT_NE(find_tile(tile_name(tile)), nullptr);
    EXPECT_EQ(*find_tile(tile_name(tile)), tile);
  }
  EXPECT_EQ(find_tile(kLibraryName), nullptr);
  EXPECT_EQ(find_tile("128x64/1x1"), nullptr);
  for (const GemmFormats& formats : kGemmFormats) EXPECT_EQ(find_gemm_formats(gemm_subject(formats)), &formats);
  EXPECT_EQ(find_gemm_formats("gemm.fp16.bf16"), nullptr);
  EXPECT_EQ(measurement("gemm").subjects(ArchId::sm_90), (std::vector<std::string>{kHalf, "gemm.bf16.bf16", kFp8}));
  EXPECT_TRUE(measurement("gemm").subjects(ArchId::sm_100).empty()) << "its tensor cores have no wgmma";
}

// --- Shapes

TEST(GemmShapes, AreMultiplesOfTheGranuleAndTheSameEachTime) {
  for (const Axis& axis : measurement("gemm").axes) {
    if (axis.name != "shapes") continue;
    EXPECT_EQ(axis.values.size(), 5u);
    for (const std::string& set : axis.values) {
      const std::vector<GemmShape> shapes = gemm_shapes(set);
      EXPECT_FALSE(shapes.empty());
      EXPECT_EQ(shapes, gemm_shapes(set));
      for (const GemmShape& s : shapes) {
        for (const std::size_t size : {s.m, s.n, s.k}) {
          EXPECT_GT(size, 0u);
          EXPECT_EQ(size % kGemmGranule, 0u) << set << ": " << s.m << " × " << s.n << " × " << s.k;
        }
      }
    }
  }
  EXPECT_THROW(gemm_shapes("large"), std::logic_error);
}

/// The model is judged by products that it was not fitted to.
TEST(GemmShapes, OfRandomSetsAreOthers) {
  const std::vector<GemmShape> fit = gemm_shapes(kFitShapes), random = gemm_shapes(kRandomShapes),
                               unseen = gemm_shapes(kUnseenShapes);
  EXPECT_EQ(fit.size(), 60u);
  EXPECT_EQ(random.size(), 200u);
  EXPECT_EQ(unseen.size(), 60u);
  for (const GemmShape& s : random) EXPECT_EQ(std::ranges::find(fit, s), fit.end());
  for (const GemmShape& s : unseen) {
    EXPECT_EQ(std::ranges::find(fit, s), fit.end());
    EXPECT_EQ(std::ranges::find(random, s), random.end());
  }
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

TEST_F(CheckProduct, FindsOperandsThatAreNotTheLaunchs) {
  const GemmFormats& formats = kGemmFormats[0];
  const std::vector<std::byte>& codes = codes_of(formats.operands);
  FakeProducts device;
  device.load_codes(codes);
  const GemmWork work{formats, {64, 64, 64}, gemm_tiles().front(), 2};
  GemmTimes times = device.multiply(work);
  EXPECT_NO_THROW(check_product(device, work, times, codes, kSeed, 1));
  times.a_first += 64;  // the row behind
  EXPECT_THROW(check_product(device, work, times, codes, kSeed, 1), WrongResult);
}

TEST(GemmCodes, DependOnTheSeedAndAreBetweenMinusOneAndOne) {
  const std::vector<std::byte> codes = gemm_codes(FormatId::fp8e4m3, 1);
  EXPECT_EQ(codes.size(), kGemmCodes);
  EXPECT_NE(codes, gemm_codes(FormatId::fp8e4m3, 2));
  constexpr std::byte kMagnitude{0x7f}, kOne{0x38};
  EXPECT_TRUE(std::ranges::all_of(codes, [&](std::byte b) { return (b & kMagnitude) <= kOne; }));
  EXPECT_GT(std::set<std::byte>(codes.begin(), codes.end()).size(), 64u);
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

  FakeProducts slow;
  slow.slower = 100;  // the smallest takes 100 µs, the largest 13 ms
  measure(slow, {kFp8}, {"shapes=small", "kernel=128x128"});
  std::vector<unsigned> bursts;
  for (const GemmWork& work : slow.calls) {
    if (bursts.empty() || bursts.back() != work.launches) bursts.push_back(work.launches);
  }
  EXPECT_EQ(bursts[2], 20u) << "2 ms of 16 × 16 × 16";
  EXPECT_EQ(bursts.back(), 2u) << "no less than two, one behind the other";
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

/// What was right at first may be wrong under load.
TEST(Gemm, TheLastResultsAreCheckedToo) {
  FakeProducts right;
  measure(right, {kHalf}, kSmallOnly);
  const std::size_t calls_of_a_product = right.calls.size() / gemm_shapes(kSmallShapes).size();
  FakeProducts device;
  device.spoiled = {0, 0, calls_of_a_product - 1};
  const auto records = measure(device, {kHalf}, kSmallOnly);
  EXPECT_TRUE(records[0].error.starts_with("16 × 16 × 16: element 0, 0 is 0x")) << records[0].error;
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
