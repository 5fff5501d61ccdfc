// The families of instructions that sum floating-point products; families.hpp says what each is for.
#pragma once

#include "float_draft.hpp"

namespace tcnum::float_families {

// By the sizes of their terms.
Problem close_sizes(const Instruction& instruction, RandomNumbers random);
Problem any_sizes(const Instruction& instruction, RandomNumbers random);
Problem cancelling(const Instruction& instruction, RandomNumbers random);
Problem few_terms(const Instruction& instruction, RandomNumbers random);
Problem any_codes(const Instruction& instruction, RandomNumbers random);
Problem bell_curve(const Instruction& instruction, RandomNumbers random);
/// Fills all places, and c, as close_sizes() does.
void fill_with_close_sizes(FloatDraft& draft);

// At the ends of the result's range.
Problem smallest(const Instruction& instruction, RandomNumbers random);
Problem largest(const Instruction& instruction, RandomNumbers random);
Problem limits(const Instruction& instruction, RandomNumbers random);

// With operands that are no ordinary numbers.
Problem zeros(const Instruction& instruction, RandomNumbers random);
Problem special_codes(const Instruction& instruction, RandomNumbers random);

}  // namespace tcnum::float_families
