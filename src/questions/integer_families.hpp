// The families of instructions that sum products of integers; families.hpp says what each is for.
#pragma once

#include "random_numbers.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum::integer_families {

Problem close_sizes(const Instruction& instruction, RandomNumbers random);
Problem any_sizes(const Instruction& instruction, RandomNumbers random);
Problem cancelling(const Instruction& instruction, RandomNumbers random);
Problem any_codes(const Instruction& instruction, RandomNumbers random);
Problem smallest(const Instruction& instruction, RandomNumbers random);
Problem largest(const Instruction& instruction, RandomNumbers random);
Problem few_terms(const Instruction& instruction, RandomNumbers random);
Problem limits(const Instruction& instruction, RandomNumbers random);
Problem zeros(const Instruction& instruction, RandomNumbers random);
Problem special_codes(const Instruction& instruction, RandomNumbers random);
Problem bell_curve(const Instruction& instruction, RandomNumbers random);

}  // namespace tcnum::integer_families
