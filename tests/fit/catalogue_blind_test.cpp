// Blind recovery of the datapaths of the catalogue: of each kind the one with the fewest products, where that takes a
// fit no more than seconds.
// Labels: long-parts parts=4
#include "catalogue_blind.hpp"

namespace tcnum {
namespace {

using namespace catalogue_blind;

std::vector<Known> quick_ones() {
  std::vector<Known> all;
  for (Kind& kind : kinds()) {
    if (takes_seconds(kind.shortest.datapath)) all.push_back(std::move(kind.shortest));
  }
  return all;
}

class CatalogueBlind : public testing::TestWithParam<Known> {};

TEST_P(CatalogueBlind, IsIdentifiedAsWhatItIs) { expect_identified(GetParam().datapath); }

INSTANTIATE_TEST_SUITE_P(Kinds, CatalogueBlind, testing::ValuesIn(quick_ones()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace tcnum
