// Operands of instructions that sum integers: what the families of operands.hpp are for them.
#pragma once

#include "operands.hpp"

namespace tcnum {

/// The problem of a family, drawn from `random`.
Problem make_integer_problem(const Instruction& instruction, Family family, RandomNumbers random);

/// A problem whose sum passes an end of the accumulator's range on the way, or nearly, and may come back.
Problem make_integer_boundary_problem(const Instruction& instruction, RandomNumbers random);

}  // namespace tcnum
