// Blind recovery with block scales: many draws, of which some are tried that the seed says, and neighbours of nvfp4.
// Labels: long parts=4
#include "scaled_blind.hpp"
#include "seed_of_run.hpp"

namespace tcnum::scaled_blind_long_test {
namespace {

using namespace scaled_blind;

class ScaledBlindLong : public testing::TestWithParam<scaled_blind::Kind> {};

constexpr int kFirst = 1000, kDraws = 2;

TEST_P(ScaledBlindLong, TheFitReturnsTheClassOfTheHiddenDatapath) {
  expect_recovered(GetParam(), kFirst + kDraws * static_cast<int>(test::part_of_run()), kDraws);
}

INSTANTIATE_TEST_SUITE_P(Draws, ScaledBlindLong, testing::ValuesIn(kKinds),
                         [](const auto& row) { return std::string(row.param.name); });

/// Of which each takes a minute of a core: a run tries one.
const auto kNeighbours = std::to_array<Neighbour>({
    {"nvfp4", "blackwell-nvfp4", [](Datapath&) {}},
    {"nvfp4_of_34_bits", "blackwell-nvfp4", [](Datapath& d) { last_unit(d).fraction_bits = 34; }},
    {"nvfp4_by_products", "blackwell-nvfp4", [](Datapath& d) { group_unit(d).scale_exponents_alone = false; }},
    {"mxf4", "blackwell-nvfp4",
     [](Datapath& d) {
       d.numerics.scales = {FormatId::ue8m0, 32};
     }},
});

class ScaledDescribedLong : public testing::TestWithParam<Neighbour> {};

TEST_P(ScaledDescribedLong, IsIdentifiedAsWhatItIs) { expect_identified(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Files, ScaledDescribedLong,
                         testing::Values(kNeighbours[test::seed_of_run() % kNeighbours.size()]),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace tcnum::scaled_blind_long_test
