// Dot products that no instruction computes: the fit returns the class of a hidden datapath of theirs, too.
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "draw.hpp"
#include "src/fit/fit.hpp"
#include "src/oracles/datapath_oracle.hpp"

namespace tcnum {
namespace {

using enum FormatId;

struct Dot {
  FormatId d, a, b, c;
  int k;
};
/// Formats and numbers of products that no instruction of the table has.
constexpr std::array kDots = std::to_array<Dot>({
    {fp32, fp32, fp32, fp32, 4},
    {fp32, fp16, bf16, fp32, 4},
    {fp32, fp8e4m3fnuz, fp8e5m2fnuz, fp32, 4},
    {fp32, fp4e2m1, fp6e3m2, fp32, 4},
    {fp32, fp16, fp16, fp16, 4},
    {fp16, fp8e5m2, fp16, fp32, 4},
    {bf16, bf16, bf16, bf16, 4},
    {bf16, bf16, bf16, fp32, 4},
    {fp64, fp32, fp32, fp64, 4},
    {fp32, fp16, fp16, fp32, 1},
    {fp32, fp16, fp16, fp32, 3},
    {fp32, bf16, bf16, fp32, 5},
    {s32, s8, u4, s32, 3},
    {s32, b1, b1, s32, 5},
});

class DotFit : public testing::TestWithParam<Dot> {};

TEST_P(DotFit, ReturnsTheClassOfTheHiddenDatapath) {
  const auto& [d, a, b, c, k] = GetParam();
  const Instruction dot = make_dot(d, a, b, c, k);
  const Space space(dot);
  constexpr int kDraws = 2;
  for (int seed = 1; seed <= kDraws; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const Choice hidden = space.canonical(draw(space, random));
    SCOPED_TRACE(dot.name() + ", draw " + std::to_string(seed) + ": " + to_json(space.datapath(hidden)).dump());
    DatapathOracle oracle(space.datapath(hidden), dot, "hidden", 1);
    FitOptions options;
    options.search_tiles = 10;
    options.tiles_per_distribution = 4;
    Fit fit(dot, &oracle, options);
    const FitResult result = fit.run();
    EXPECT_NE(result.verdict, Verdict::unexplained);
    EXPECT_EQ(result.mismatches, 0u);
    if (result.verdict == Verdict::identified) {
      EXPECT_EQ(result.choice, fit.space().canonical(hidden));
    }
  }
}

std::string dot_name(const testing::TestParamInfo<Dot>& info) {
  const auto& [d, a, b, c, k] = info.param;
  std::string text = make_dot(d, a, b, c, k).name();
  for (char& each : text) each = each == '.' ? '_' : each;
  return text;
}

INSTANTIATE_TEST_SUITE_P(Dots, DotFit, testing::ValuesIn(kDots), dot_name);

}  // namespace
}  // namespace tcnum
