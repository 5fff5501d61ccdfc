// Recorded products of cuBLASLt (vectors/ARCH/gemm.json): the plans that were found give the same bits again, from
// operands that are made anew.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "recorded_products.hpp"
#include "src/campaign/stream.hpp"
#include "src/files/json_fields.hpp"
#include "src/gemm/operands.hpp"
#include "tcnum/gemm_fit.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
using test::family_named;
using test::subject_of;

const std::string kRecord = TCNUM_SOURCE_DIR "/vectors/sm_90/gemm.json";

const ordered_json& record() {
  static const ordered_json kJson = read_json_file(kRecord, "tcnum.gemm_survey/1");
  return kJson;
}

TEST(RecordedProducts, AreWhatTheirPlansGive) {
  std::map<std::string, std::size_t> verdicts;
  std::size_t replayed = 0, elements = 0;
  for (const ordered_json& entry : record().at("cases")) {
    const std::string verdict = entry.at("verdict");
    verdicts[verdict] += entry.at("algorithms").size();
    const GemmSubject subject = subject_of(entry);
    constexpr std::size_t kMostProducts = std::size_t{1} << 27;
    if (verdict == "unexplained" || subject.m * subject.n * subject.k > kMostProducts) continue;
    const GemmPlan plan = plan_from_json(entry.at("plan"), "plan");
    // The last product had no part in choosing the plan.
    const ordered_json& asked = entry.at("asked").back();
    const GemmOperands operands = make_operands(subject, family_named(asked.at("family")), asked.at("seed"));
    const Matrix d = gemm(plan, operands.a, operands.b, {}, {.threads = 2});
    ASSERT_EQ(fmt::format("{:#018x}", digest(d.codes(), 0)), asked.at("digest").get<std::string>()) << entry.dump();
    ++replayed;
    elements += subject.m * subject.n;
  }
  EXPECT_GT(replayed, 400u);
  EXPECT_GT(elements, 10'000'000u);
  for (const char* verdict : {"identified", "ambiguous", "unexplained"})
    EXPECT_EQ(verdicts[verdict], record().at("totals").at(verdict).get<std::size_t>()) << verdict;
}

/// Every algorithm whose plan was found has no element that is not as the plan says.
TEST(RecordedProducts, AreRightOrDeclined) {
  for (const ordered_json& entry : record().at("cases")) {
    if (entry.at("verdict") != "unexplained") {
      EXPECT_EQ(entry.at("mismatches"), 0) << entry.dump();
    }
  }
}

TEST(RecordedProducts, AreWhatTheDocumentationCounts) {
  std::ifstream file(TCNUM_SOURCE_DIR "/docs/plans.md");
  std::string text(std::istreambuf_iterator<char>(file), {});
  std::ranges::replace(text, '\n', ' ');
  const ordered_json& totals = record().at("totals");
  const auto has = [&](const std::string& sentence) { EXPECT_NE(text.find(sentence), std::string::npos) << sentence; };
  const auto count = [&](const char* key) { return totals.at(key).get<std::size_t>(); };
  has(fmt::format("{} algorithms of {} products", count("cases"), count("products")));
  has(fmt::format("{} identified, {} ambiguous, {} unexplained", count("identified"), count("ambiguous"),
                  count("unexplained")));
  const auto predicted = [&](const char* key) { return totals.at("predicted").at(key).get<std::size_t>(); };
  has(fmt::format("right for {} algorithms, wrong for {}, and declines {}", predicted("right"), predicted("wrong"),
                  predicted("declined")));
}

TEST(RecordedProducts, SayWhereTheyComeFrom) {
  const ordered_json& source = record().at("source");
  for (const char* key : {"library", "device", "driver", "cuda", "date"})
    EXPECT_FALSE(source.at(key).get<std::string>().empty()) << key;
}

}  // namespace
}  // namespace tcnum
