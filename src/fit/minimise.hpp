// Counterexamples made small.
#pragma once

#include <cstddef>
#include <functional>

#include "tcnum/emulator.hpp"
#include "tcnum/fit.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

/// c and products, those of them that are not zero.
std::size_t terms_of(const Problem& problem);

/// Fills tiles.d.
using Answers = std::function<void(Tiles&)>;

/// Removes terms, then low bits of significands, as long as those who answer still differ. `found` is one where they
/// do: `expected` is what `mine` gives, `observed` what `theirs` does.
Counterexample minimise(const Instruction& instruction, const Answers& theirs, const Answers& mine,
                        Counterexample found);
Counterexample minimise(const Instruction& instruction, Oracle& oracle, const Emulator& emulator, Counterexample found);

}  // namespace tcnum
