// Blind recovery: datapaths drawn from the space, hidden behind an oracle; and datapaths that are not in it.
// Labels: long parts=2
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <iostream>
#include <random>

#include <fmt/format.h>

#include "blind.hpp"
#include "draw.hpp"
#include "seed_of_run.hpp"
#include "src/fit/fit.hpp"
#include "src/oracles/datapath_oracle.hpp"

namespace tcnum {
namespace {

// Small k keeps a fit short; the properties are the same for every k, and only the structures are fewer.
constexpr std::array kInstructions = {"mma.m8n8k4.f32.f16.f16.f32",    "mma.m8n8k4.f16.f16.f16.f16",
                                      "mma.m16n8k4.f32.tf32.tf32.f32", "mma.m16n8k4.f64.f64.f64.f64",
                                      "mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k8.f32.f16.f16.f32"};
constexpr int kShards = 1;  // of RapidCheck's 100 draws, for each of the parts of which a run takes one
constexpr std::size_t kSearchTiles = 60;

class Blind : public testing::TestWithParam<int> {};

TEST_P(Blind, TheFitReturnsTheClassOfTheHiddenDatapath) {
  int drawn = 0, identified = 0;
  ASSERT_TRUE(rc::check([&] {
    const auto seed = *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(GetParam()));
    const Instruction& instruction = *find_instruction(kInstructions[random() % kInstructions.size()]);
    const Space space(instruction);
    const Choice hidden = space.canonical(draw(space, random));
    DatapathOracle oracle(space.datapath(hidden), instruction, "hidden", 1);
    Fit fit(instruction, &oracle, quick_options(kSearchTiles));
    const FitResult result = fit.run();
    RC_LOG() << instruction.name();

    RC_ASSERT(result.verdict != Verdict::unexplained);
    RC_ASSERT(result.mismatches == 0u);
    ++drawn;
    if (result.verdict == Verdict::identified) {
      // In the fit's space: an order of products that it has found may be the one to stand for the class.
      RC_ASSERT(result.choice == fit.space().canonical(hidden));
      ++identified;
      return;
    }
    RC_ASSERT(leaves_open(result, hidden));
  }));
  RecordProperty("identified", identified);
  // About one in a thousand differs from another only where the search comes by too rarely (docs/equivalence.md).
  EXPECT_GE(identified * 100, drawn * 99) << identified << " of " << drawn;
  std::cout << identified << " of " << drawn << " identified, the others left open\n";
}

const int kFirstShard = kShards * static_cast<int>(test::part_of_run());
INSTANTIATE_TEST_SUITE_P(Draws, Blind, testing::Range(kFirstShard, kFirstShard + kShards));

/// Of a wider c, sums may be rounded to its format first; a narrower one may be converted before it is aligned.
TEST(Blind, AccumulatorsOfAnotherFormatAreNoObstacle) {
  constexpr int kDraws = 20;
  int identified = 0;
  for (int seed = 1; seed <= kDraws; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const Instruction& instruction =
        *find_instruction(seed % 5 != 0 ? "mma.m8n8k4.f32.f16.f16.f16" : "wmma.m16n16k16.f16.f16.f16.f32");
    const Space space(instruction);
    const Choice hidden = space.canonical(draw(space, random));
    DatapathOracle oracle(space.datapath(hidden), instruction, "hidden", 1);
    Fit fit(instruction, &oracle, quick_options(kSearchTiles));
    const FitResult result = fit.run();
    SCOPED_TRACE(fmt::format("{}, draw {}", instruction.name(), seed));
    EXPECT_EQ(result.mismatches, 0u);
    if (result.verdict == Verdict::identified) {
      EXPECT_EQ(result.choice, fit.space().canonical(hidden));
      ++identified;
    } else {
      EXPECT_EQ(result.verdict, Verdict::ambiguous);
      EXPECT_TRUE(leaves_open(result, hidden));
    }
  }
  EXPECT_GE(identified, kDraws - 1);  // as many as of the others, within what so few draws can tell
}

TEST(Blind, DatapathsOutsideTheSpaceAreUnexplained) {
  const Instruction& instruction = *find_instruction("mma.m16n8k8.f32.f16.f16.f32");
  const Space space(instruction);
  Choice inside{};
  Space::set(inside, Property::structure, space.find_structure(Combination::chain, 8, {}).value());
  space.put<Property::fraction_bits>(inside, 25);
  std::vector<Datapath> outside(4, space.datapath(inside));
  outside[0].numerics.units[0].first_fraction_bits = 22;       // c cut elsewhere than the products
  outside[1].numerics.units[0].align_rounding = Rounding::up;  // a rounding that the space lacks
  outside[2].numerics.units[0].fraction_bits = 36;             // wider than any in the space
  outside[3].tree.nodes = {
      {0, {{Term::Kind::accumulator, 0}, {Term::Kind::product, 0}, {Term::Kind::product, 1}, {Term::Kind::product, 2}}},
      {0,
       {{Term::Kind::node, 0},
        {Term::Kind::product, 3},
        {Term::Kind::product, 4},
        {Term::Kind::product, 5},
        {Term::Kind::product, 6},
        {Term::Kind::product, 7}}}};  // blocks of 3 and 5
  for (std::size_t i = 0; i < outside.size(); ++i) {
    if (!test::is_of_run(i, 2)) continue;
    validate(outside[i]);
    DatapathOracle oracle(outside[i], instruction, "hidden", 1);
    Fit fit(instruction, &oracle, quick_options(kSearchTiles));
    const FitResult result = fit.run();
    EXPECT_EQ(result.verdict, Verdict::unexplained) << i;
    EXPECT_GT(result.mismatches, 0u) << i;
    EXPECT_TRUE(result.counterexample.has_value()) << i;
  }
}

}  // namespace
}  // namespace tcnum
