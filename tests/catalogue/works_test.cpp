// What is published of an instruction, held against answers: what refutes it, and what the catalogue says of that.
#include "src/report/probe_report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "src/questions/packing.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFp8 = "wgmma.m64n8k32.f32.e4m3.e4m3";
constexpr std::uint64_t kOne = 0x38, kSixteen = 0x58, kMinusSixteen = 0xd8, kSmallest = 0x01;  // of e4m3

const Datapath& measured(const Instruction& in) {
  static std::vector<CatalogueEntry> entries;
  entries = catalogue(ArchId::sm_90, in);
  return entries.front().datapath;
}

CatalogueEntry planted(const Instruction& in, Datapath datapath) {
  CatalogueEntry entry;
  entry.arch = ArchId::sm_90;
  entry.instruction = &in;
  entry.datapath = std::move(datapath);
  entry.account = "planted";
  entry.origin = "this test";
  return entry;
}

/// Answers of the measured datapath, each problem a tile of its own.
Tiles answered(const Instruction& in, const std::vector<Problem>& problems) {
  Tiles tiles = tiles_of(in, problems.size(), 1, 1, [&](std::size_t t) { return problems[t]; });
  Emulator(measured(in)).run(tiles);
  return tiles;
}

/// Products from slot 0 on; the others are zero.
Problem problem_of(const Instruction& in, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& products,
                   std::uint64_t c) {
  const auto k = static_cast<std::size_t>(in.products());
  Problem problem{std::vector<std::uint64_t>(k), std::vector<std::uint64_t>(k), c};
  for (std::size_t i = 0; i < products.size(); ++i) std::tie(problem.a[i], problem.b[i]) = products[i];
  return problem;
}

/// 256 − 256 + 2^-9 with the small product in some slot: 17 bits below the largest, which 13 lose and 17 keep.
std::vector<Problem> problems(const Instruction& in) {
  constexpr std::uint64_t kC = 0x3f800000;
  return {problem_of(in, {{kOne, kOne}}, 0),
          problem_of(in, {{kSixteen, kSixteen}, {kMinusSixteen, kSixteen}, {kSmallest, kOne}, {kOne, kOne}}, kC),
          problem_of(in, {{kSixteen, kSixteen}, {kMinusSixteen, kSixteen}, {kSmallest, kOne}}, 0),
          problem_of(in, {{kSixteen, kSixteen}, {kMinusSixteen, kSixteen}, {kSmallest, kOne}, {kOne, kOne}}, 0)};
}

TEST(Works, APlantedAccountIsRefutedByTheSmallestAnswer) {
  const Instruction& in = *find_instruction(kFp8);
  Datapath wrong = measured(in);
  wrong.numerics.units[0].fraction_bits = 17;
  const std::vector<CatalogueEntry> accounts = {catalogue(ArchId::sm_90, in).front(), planted(in, wrong),
                                                planted(in, measured(in))};
  const PublishedFindings found = judge_published(in, accounts, {}, answered(in, problems(in)), "a file");
  EXPECT_EQ(found.answers, 4u);
  ASSERT_EQ(found.accounts.size(), 2u);
  const AccountFinding& account = found.accounts[0];
  ASSERT_TRUE(account.by.refutation);
  EXPECT_EQ(account.by.mismatches, 3u);
  EXPECT_EQ(account.by.refutation->probe, 2u) << "the fewest terms";
  EXPECT_EQ(account.by.refutation->observed, 0u);
  EXPECT_EQ(account.by.refutation->expected, 0x3b000000u) << "2^-9";
  EXPECT_EQ(account.by.refutation->problem, problems(in)[2]);
  ASSERT_EQ(account.fields.size(), 1u);
  EXPECT_TRUE(account.fields[0].field.ends_with(".fraction_bits")) << account.fields[0].field;
  EXPECT_EQ(account.fields[0].says, "17");
  EXPECT_EQ(account.fields[0].measured, "13");
  EXPECT_EQ(account.fields[0].by.mismatches, 3u);
  EXPECT_FALSE(found.accounts[1].by.refutation);
  EXPECT_TRUE(found.accounts[1].fields.empty());
}

TEST(Works, AnAccountThatIsAnotherDatapathIsRefutedAsAWhole) {
  const Instruction &in = *find_instruction("mma.m16n8k32.f32.e4m3.e4m3.f32"), &wgmma = *find_instruction(kFp8);
  const std::vector<CatalogueEntry> accounts = {catalogue(ArchId::sm_90, in).front(), planted(in, measured(wgmma))};
  const PublishedFindings found = judge_published(in, accounts, {}, answered(in, problems(in)), "a file");
  ASSERT_EQ(found.accounts.size(), 1u);
  EXPECT_TRUE(found.accounts[0].by.refutation);
  EXPECT_TRUE(found.accounts[0].fields.empty());
  EXPECT_NE(works_text({found}, "sm_90").find("refuted [1]"), std::string::npos);
}

