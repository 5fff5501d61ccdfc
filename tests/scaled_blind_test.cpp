// Blind recovery with block scales: some draws, and neighbours of a datapath that docs/datapaths describes.
// Labels: long
#include "scaled_blind.hpp"

#include <vector>

namespace tcnum::scaled_blind_test {
namespace {

using namespace scaled_blind;

class ScaledBlind : public testing::TestWithParam<scaled_blind::Kind> {};

TEST_P(ScaledBlind, TheFitReturnsTheClassOfTheHiddenDatapath) {
  constexpr int kDraws = 2;
  expect_recovered(GetParam(), 0, kDraws);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ScaledBlind, testing::ValuesIn(kKinds),
                         [](const auto& row) { return std::string(row.param.name); });

const auto kNeighbours = std::to_array<Neighbour>({
    {"mxf8f6f4", "blackwell-mxf8f6f4", [](Datapath&) {}},
    {"mxf8f6f4_of_24_bits", "blackwell-mxf8f6f4", [](Datapath& d) { last_unit(d).fraction_bits = 24; }},
    {"mxf8f6f4_to_nearest", "blackwell-mxf8f6f4",
     [](Datapath& d) { last_unit(d).result.step[0].rounding = Rounding::nearest_even; }},
});

class ScaledDescribed : public testing::TestWithParam<Neighbour> {};

TEST_P(ScaledDescribed, IsIdentifiedAsWhatItIs) { expect_identified(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Files, ScaledDescribed, testing::ValuesIn(kNeighbours),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(ScaledOutside, DatapathsOutsideTheSpaceAreUnexplained) {
  Datapath outside = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/blackwell-mxf8f6f4.json");
  last_unit(outside).first_fraction_bits = 22;  // c cut elsewhere than the products
  outside.numerics.scales->block_k = 2;
  outside.tree.k = 4;
  outside.tree.nodes[0].terms.resize(5);
  validate(outside);
  const Instruction dot = make_dot(FormatId::fp32, FormatId::fp8e4m3, FormatId::fp8e4m3, FormatId::fp32, 4,
                                   {ScaleKind::dot, FormatId::ue8m0, 2});
  DatapathOracle oracle(outside, dot, "hidden", 1);
  Fit fit(dot, &oracle, quick_options());
  const FitResult result = fit.run();
  EXPECT_EQ(result.verdict, Verdict::unexplained);
  EXPECT_GT(result.mismatches, 0u);
  EXPECT_TRUE(result.counterexample.has_value());
}

}  // namespace
}  // namespace tcnum::scaled_blind_test
