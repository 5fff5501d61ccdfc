// The fit as its users see it, and the table of properties that it works from.
#include "tcnum/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "blind.hpp"
#include "draw.hpp"
#include "refusal.hpp"
#include "src/fit/space.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"

namespace tcnum::fit_test {
namespace {

const Instruction& small_instruction() { return *find_instruction("mma.m8n8k4.f32.f16.f16.f32"); }

constexpr std::size_t kSearchTiles = 60;

/// One fused sum of 25 bits.
Choice hidden_choice(const Space& space) {
  Choice c{};
  Space::set(c, Property::structure, find_structure(space, Combination::chain, small_instruction().products()));
  space.put<Property::fraction_bits>(c, 25);
  space.put<Property::overflow>(c, Overflow::max_finite);
  return c;
}

TEST(FitDatapath, FindsAHiddenDatapathAndFindsItAgainInTheAnswers) {
  const Instruction& in = small_instruction();
  const Space space(in);
  const Datapath hidden = space.datapath(space.canonical(hidden_choice(space)));
  DatapathOracle oracle(hidden, in, "hidden", 1);
  const FittedDatapath live = fit_datapath(in, oracle, quick_options(kSearchTiles));
  EXPECT_EQ(live.verdict, Verdict::identified);
  EXPECT_EQ(live.datapath, hidden);
  EXPECT_EQ(live.mismatches, 0u);
  EXPECT_TRUE(live.open.empty());
  EXPECT_FALSE(live.counterexample.has_value());
  EXPECT_GT(live.considered, 1e5);
  const auto widths = std::ranges::count(live.refuted, "fraction_bits", &RefutedValue::property);
  EXPECT_GT(widths, 10);
  for (const RefutedValue& r : live.refuted) {
    ASSERT_LT(r.answer, live.answers.size());
    EXPECT_EQ(live.answers.d[r.answer], r.observed);
    EXPECT_NE(r.expected, r.observed);
  }

  const FittedDatapath again = fit_datapath(in, live.answers, quick_options(kSearchTiles));
  EXPECT_EQ(again.verdict, Verdict::identified);
  EXPECT_EQ(again.datapath, hidden);
}

TEST(FitDatapath, SaysWhatItIsAtAndStopsWhenTold) {
  const Instruction& in = small_instruction();
  const Space space(in);
  const Datapath hidden = space.datapath(space.canonical(hidden_choice(space)));
  DatapathOracle oracle(hidden, in, "hidden", 1);
  FitOptions options = quick_options(kSearchTiles);
  std::vector<std::string> phases;
  options.progress = [&](const FitProgress& at) {
    if (phases.empty() || phases.back() != at.phase) phases.emplace_back(at.phase);
    EXPECT_TRUE(at.all == 0 || at.done <= at.all) << at.phase;
    return true;
  };
  const FittedDatapath found = fit_datapath(in, oracle, options);
  EXPECT_EQ(phases.front(), "asking");
  EXPECT_EQ(phases.back(), "judging properties");
  for (const std::string phase : {"searching structures", "deciding edge rules", "doubting"})
    EXPECT_GE(std::ranges::count(phases, phase), 1) << phase;
  for (const std::string& last : std::set<std::string>(phases.begin(), phases.end())) {
    options.progress = [&](const FitProgress& at) { return at.phase != last; };
    EXPECT_THROW(fit_datapath(in, oracle, options), FitStopped) << last;
  }
  options.progress = [](const FitProgress&) { return false; };
  EXPECT_THROW(fit_datapath(in, found.answers, options), FitStopped);
}

/// Of a datapath beyond the space: how many answers the nearest gets wrong, and a small one of them.
TEST(FitDatapath, SaysHowFarTheNearestIsOff) {
  const Instruction& in = small_instruction();
  const Space space(in);
  Datapath hidden = space.datapath(space.canonical(hidden_choice(space)));
  hidden.numerics.units[0].first_fraction_bits = 12;  // c alone is cut further up
  DatapathOracle oracle(hidden, in, "hidden", 1);
  const FittedDatapath found = fit_datapath(in, oracle, quick_options(kSearchTiles));
  EXPECT_EQ(found.verdict, Verdict::unexplained);
  Tiles nearest = found.answers;
  Emulator(found.datapath).run(nearest);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < nearest.size(); ++i) wrong += nearest.d[i] != found.answers.d[i] ? 1 : 0;
  EXPECT_GT(wrong, 0u);
  EXPECT_EQ(found.mismatches, wrong);
  ASSERT_TRUE(found.counterexample.has_value());
  Tiles tile = make_tiles(in.a, in.b, in.c, in.d, 1, 1, 1, 4);
  for (std::size_t k = 0; k < tile.k; ++k) {
    tile.a.set(k, found.counterexample->problem.a[k]);
    tile.b.set(k, found.counterexample->problem.b[k]);
  }
  tile.c.set(0, found.counterexample->problem.c);
  Emulator(hidden).run(tile);
  EXPECT_EQ(tile.d[0], found.counterexample->observed);
  Emulator(found.datapath).run(tile);
  EXPECT_EQ(tile.d[0], found.counterexample->expected);
  EXPECT_NE(found.counterexample->observed, found.counterexample->expected);
}

TEST(FitDatapath, SaysWhatIsStillOpen) {
  // Ones alone: they add up in every order and with any number of bits.
  const Instruction& in = small_instruction();
  Tiles tiles = make_tiles(in.a, in.b, in.c, in.d, 1, 8, 8, 4);
  const std::uint64_t one = 0x3c00, four = 0x40800000;
  for (std::size_t i = 0; i < tiles.a.size(); ++i) tiles.a.set(i, one);
  for (std::size_t i = 0; i < tiles.b.size(); ++i) tiles.b.set(i, one);
  for (std::size_t i = 0; i < tiles.d.size(); ++i) tiles.d.set(i, four);
  const FittedDatapath found = fit_datapath(in, tiles, quick_options(kSearchTiles));
  EXPECT_EQ(found.verdict, Verdict::ambiguous);
  EXPECT_EQ(found.mismatches, 0u);
  EXPECT_TRUE(std::ranges::any_of(found.open, [](const OpenProperty& open) { return open.property == "structure"; }));
}

TEST(FitDatapath, ProblemsOfAnotherInstructionAreRefused) {
  const Instruction& in = small_instruction();
  const auto message = [&](const Tiles& tiles) { return refusal([&] { return fit_datapath(in, tiles); }); };
  EXPECT_EQ(message(make_tiles(in.a, in.b, FormatId::fp16, in.d, 1, 8, 8, 4)),
            "fit_datapath: tiles.c_format: is fp16; expected fp32, as mma.m8n8k4.f32.f16.f16.f32 has it");
  EXPECT_EQ(message(make_tiles(in.a, in.b, in.c, in.d, 1, 8, 8, 8)),
            "fit_datapath: tiles.k: is 8; expected 4, the products of mma.m8n8k4.f32.f16.f16.f32");
  EXPECT_EQ(message(make_tiles(in.a, in.b, in.c, in.d, 0, 8, 8, 4)),
            "fit_datapath: tiles.count: is 0; expected at least one answer");
}

/// Between them they have every value that a property can have.
constexpr std::array kInstructions = {
    "mma.m8n8k4.f32.f16.f16.f32",          "mma.m16n8k4.f32.tf32.tf32.f32",
    "mma.m8n8k4.f64.f64.f64.f64",          "wmma.m16n16k16.f16.f16.f16.f32",
    "wmma.m16n16k16.f32.f16.f16.f16",      "mma.m8n8k16.s32.s8.s8.s32",
    "mma.m8n8k128.s32.b1.b1.s32.and.popc", "mma.m16n8k32.mxf8f6f4.1x.f32.e4m3.e4m3.f32.ue8m0"};

class Properties : public testing::TestWithParam<PropertyRow> {};

TEST_P(Properties, HaveValuesWithWordsOfTheirOwn) {
  const Property property = GetParam().property;
  for (const char* instruction : kInstructions) {
    Space space(*find_instruction(instruction));
    (void)widen_fully(space);
    ASSERT_GT(space.count(property), 0) << "Space gives it no value: " << instruction;
    std::set<std::string> texts;
    for (int v = 0; v < space.count(property); ++v) texts.insert(space.value_text(property, v));
    EXPECT_EQ(texts.size(), static_cast<std::size_t>(space.count(property))) << instruction;
    EXPECT_FALSE(texts.contains("")) << instruction;
  }
}

TEST_P(Properties, ChangeTheDatapath) {
  const Property property = GetParam().property;
  std::mt19937_64 random(1);
  bool changed = false;
  for (const char* instruction : kInstructions) {
    Space space(*find_instruction(instruction));
    (void)widen_fully(space);
    constexpr int kDraws = 100;
    for (int n = 0; n < kDraws && !changed && space.count(property) > 1; ++n) {
      const Choice c = draw(space, random);
      for (int v = 0; v < space.count(property) && !changed; ++v) {
        Choice other = c;
        Space::set(other, property, v);
        changed = space.contains(other) && space.datapath(other) != space.datapath(c);
      }
    }
  }
  EXPECT_TRUE(changed) << "Space::numerics does not ask for it";
}

std::string text_of_file(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(std::string(TCNUM_SOURCE_DIR) + path).rdbuf();
  return text.str();
}

TEST_P(Properties, AreDescribed) {
  const std::string name(GetParam().name), question(GetParam().question);
  EXPECT_NE(text_of_file("/docs/space.md").find("| `" + name + "` |"), std::string::npos)
      << "docs/space.md has no row for it";
  EXPECT_NE(text_of_file("/docs/report.md").find("| " + name + " | " + question), std::string::npos)
      << "docs/report.md does not ask its question";
}

INSTANTIATE_TEST_SUITE_P(Table, Properties, testing::ValuesIn(kPropertyTable),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

}  // namespace
}  // namespace tcnum::fit_test
