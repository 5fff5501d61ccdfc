// Counterexamples that are made small are still counterexamples, and no part of them can be left out.
#include "src/fit/minimise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "src/oracles/datapath_oracle.hpp"
#include "src/questions/stream.hpp"
#include "tcnum/catalogue.hpp"

namespace tcnum {
namespace {

/// What a datapath gives for one problem.
std::uint64_t answer_of(const Instruction& in, const Datapath& datapath, const Problem& problem) {
  Tiles tiles = make_tiles(in.a, in.b, in.c, in.d, 1, 1, 1, problem.a.size());
  for (std::size_t k = 0; k < problem.a.size(); ++k) {
    tiles.a.set(k, problem.a[k]);
    tiles.b.set(k, problem.b[k]);
  }
  tiles.c.set(0, problem.c);
  Emulator(datapath).run(tiles);
  return tiles.d[0];
}

class Minimise : public testing::TestWithParam<const char*> {};

TEST_P(Minimise, LeavesNothingThatCouldGo) {
  const Instruction& in = *find_instruction(GetParam());
  const Datapath right = catalogue(ArchId::sm_90, in).at(0).datapath;
  Datapath wrong = right;
  for (Unit& unit : wrong.numerics.units) --unit.fraction_bits;
  DatapathOracle oracle(right, in, "right", 1);
  const auto differs = [&](const Problem& p) { return answer_of(in, right, p) != answer_of(in, wrong, p); };

  constexpr std::size_t kTiles = 4, kWanted = 20;
  Tiles tiles = make_random_tiles(in, Distribution::narrow, 1, 0, kTiles, 8, 8), others = tiles;
  Emulator(right).run(tiles);
  Emulator(wrong).run(others);
  std::size_t found = 0;
  for (std::size_t i = 0; i < tiles.size() && found < kWanted; ++i) {
    if (tiles.d[i] == others.d[i]) continue;
    ++found;
    const Counterexample small = minimise(in, oracle, Emulator(wrong), {problem_at(tiles, i), others.d[i], tiles.d[i]});
    EXPECT_EQ(small.observed, answer_of(in, right, small.problem));
    EXPECT_EQ(small.expected, answer_of(in, wrong, small.problem));
    EXPECT_NE(small.observed, small.expected);

    const auto expect_needed = [&](const Problem& less, const char* what) {
      if (less.a == small.problem.a && less.b == small.problem.b && less.c == small.problem.c) return;
      EXPECT_FALSE(differs(less)) << what << " is not needed";
    };
    // Without a product or c; without the lowest bit that is set of a significand's fraction.
    const auto without_bit = [](std::uint64_t code, const Format& f) {
      const int fraction = f.fraction_bits + f.padding_bits;
      const int lowest = std::countr_zero(code);
      return code == 0 || lowest >= fraction ? code : code ^ std::uint64_t{1} << lowest;
    };
    for (std::size_t k = 0; k < small.problem.a.size(); ++k) {
      Problem less = small.problem;
      less.a[k] = less.b[k] = 0;
      expect_needed(less, "a product");
      less = small.problem;
      less.a[k] = without_bit(less.a[k], format(in.a));
      expect_needed(less, "a bit of a");
      less = small.problem;
      less.b[k] = without_bit(less.b[k], format(in.b));
      expect_needed(less, "a bit of b");
    }
    Problem less = small.problem;
    less.c = 0;
    expect_needed(less, "c");
    less.c = without_bit(small.problem.c, format(in.c));
    expect_needed(less, "a bit of c");
  }
  EXPECT_EQ(found, kWanted);
}

INSTANTIATE_TEST_SUITE_P(Instructions, Minimise,
                         testing::Values("mma.m16n8k8.f32.f16.f16.f32", "mma.m16n8k4.f32.tf32.tf32.f32",
                                         "wgmma.m64n8k32.f32.e4m3.e4m3"),
                         [](const auto& drawn) {
                           std::string text = drawn.param;
                           std::ranges::replace(text, '.', '_');
                           return text;
                         });

}  // namespace
}  // namespace tcnum
