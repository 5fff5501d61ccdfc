// The exact emulator equals a second implementation of docs/datapath.md (tests/reference), bit for bit, on datapaths
// and operands from all of the page's range, and on every datapath of the catalogue and of docs/datapaths.
// Labels: speed
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "difference.hpp"
#include "reference/any_datapath.hpp"
#include "reference/edge_problems.hpp"
#include "reference/reference.hpp"
#include "reference/values.hpp"

#include "tcnum/catalogue.hpp"
#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

using reference::Event;
using reference::Tally;
using test::EdgeProblems;

/// What went by, and where the two did not agree.
struct Comparison {
  Tally tally;
  std::vector<std::string> disagreements;

  void compare(const Datapath& d, const Problem& p) {
    const std::uint64_t by_reference = reference::dot(d, p.a, p.b, p.c, p.sa, p.sb, tally),
                        by_emulator = emulate_exact(d, p.a, p.b, p.c, p.sa, p.sb);
    if (by_reference == by_emulator) return;
    disagreements.push_back(test::difference(d, p, "reference, exact emulator", by_reference, by_emulator));
  }

  /// Fails if there were any, and shows the shortest.
  void expect_agreement() {
    std::ranges::sort(disagreements, {}, &std::string::size);
    EXPECT_EQ(disagreements.size(), 0u);
    for (std::size_t i = 0; i < std::min<std::size_t>(disagreements.size(), 3); ++i) ADD_FAILURE() << disagreements[i];
  }
};

TEST(Reference, ReadsAndWritesCodesAsFormatsDo) {
  std::mt19937_64 random(1);
  for (const Format& f : kFormats) {
    const bool small = f.storage_bits <= 16;
    const std::uint64_t count = small ? f.code_mask() + 1 : 3000;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t code = small ? i : random() & f.code_mask();
      const Decoded d = decode(f, code);
      const reference::Value v = reference::value_of(f.id, code);
      using Kind = reference::Value::Kind;
      ASSERT_EQ(v.kind == Kind::nan, d.number_class == NumberClass::nan) << f.name << " " << code;
      ASSERT_EQ(v.kind == Kind::infinite, d.number_class == NumberClass::infinity) << f.name << " " << code;
      if (v.kind == Kind::nan) continue;
      ASSERT_EQ(v.negative, d.negative) << f.name << " " << code;
      const std::uint64_t canonical = code >> f.padding_bits << f.padding_bits;
      if (f.has_sign) {
        ASSERT_EQ(reference::code_of(f.id, v), canonical) << f.name;
      }
      if (v.kind == Kind::infinite) continue;
      const reference::Rational magnitude = d.significand * reference::power_of_two(d.exponent - f.fraction_bits);
      ASSERT_EQ(abs(v.number), magnitude) << f.name << " " << code;
    }
  }
}

// By default of 4000 datapaths; RC_PARAMS=max_success=10000 takes 100 times as many.
TEST(Reference, AgreesWithTheExactEmulatorOnAnyDatapath) {
  constexpr int kDatapathsForEachSuccess = 40;
  Comparison comparison;
  std::map<FormatId, int> datapaths_with;
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess *= kDatapathsForEachSuccess;
  params.disableShrinking = true;
  const auto result = rc::detail::checkTestable(
      [&] {
        const Datapath d = *test::any_datapath();
        validate(d);
        const Numerics& n = d.numerics;
        for (const FormatId f : {n.a.format, n.b.format, n.c.format, n.result}) ++datapaths_with[f];
        if (n.scales) ++datapaths_with[n.scales->format];
        EdgeProblems problems(d, *rc::gen::arbitrary<std::uint64_t>());
        for (int i = 0; i < 12; ++i) comparison.compare(d, problems.next());
        RC_ASSERT(comparison.disagreements.size() < 20u);
      },
      rc::detail::TestMetadata{}, params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>()) << message.str();
  comparison.expect_agreement();
  if (params.maxSuccess < 100 * kDatapathsForEachSuccess) return;  // too few to reach every corner
  for (const Format& f : kFormats) EXPECT_GE(datapaths_with[f.id], 20) << f.name;
  for (std::size_t i = 0; i < kRoundingNames.size(); ++i) {
    EXPECT_GE(comparison.tally.inexact[i], 500u) << kRoundingNames[i];
  }
  for (std::size_t i = 0; i < reference::kEventNames.size(); ++i) {
    EXPECT_GE(comparison.tally.count[i], 20u) << reference::kEventNames[i];
    RecordProperty(std::string(reference::kEventNames[i]), std::to_string(comparison.tally.count[i]));
  }
}

TEST(Reference, AgreesWithTheExactEmulatorOnTheExamples) {
  Comparison comparison;
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TCNUM_SOURCE_DIR "/docs/datapaths")) {
    ++examples;
    const Datapath d = read_datapath(entry.path().string());
    EdgeProblems problems(d, 1);
    for (int i = 0; i < 500; ++i) comparison.compare(d, problems.next());
  }
  EXPECT_GE(examples, 15);
  comparison.expect_agreement();
}

TEST(Reference, AgreesWithTheExactEmulatorOnTheCatalogue) {
  Comparison comparison;
  std::vector<Datapath> seen;
  for (const Arch& arch : kArchs) {
    for (const CatalogueEntry& entry : catalogue(arch.id)) {
      if (std::ranges::find(seen, entry.datapath) != seen.end()) continue;
      seen.push_back(entry.datapath);
      EdgeProblems problems(entry.datapath, seen.size());
      for (int i = 0; i < 100; ++i) comparison.compare(entry.datapath, problems.next());
    }
  }
  EXPECT_GE(seen.size(), 100u);
  comparison.expect_agreement();
}

}  // namespace
}  // namespace tcnum
