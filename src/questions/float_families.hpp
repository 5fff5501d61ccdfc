// The families of instructions that sum floating-point products; families.hpp says what each is for.
#pragma once

#include "float_draft.hpp"

namespace tcnum::float_families {

// By the sizes of their terms.
Problem narrow(const Instruction& instruction, RandomNumbers random);
Problem wide(const Instruction& instruction, RandomNumbers random);
Problem cancellation(const Instruction& instruction, RandomNumbers random);
Problem sparse(const Instruction& instruction, RandomNumbers random);
Problem uniform_bits(const Instruction& instruction, RandomNumbers random);
Problem gaussian(const Instruction& instruction, RandomNumbers random);
/// Fills all places, and c, as narrow() does.
void fill_with_narrow(FloatDraft& draft);

// At the ends of the result's range.
Problem tiny(const Instruction& instruction, RandomNumbers random);
Problem huge(const Instruction& instruction, RandomNumbers random);
Problem edges(const Instruction& instruction, RandomNumbers random);

// With operands that are no ordinary numbers.
Problem signed_zeros(const Instruction& instruction, RandomNumbers random);
Problem specials(const Instruction& instruction, RandomNumbers random);

}  // namespace tcnum::float_families
