// The battery of instructions that sum products of integers.
#pragma once

#include "battery.hpp"

namespace tcnum {

std::vector<CraftedProblem> integer_battery(const Instruction& instruction);

}  // namespace tcnum
