// Recorded products of cuBLASLt (vectors/ARCH/gemm*.json): the plans that were found give the same bits again, from
// operands that are made anew.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "labels.hpp"
#include "recorded_products.hpp"
#include "seed_of_run.hpp"
#include "src/files/json_fields.hpp"
#include "src/gemm/plan_search.hpp"
#include "src/questions/stream.hpp"
#include "tcnum/gemm_fit.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
using test::family_named;
using test::subject_of;

ordered_json survey(const std::string& path) { return read_json_file(path, test::kSurveySchema); }

struct Replayed {
  std::size_t products = 0, tails = 0, elements = 0;
};

/// Makes the recorded products of more multiply-accumulates than one number and of no more than the other again: one in
/// so many, which the seed says.
Replayed replay(std::size_t more_than, std::size_t most, std::size_t one_in) {
  Replayed all;
  std::size_t index = 0;
  for (const std::string& path : test::kSurveys) {
    const ordered_json record = survey(path);
    for (const ordered_json& entry : record.at("cases")) {
      if (entry.at("verdict") == "unexplained") continue;
      const GemmSubject subject = subject_of(entry);
      const GemmPlan plan = plan_from_json(entry.at("plan"), "plan");
      // Blocks of D are left over where there are many.
      const bool has_tail = plan.split_k && plan.split_k->tail;
      const std::size_t products = subject.m * subject.n * subject.k / (has_tail ? 4 : 1);
      if (products <= more_than || products > most || !test::is_of_run(index++, one_in)) continue;
      // The last product had no part in choosing the plan.
      const ordered_json& asked = entry.at("asked").back();
      const GemmOperands operands = make_operands(subject, family_named(asked.at("family")), asked.at("seed"));
      const Matrix d = gemm(plan, operands.a, operands.b, {}, {.threads = 2});
      EXPECT_EQ(fmt::format("{:#018x}", digest(d.codes(), 0)), asked.at("digest").get<std::string>()) << entry.dump();
      ++all.products;
      all.tails += has_tail ? 1 : 0;
      all.elements += subject.m * subject.n;
    }
  }
  return all;
}

constexpr std::size_t kLarge = std::size_t{1} << 23;

TEST(RecordedProducts, AreWhatTheirPlansGive) {
  const Replayed all = replay(0, kLarge, 2);
  EXPECT_GT(all.products, 100u);
  EXPECT_GT(all.elements, 500'000u);
}

TEST(RecordedProducts, LargeOnesAreWhatTheirPlansGive) {
  TCNUM_TAKES_LONG();
  const Replayed all = replay(kLarge, std::size_t{1} << 27, 4);
  EXPECT_GT(all.products, 60u);
  EXPECT_GT(all.tails, 0u);
  EXPECT_GT(all.elements, 2'000'000u);
}

/// Every algorithm whose plan was found has no element that is not as the plan says.
TEST(RecordedProducts, AreRightOrDeclined) {
  for (const std::string& path : test::kSurveys) {
    const ordered_json record = survey(path);
    std::map<std::string, std::size_t> verdicts;
    for (const ordered_json& entry : record.at("cases")) {
      const std::string verdict = entry.at("verdict");
      verdicts[verdict] += entry.at("algorithms").size();
      if (verdict != "unexplained") {
        EXPECT_EQ(entry.at("mismatches"), 0) << entry.dump();
      }
    }
    for (const char* verdict : {"identified", "ambiguous", "unexplained"})
      EXPECT_EQ(verdicts[verdict], record.at("totals").at(verdict).get<std::size_t>()) << verdict << " in " << path;
  }
}

TEST(RecordedProducts, AreWhatTheDocumentationCounts) {
  std::ifstream file(TCNUM_SOURCE_DIR "/docs/cublaslt.md");
  std::string text(std::istreambuf_iterator<char>(file), {});
  for (const std::string& path : test::kSurveys) {
    const ordered_json totals = survey(path).at("totals");
    std::string counts;
    for (const char* key : {"cases", "products", "identified", "ambiguous", "unexplained"})
      counts += fmt::format(" | {}", totals.at(key).get<std::size_t>());
    for (const char* key : {"right", "wrong", "declined"})
      counts += fmt::format(" | {}", totals.at("predicted").value(key, std::size_t{0}));
    const std::string name = path.substr(path.rfind('/') + 1);
    const std::size_t row = text.find("| `" + name + "` |");
    ASSERT_NE(row, std::string::npos) << name;
    EXPECT_TRUE(text.substr(row, text.find('\n', row) - row).ends_with(counts + " |"))
        << name << ": expected what docs/update_blocks.sh surveys writes";
  }
}

TEST(RecordedProducts, SayWhereTheyComeFrom) {
  for (const std::string& path : test::kSurveys) {
    const ordered_json source = survey(path).at("source");
    for (const char* key : {"library", "device", "driver", "cuda", "date"})
      EXPECT_FALSE(source.at(key).get<std::string>().empty()) << key << " of " << path;
  }
}

}  // namespace
}  // namespace tcnum
