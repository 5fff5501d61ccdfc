// Chains of sums whose results are infinite or NaN, and stay what they are.
#pragma once

#include "trees.hpp"

namespace tcnum::panels {

/// When they do, by the rules and nodes of a plan.
Settling settling_of(const TreePlan& plan);

}  // namespace tcnum::panels
