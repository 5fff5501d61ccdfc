// The crafted probes of instructions that sum integers.
#pragma once

#include <vector>

#include "operands.hpp"

namespace tcnum {

std::vector<Probe> integer_battery(const Instruction& instruction);

}  // namespace tcnum
