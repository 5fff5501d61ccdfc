// Datapaths as those write them who know one: each differs in one rule from one of the catalogue's.
#pragma once

#include <string>
#include <vector>

#include "tcnum/datapath.hpp"

namespace tcnum::test {

struct Variation {
  std::string name;  ///< an instruction with that datapath, and what is another
  Datapath datapath;
};

/// All of them, in an order of their own; none twice, though instructions share datapaths.
std::vector<Variation> variations_of_catalogue();

}  // namespace tcnum::test
