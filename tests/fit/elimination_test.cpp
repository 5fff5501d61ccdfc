// Steps of an elimination, beside what trying everything gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "draw.hpp"
#include "src/fit/steps.hpp"
#include "src/questions/stream.hpp"
#include "tcnum/emulator.hpp"

namespace tcnum::elimination_test {
namespace {

const char* const kInstructions[] = {"mma.m8n8k4.f32.f16.f16.f32", "mma.m8n8k4.f16.f16.f16.f16",
                                     "mma.m16n8k8.f32.bf16.bf16.f32", "mma.m8n8k4.f64.f64.f64.f64",
                                     "mma.m16n8k16.f16.e5m2.e5m2.f16"};

class Steps : public testing::TestWithParam<const char*> {
 protected:
  /// A few problems of one distribution, with a datapath's answers.
  void answer(const Choice& by, Distribution distribution, std::uint64_t seed, std::size_t rows) {
    Tiles tiles = make_random_tiles(space_.instruction(), distribution, seed, 0, 1, rows, rows);
    Emulator(space_.datapath(by)).run(tiles);
    evidence_.add(std::move(tiles), "drawn");
  }
  bool explains(const Choice& c) const { return evidence_.wrong_answers(space_.datapath(c)).empty(); }

  const Space space_{*find_instruction(GetParam())};
  Evidence evidence_{space_.instruction()};
};
using EdgeRules = Steps;
using Nearest = Steps;

/// All that a choice of the space becomes by other values of some properties.
std::vector<Choice> with_any(const Space& space, const Choice& choice, std::span<const Property> properties) {
  std::vector<Choice> all = {choice};
  for (const Property p : properties) {
    std::vector<Choice> more;
    for (const Choice& c : all) {
      for (int v = 0; v < space.count(p); ++v) Space::set(more.emplace_back(c), p, v);
    }
    all = std::move(more);
  }
  std::erase_if(all, [&](const Choice& c) { return !space.contains(c); });
  return all;
}

Choice without(Choice choice, std::span<const Property> properties) {
  for (const Property p : properties) Space::set(choice, p, 0);
  return choice;
}

/// Of few answers, so that much is left, and other values of a rule have others consulted.
TEST_P(EdgeRules, AreThoseThatExplainEveryAnswer) {
  std::mt19937_64 random(1);
  constexpr std::array kAsked = {Distribution::edges,        Distribution::huge,     Distribution::tiny,
                                 Distribution::signed_zeros, Distribution::specials, Distribution::uniform_bits};
  for (int round = 0; round < 30; ++round) {
    const Choice hidden = draw(space_, random);
    evidence_ = Evidence(space_.instruction());
    const std::size_t rows = 1 + random() % 2;
    for (int n = 0; n <= round % 2; ++n) answer(hidden, kAsked[random() % kAsked.size()], random(), rows);
    const Choice core = without(hidden, kEdgeRules);
    const std::vector<Survivor> survivors = decide_edge_rules(space_, evidence_, core);
    ASSERT_FALSE(survivors.empty()) << round;
    const std::vector<Property>& free = survivors.front().free;
    std::vector<Choice> found;
    for (const Survivor& each : survivors) {
      EXPECT_EQ(each.free, free);
      found.push_back(each.choice);
    }
    std::set<Choice> all;
    for (const Choice& c : with_any(space_, core, kEdgeRules)) {
      const Choice decided = without(c, free);
      if (!space_.contains(decided)) continue;
      EXPECT_EQ(explains(c), explains(decided)) << "what is free does not matter: " << testing::PrintToString(c);
      if (explains(decided)) all.insert(space_.canonical(decided));
    }
    std::ranges::sort(found);
    EXPECT_EQ(found, std::vector<Choice>(all.begin(), all.end())) << round;
  }
}

/// No change of one property mends anything.
TEST_P(Nearest, HasNoNearerNeighbour) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 10; ++round) {
    evidence_ = Evidence(space_.instruction());
    const Choice hidden = draw(space_, random), start = draw(space_, random);
    for (const Distribution distribution : {Distribution::sparse, Distribution::edges, Distribution::cancellation})
      answer(hidden, distribution, random(), 6);
    FitResult result;
    find_nearest(space_, evidence_, {start}, nullptr, result);
    EXPECT_EQ(result.mismatches, evidence_.wrong_answers(space_.datapath(result.choice)).size());
    for (std::size_t p = 0; p < kProperties; ++p) {
      Choice other = result.choice;
      for (int v = 0; v < space_.count(static_cast<Property>(p)); ++v) {
        Space::set(other, static_cast<Property>(p), v);
        if (!space_.contains(other)) continue;
        EXPECT_GE(evidence_.wrong_answers(space_.datapath(other)).size(), result.mismatches)
            << name(static_cast<Property>(p)) << " " << space_.value_text(static_cast<Property>(p), v);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Instructions, EdgeRules, testing::ValuesIn(kInstructions));
INSTANTIATE_TEST_SUITE_P(Instructions, Nearest, testing::ValuesIn(kInstructions));

}  // namespace
}  // namespace tcnum::elimination_test
