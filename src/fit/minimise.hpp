// Counterexamples made small.
#pragma once

#include "tcnum/emulator.hpp"
#include "tcnum/fit.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

/// Removes terms, then low bits of significands, as long as oracle and emulator still differ. `found` is one where they
/// do.
Counterexample minimise(const Instruction& instruction, Oracle& oracle, const Emulator& emulator, Counterexample found);

}  // namespace tcnum
