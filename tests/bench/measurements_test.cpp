// What holds of every measurement and of every record, whatever they are of.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "../labels.hpp"
#include "bench/measure/report/sections.hpp"
#include "fake_device.hpp"
#include "src/catalogue/sass.hpp"

namespace tcnum::bench {
namespace {

/// The first value of each axis.
Selection smallest(const Measurement& m) {
  Selection selection;
  for (const Axis& axis : m.axes) selection[axis.name] = {axis.values.front()};
  return selection;
}

TEST(EveryMeasurement, HasSubjectsAndAxes) {
  for (const Measurement& m : measurements()) {
    const auto subjects = m.subjects(ArchId::sm_90);
    EXPECT_EQ(std::ranges::any_of(subjects, m.by_default), m.name != "single gemm") << m.name;
    EXPECT_FALSE(m.meaning.empty()) << m.name;
    for (const Axis& axis : m.axes) {
      EXPECT_FALSE(axis.defaults.empty()) << m.name;
      for (const std::string& value : axis.defaults) {
        EXPECT_NE(std::ranges::find(axis.values, value), axis.values.end()) << m.name << value;
      }
    }
  }
  for (const char* name : {"mma", "latency", "copies"}) {
    EXPECT_TRUE(measurement(name).subjects(ArchId::gfx942).empty()) << name;
  }
  EXPECT_FALSE(measurement("mma").by_default("mma.m16n8k32.s32.s8.u8.s32"));
}

TEST(EveryMeasurement, IsWaivedOnADeviceThatTimesNothing) {
  BareDevice device;
  for (const Measurement& m : measurements()) {
    std::vector<Record> records;
    m.measure(device, ArchId::sm_90, {m.subjects(ArchId::sm_90).front()}, smallest(m), quick(),
              [&](Record r) { records.push_back(std::move(r)); });
    ASSERT_EQ(records.size(), 1u) << m.name;
    EXPECT_NE(records[0].waived, "") << m.name;
    EXPECT_TRUE(records[0].values.empty() && records[0].series.empty() && records[0].error.empty()) << m.name;
    EXPECT_EQ(records[0].axes.size(), std::ranges::count(m.axes, false, &Axis::swept)) << m.name;
  }
}

TEST(EveryMeasurement, EndsWhenItIsToldAndMeasuresNothingTwice) {
  BareDevice device;
  Settings told = quick(), done = quick();
  told.go_on = [](const std::string&) { return false; };
  done.has = [](const Record&) { return true; };
  for (const Measurement& m : measurements()) {
    for (const Settings& settings : {told, done}) {
      m.measure(device, ArchId::sm_90, m.subjects(ArchId::sm_90), smallest(m), settings,
                [&](const Record&) { ADD_FAILURE() << m.name; });
    }
  }
}

class EveryRecord : public testing::TestWithParam<const char*> {
 protected:
  const Document document_ = read_document(std::string(TCNUM_SOURCE_DIR "/vectors/sm_90/") + GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, EveryRecord, testing::Values("bench.json", "bench_h100.json"));

TEST_P(EveryRecord, ReadsBackFromJson) {
  const std::string text = json_text(document_);
  const Document back = document_from_json(nlohmann::ordered_json::parse(text), "x.json");
  EXPECT_EQ(back.records, document_.records);
  EXPECT_EQ(json_text(back), text);
}

TEST_P(EveryRecord, IsInTablesAndInARunsToo) {
  for (const Section& section : sections_of(document_, {})) {
    for (const auto& row : section.table) EXPECT_EQ(row.size(), section.table[0].size()) << section.title;
  }
  for (const Measurement& m : measurements()) {
    Document one = document_;
    std::erase_if(one.records, [&](const Record& r) { return r.measurement != m.name; });
    const auto measured = std::ranges::count_if(one.records, [](const Record& r) { return !r.values.empty(); });
    EXPECT_GE(std::ranges::count(run_text(one, {}), '\n'), measured) << m.name;
  }
}

/// Rows of every table, as they were when the record was made.
TEST(RecordOfTheH200, GivesThesePages) {
  TCNUM_TAKES_LONG();
  const Document document = read_document(TCNUM_SOURCE_DIR "/vectors/sm_90/bench.json");
  const SassTable sass = read_sass(TCNUM_SOURCE_DIR "/vectors/sm_90/sass.json");
  std::istringstream page(markdown_page(document, sass));
  std::set<std::string> lines;
  for (std::string line; std::getline(page, line);) lines.insert(line);
  std::ifstream expected(TCNUM_SOURCE_DIR "/tests/bench/h200_report.txt");
  int count = 0;
  for (std::string line; std::getline(expected, line); ++count) EXPECT_TRUE(lines.contains(line)) << line;
  EXPECT_GT(count, 120);
}

/// Rows that are not what a measurement writes, but whose fields all have their types.
TEST_P(EveryRecord, OfStrangeNumbersIsMadeIntoPages) {
  std::map<std::string, int> taken;
  Document few = document_;
  std::erase_if(few.records, [&](const Record& r) {
    return r.values.empty() || r.measurement.ends_with("gemm model") || ++taken[r.measurement] > 3;
  });
  for (const Value& odd : std::vector<Value>{0.0, -1.0, 5e-324, 1.7e308, std::string("x"), true, std::int64_t{0}}) {
    for (const bool with_series : {true, false}) {
      Document strange = few;
      for (Record& r : strange.records) {
        for (Field& value : r.values) value.value = odd;
        for (Record::Series& series : r.series) {
          series.numbers.resize(with_series ? 3 : 0);
          if (const double* const number = std::get_if<double>(&odd)) std::ranges::fill(series.numbers, *number);
        }
      }
      const std::string all = markdown_page(strange, {}) + run_text(strange, {});
      EXPECT_EQ(all.find("nan"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tcnum::bench
