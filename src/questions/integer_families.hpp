// The families of instructions that sum products of integers; families.hpp says what each is for.
#pragma once

#include "random_numbers.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum::integer_families {

Problem narrow(const Instruction& instruction, RandomNumbers random);
Problem wide(const Instruction& instruction, RandomNumbers random);
Problem cancellation(const Instruction& instruction, RandomNumbers random);
Problem uniform_bits(const Instruction& instruction, RandomNumbers random);
Problem tiny(const Instruction& instruction, RandomNumbers random);
Problem huge(const Instruction& instruction, RandomNumbers random);
Problem sparse(const Instruction& instruction, RandomNumbers random);
Problem edges(const Instruction& instruction, RandomNumbers random);
Problem signed_zeros(const Instruction& instruction, RandomNumbers random);
Problem specials(const Instruction& instruction, RandomNumbers random);
Problem gaussian(const Instruction& instruction, RandomNumbers random);

}  // namespace tcnum::integer_families
