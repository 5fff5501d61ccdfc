// Block scales of problems: the rest of a problem is made up with scales of 1.
#pragma once

#include <cstddef>

#include "random_numbers.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// The exponents that a row's scale and a column's have together, as powers of two: −254 … 254 of ue8m0.
Interval scale_exponents(const Instruction& instruction);

/// Makes the product of a block's two scales 2^exponent, brought into their range, as even a split as there is.
void put_scales(const Instruction& instruction, Problem& problem, std::size_t block, int exponent);

/// Multiplies c by 2^exponent, cut to its format.
void scale_accumulator(const Instruction& instruction, Problem& problem, int exponent);

/// Gives scales any significands, where their format has them.
void draw_scale_significands(const Instruction& instruction, Problem& problem, RandomNumbers& random);

}  // namespace tcnum
