// Blind recovery: datapaths drawn from the space, hidden behind an oracle; and datapaths that are not in it.
#include <gtest/gtest.h>

#include <random>

#include <fmt/format.h>

#include "datapath_oracle.hpp"
#include "tcnum/fit.hpp"

namespace tcnum {
namespace {

// Small k keeps a fit short; the properties are the same for every k, and only the structures are fewer.
constexpr std::array kInstructions = {"mma.m8n8k4.f32.f16.f16.f32",   "mma.m8n8k4.f16.f16.f16.f16", "mma.m16n8k4.f32.tf32.tf32.f32",
                                      "mma.m8n8k4.f64.f64.f64.f64",   "mma.m8n8k4.f32.f16.f16.f32", "mma.m16n8k4.f32.tf32.tf32.f32",
                                      "mma.m8n8k4.f16.f16.f16.f16",   "mma.m16n8k4.f64.f64.f64.f64", "mma.m16n8k4.f32.tf32.tf32.f32",
                                      "mma.m16n8k8.f32.bf16.bf16.f32"};
constexpr int kShards = 6, kDraws = 125;  // 750 in all

Choice draw(const Space& space, std::mt19937_64& random) {
  Choice c{};
  do {
    for (std::size_t i = 0; i < kProperties; ++i) {
      const auto count = static_cast<std::uint64_t>(space.count(static_cast<Property>(i)));
      c[i] = static_cast<std::int32_t>(random() % count);
    }
  } while (!space.contains(c));
  return c;
}

FitOptions quick_options() {
  FitOptions options;
  options.search_tiles = 24;
  options.tiles_per_family = 8;
  return options;
}

class Blind : public testing::TestWithParam<int> {};

TEST_P(Blind, TheHiddenDatapathIsNeverMissed) {
  int identified = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam() * kDraws + i);
    std::mt19937_64 random(seed);
    const Instruction& instruction = *find_instruction(kInstructions[seed % kInstructions.size()]);
    const Space space(instruction);
    const Choice hidden = space.canonical(draw(space, random));
    DatapathOracle oracle(space.datapath(hidden), instruction, "hidden", 1);
    Fit fit(instruction, &oracle, quick_options());
    const FitResult result = fit.run();
    const std::string where = fmt::format("{} seed {}", instruction.name(), seed);

    ASSERT_NE(result.verdict, Verdict::unexplained) << where;
    ASSERT_EQ(result.mismatches, 0u) << where;
    if (result.verdict == Verdict::identified) {
      // The class of what was hidden, and no other.
      ASSERT_EQ(result.choice, hidden) << where;
      ++identified;
      continue;
    }
    // Otherwise what was hidden is among what is still open, and nothing is claimed beyond that.
    for (std::size_t p = 0; p < kProperties; ++p) {
      const auto property = static_cast<Property>(p);
      if (result.choice[p] == hidden[p]) continue;
      bool listed = false;
      for (const Undetermined& open : result.undetermined) {
        if (open.property != property) continue;
        const std::string value = space.value_text(property, hidden[p]);
        listed = std::find(open.values.begin(), open.values.end(), value) != open.values.end();
      }
      ASSERT_TRUE(listed) << where << " " << name(property);
    }
  }
  RecordProperty("identified", identified);
  // Draws of every combination often differ from their neighbours in ways that only a search far longer than this one
  // could show; those are "ambiguous".
  EXPECT_GT(identified, kDraws / 8);
}

INSTANTIATE_TEST_SUITE_P(Draws, Blind, testing::Range(0, kShards));

TEST(Blind, DatapathsOutsideTheSpaceAreUnexplained) {
  const Instruction& instruction = *find_instruction("mma.m16n8k8.f32.f16.f16.f32");
  const Space space(instruction);
  Choice inside{};
  const auto pick = [&](Property property, std::string_view text) {
    for (int v = 0; v < space.count(property); ++v) {
      if (space.value_text(property, v) == text) Space::set(inside, property, v);
    }
  };
  pick(Property::fraction_bits, "25");
  Space::set(inside, Property::structure, 0);
  for (int s = 0; s < space.count(Property::structure); ++s) {
    if (space.structures()[static_cast<std::size_t>(s)].blocks.size() == 1 && !space.structures()[static_cast<std::size_t>(s)].adds_apart()) {
      Space::set(inside, Property::structure, s);
    }
  }
  std::vector<Datapath> outside(4, space.datapath(inside));
  outside[0].numerics.units[0].first_fraction_bits = 22;                       // c cut elsewhere than the products
  outside[1].numerics.units[0].align_rounding = Rounding::up;                  // a rounding that the space lacks
  outside[2].numerics.units[0].fraction_bits = 36;                             // wider than any in the space
  outside[3].tree.nodes = {{0, {{Term::Kind::accumulator, 0}, {Term::Kind::product, 0}, {Term::Kind::product, 1}, {Term::Kind::product, 2}}},
                           {0, {{Term::Kind::node, 0}, {Term::Kind::product, 3}, {Term::Kind::product, 4}, {Term::Kind::product, 5}, {Term::Kind::product, 6}, {Term::Kind::product, 7}}}};  // blocks of 3 and 5
  for (std::size_t i = 0; i < outside.size(); ++i) {
    validate(outside[i]);
    DatapathOracle oracle(outside[i], instruction, "hidden", 1);
    Fit fit(instruction, &oracle, quick_options());
    const FitResult result = fit.run();
    EXPECT_EQ(result.verdict, Verdict::unexplained) << i;
    EXPECT_GT(result.mismatches, 0u) << i;
    EXPECT_TRUE(result.counterexample.has_value()) << i;
  }
}

}  // namespace
}  // namespace tcnum
