// From the recorded answers alone: the verdicts, and what the catalogue has of fits.
// Labels: long-parts parts=4
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "seed_of_run.hpp"
#include "src/fit/fit.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

/// The instructions whose answers are recorded one by one, of which a run takes one in five. (campaign_test.cpp has
/// the others.)
std::vector<const Instruction*> hopper() {
  std::vector<const Instruction*> fitted;
  for (const CatalogueEntry& entry : catalogue(ArchId::sm_90)) {
    if (entry.fitted && recorded_as(*entry.instruction) == entry.instruction->name())
      fitted.push_back(entry.instruction);
  }
  return test::those_of_run(std::move(fitted), 5);
}

Vectors recorded(const Instruction& instruction) {
  return read_vectors(fmt::format("{}/vectors/sm_90/{}.safetensors", TCNUM_SOURCE_DIR, instruction.name()));
}

class Recorded : public testing::TestWithParam<const Instruction*> {};

TEST_P(Recorded, AnswersIdentifyTheDatapathOfTheCatalogue) {
  const Instruction& instruction = *GetParam();
  Vectors vectors = recorded(instruction);
  for (const char* key : {"driver", "cuda", "date"}) EXPECT_TRUE(vectors.metadata.contains(key)) << key;
  EXPECT_GE(vectors.tiles.size(), 10000u);

  FitOptions options;
  options.threads = 2;
  Fit fit(instruction, nullptr, options);
  fit.add_recorded(dot_problems(std::move(vectors.tiles), vectors.metadata));
  const FitResult result = fit.run();
  EXPECT_EQ(result.verdict, Verdict::identified);
  EXPECT_EQ(result.mismatches, 0u);
  // Sums of integers have few properties.
  EXPECT_GE(result.considered, instruction.d == FormatId::s32 ? 100 : 1e5);
  EXPECT_FALSE(result.rejected.empty());

  const std::vector<CatalogueEntry> entries = catalogue(ArchId::sm_90, instruction);
  ASSERT_FALSE(entries.empty());
  EXPECT_TRUE(entries[0].fitted);
  EXPECT_EQ(fit.mismatches(entries[0].datapath), 0u);
}

INSTANTIATE_TEST_SUITE_P(Sm90, Recorded, testing::ValuesIn(hopper()), [](const auto& param_info) {
  std::string name = param_info.param->name();
  for (char& c : name) c = c == '.' || c == ':' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace tcnum
