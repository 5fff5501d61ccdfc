// Blind recovery of the datapaths of the catalogue: what takes more than seconds, and of each kind the one with the
// most products. All take ten minutes of a core: one in twelve is tried, which ones the seed says (./run test --fresh
// draws others).
// Labels: long parts=2
#include "catalogue_blind.hpp"
#include "seed_of_run.hpp"

namespace tcnum {
namespace {

using namespace catalogue_blind;

std::vector<Known> longest_ones() {
  std::vector<Known> all;
  for (Kind& kind : kinds()) {
    const bool tried_already = takes_seconds(kind.shortest.datapath) && kind.longest.name == kind.shortest.name;
    if (!tried_already) all.push_back(std::move(kind.longest));
  }
  return test::those_of_run(std::move(all), 12);
}

class CatalogueBlindLong : public testing::TestWithParam<Known> {};

TEST_P(CatalogueBlindLong, IsIdentifiedAsWhatItIs) { expect_identified(GetParam().datapath); }

INSTANTIATE_TEST_SUITE_P(Kinds, CatalogueBlindLong, testing::ValuesIn(longest_ones()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace tcnum