TEST(Works, AnAccountIsRightButForWhatIsRefutedByItself) {
  const Instruction& in = *find_instruction(kFp8);
  const CatalogueEntry first = catalogue(ArchId::sm_90, in).front();
  constexpr std::uint64_t kNan = 0x7f, kSmallestNormal = 0x08;
  // 1 + 2^-15 is lost by the cut or by the rounding: who keeps it must have both otherwise.
  const std::vector<Problem> asked = {problem_of(in, {{kNan, kOne}}, 0),
                                      problem_of(in, {{kOne, kOne}, {kSmallest, kSmallestNormal}}, 0)};
  const auto found = [&](const Datapath& datapath) {
    return judge_published(in, {first, planted(in, datapath)}, {}, answered(in, asked), "a file").accounts.at(0);
  };
  Datapath wrong = first.datapath;
  wrong.numerics.nan.code = 0x7fc0'0000;
  wrong.numerics.units[0].fraction_bits = 17;
  const AccountFinding but_for_nan = found(wrong);
  ASSERT_EQ(but_for_nan.fields.size(), 1u);
  EXPECT_NE(but_for_nan.fields[0].field.find("nan"), std::string::npos);
  EXPECT_EQ(but_for_nan.by.mismatches, 1u);
  wrong.numerics.units[0].result.step[0].fraction_bits = 23;
  const AccountFinding whole = found(wrong);
  EXPECT_EQ(whole.by.mismatches, 2u);
  EXPECT_TRUE(whole.fields.empty());
}

TEST(Works, AStatementIsSettledOpenOrRefuted) {
  const Instruction& in = *find_instruction(kFp8);
  const std::vector<CatalogueEntry> accounts = {catalogue(ArchId::sm_90, in).front()};
  Statement says{ArchId::sm_90, kFp8, "planted", "this test", "here", "so many", {StatedProperty::fraction_bits, 13}};
  const auto judged = [&](int bits, const std::vector<Problem>& asked) {
    says.read_as.value = bits;
    return judge_published(in, accounts, {&says}, answered(in, asked), "a file").statements.at(0);
  };
  // 2^-5 is 13 bits below 256, 2^-6 is 14.
  const auto below = [&](std::uint64_t small) {
    return problem_of(in, {{kSixteen, kSixteen}, {kMinusSixteen, kSixteen}, {small, kOne}}, 0);
  };
  const Problem kept = below(0x10), lost = below(0x08);
  const StatementFinding settled = judged(13, {kept, lost}), open = judged(13, {kept}),
                         refuted = judged(14, {kept, lost});
  EXPECT_EQ(settled.verdict, StatementVerdict::holds);
  ASSERT_EQ(settled.alternatives.size(), 2u);
  EXPECT_EQ(settled.alternatives[0].value.text(), "12");
  EXPECT_EQ(settled.alternatives[0].by.refutation.value().probe, 0u);
  EXPECT_EQ(settled.alternatives[1].by.refutation.value().probe, 1u);
  EXPECT_EQ(open.verdict, StatementVerdict::open) << "14 explains it, too";
  EXPECT_EQ(refuted.verdict, StatementVerdict::refuted);
  EXPECT_EQ(refuted.by.refutation.value().probe, 1u);
  EXPECT_EQ(refuted.measured.text(), "13");
  says.read_as = {StatedProperty::block_k, 32};
  const Instruction& composed = *find_instruction("mma.m16n8k32.f32.e4m3.e4m3.f32");
  EXPECT_THROW(judge_published(composed, {catalogue(ArchId::sm_90, composed).front()}, {&says},
                               answered(composed, {problem_of(composed, {}, 0)}), "a file"),
               std::logic_error);
}

TEST(Works, StatementsAreOfTheTablesInstructionsAndOfWhatTheyHave) {
  ASSERT_FALSE(statements().empty());
  for (const Statement& each : statements()) {
    SCOPED_TRACE(each.says);
    const Instruction* const in = find_instruction(each.instruction);
    ASSERT_NE(in, nullptr);
    const Datapath datapath = catalogue(each.arch, *in).at(0).datapath;
    const StatedProperty property = each.read_as.property;
    const StatedValue own = stated_value(datapath, property).value();
    EXPECT_EQ(with(datapath, own).value(), datapath);
    EXPECT_FALSE(each.read_as.alternatives().empty());
    for (const StatedValue& other : own.alternatives()) {
      const Datapath changed = with(datapath, other).value();
      EXPECT_NO_THROW(validate(changed));
      EXPECT_EQ(stated_value(changed, property), other);
      EXPECT_NE(changed, datapath);
    }
    for (const std::string_view text : {each.work, each.origin, each.where, each.says}) EXPECT_FALSE(text.empty());
  }
}

/// The rows of the catalogue that say so, and no others.
TEST(Works, RecordedAnswersRefuteWhatIsMarkedSoAndNothingElse) {
  std::size_t checked = 0, refuted = 0;
  for (const Instruction* in : instructions_of(ArchId::sm_90)) {
    const std::vector<CatalogueEntry> accounts = catalogue(ArchId::sm_90, *in);
    if (accounts.size() < 2 || recorded_as(*in) != in->name()) continue;
    ASSERT_TRUE(accounts.front().fitted) << in->name();
    Vectors vectors = read_vectors(fmt::format("{}/vectors/sm_90/{}.safetensors", TCNUM_SOURCE_DIR, in->name()));
    const PublishedFindings found =
        judge_published(*in, accounts, {}, dot_problems(std::move(vectors.tiles), vectors.metadata), "");
    ASSERT_EQ(found.accounts.size(), accounts.size() - 1);
    for (std::size_t i = 0; i < found.accounts.size(); ++i) {
      ++checked;
      refuted += found.accounts[i].by.refutation ? 1 : 0;
      EXPECT_EQ(found.accounts[i].by.refutation.has_value(), !accounts[i + 1].refuted_by.empty())
          << in->name() << ": " << found.accounts[i].account;
    }
  }
  EXPECT_GT(checked, 35u);
  EXPECT_GT(refuted, 15u);
  EXPECT_LT(refuted, checked);
}

}  // namespace
}  // namespace tcnum
