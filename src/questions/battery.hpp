// The battery: crafted problems that pull the datapaths of a space apart. docs/battery.md lists them, with the
// published studies that each group follows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// What a crafted problem is meant to tell.
enum class ProblemPurpose : std::uint8_t {
  operands,   ///< what codes mean, and that each counts
  alignment,  ///< how terms are aligned and cut: its result is likely to need no rounding
  rounding,   ///< how sums are rounded
  edges,      ///< what happens to subnormals, zeros, infinities and NaNs, and at the ends of the range
};

/// A problem and what it is for: the name begins with its group and a colon, or is the group's.
struct CraftedProblem {
  std::string name;
  Problem problem;
  ProblemPurpose purpose;
};

/// The crafted problems of an instruction: width, rounding, carries, normalisation, block size, subnormals, zeros,
/// overflow, infinities and NaNs.
std::vector<CraftedProblem> battery(const Instruction& instruction);

/// More of them, for datapaths that are rare: how a block's sum that is summed apart comes together with c.
std::vector<CraftedProblem> rare_battery(const Instruction& instruction);

// Of them, those of instructions that sum products of integers, and those with block scales other than 1.
std::vector<CraftedProblem> integer_battery(const Instruction& instruction);
std::vector<CraftedProblem> scale_battery(const Instruction& instruction);

}  // namespace tcnum
