// What others have asked hardware.
#pragma once

#include "tcnum/catalogue.hpp"

namespace tcnum {

/// The published answers to an instruction of an architecture; null if there are none.
const PublishedAnswers* answers_of(ArchId arch, const Instruction& instruction);

}  // namespace tcnum
