// The battery: crafted problems that pull the datapaths of a space apart. docs/battery.md lists them, with the
// published studies that each group follows.
#pragma once

#include <string>
#include <vector>

#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// A problem and what it is for: the name begins with its group and a colon, or is the group's.
struct CraftedProblem {
  std::string name;
  Problem problem;
};

/// The crafted problems of an instruction: width, rounding, carries, normalisation, block size, subnormals, zeros,
/// overflow, infinities and NaNs.
std::vector<CraftedProblem> battery(const Instruction& instruction);

}  // namespace tcnum
