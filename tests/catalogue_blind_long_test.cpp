// Blind recovery of the datapaths of the catalogue: what takes more than seconds, and of each kind the one with the
// most products.
#include "catalogue_blind.hpp"

namespace tcnum {
namespace {

using namespace catalogue_blind;

std::vector<Known> slow_ones() {
  std::vector<Known> all;
  for (const auto& [shortest, longest] : kinds()) {
    if (!takes_seconds(shortest.datapath)) all.push_back(shortest);
    if (longest.datapath != shortest.datapath) all.push_back(longest);
  }
  return all;
}

class CatalogueBlindLong : public testing::TestWithParam<Known> {};

TEST_P(CatalogueBlindLong, IsIdentifiedAsWhatItIs) { expect_identified(GetParam().datapath); }

INSTANTIATE_TEST_SUITE_P(Kinds, CatalogueBlindLong, testing::ValuesIn(slow_ones()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace tcnum
