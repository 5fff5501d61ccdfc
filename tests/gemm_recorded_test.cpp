// Recorded products of cuBLASLt (vectors/ARCH/gemm.json): the plans that were found give the same bits again, from
// operands that are made anew.
#include <gtest/gtest.h>

#include <fmt/format.h>

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
    if (verdict == "unexplained") continue;
    const GemmSubject subject = subject_of(entry);
    const GemmPlan plan = plan_from_json(entry.at("plan"), "plan");
    // The last product had no part in choosing the plan.
    const ordered_json& asked = entry.at("asked").back();
    const GemmOperands operands = make_operands(subject, family_named(asked.at("family")), asked.at("seed"));
    const Matrix d = gemm(plan, operands.a, operands.b, {}, {.threads = 2});
    ASSERT_EQ(fmt::format("{:#018x}", digest(d.codes(), 0)), asked.at("digest").get<std::string>()) << entry.dump();
    ++replayed;
    elements += subject.m * subject.n;
  }
  EXPECT_GT(replayed, 20u);
  EXPECT_GT(elements, 1'000'000u);
  EXPECT_GT(verdicts["identified"] + verdicts["ambiguous"], 130u);
  EXPECT_EQ(verdicts["identified"], record().at("totals").at("identified").get<std::size_t>());
  EXPECT_EQ(verdicts["unexplained"], record().at("totals").at("unexplained").get<std::size_t>());
}

TEST(RecordedProducts, SayWhereTheyComeFrom) {
  const ordered_json& source = record().at("source");
  for (const char* key : {"library", "device", "driver", "cuda", "date"})
    EXPECT_FALSE(source.at(key).get<std::string>().empty()) << key;
}

}  // namespace
}  // namespace tcnum
