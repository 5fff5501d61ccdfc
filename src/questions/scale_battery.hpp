// Crafted problems with block scales, beside those that have scales of 1.
#pragma once

#include <vector>

#include "battery.hpp"

namespace tcnum {

std::vector<CraftedProblem> scale_battery(const Instruction& instruction);

}  // namespace tcnum
