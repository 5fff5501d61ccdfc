// Edge rules: what happens to subnormals, zeros, overflow and NaN. They are decided for one core at a time.
#pragma once

#include <vector>

#include "evidence.hpp"
#include "space.hpp"

namespace tcnum {

/// A datapath that explains every answer.
struct Survivor {
  Choice choice;               ///< canonical
  std::vector<Property> free;  ///< edge rules that no answer consulted: any value will do
};

/// All datapaths with this core that explain every answer, each class once.
std::vector<Survivor> decide_edge_rules(const Space& space, const Evidence& evidence, const Choice& core);

}  // namespace tcnum
