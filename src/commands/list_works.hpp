// tcnum list --works: what others have published of instructions, held against the recorded answers.
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

/// Of these instructions of the architecture, those that anybody has published anything of. Throws UnavailableError if
/// answers are recorded of none of these.
int list_works(const ListOptions& options, ArchId id, const std::vector<const Instruction*>& instructions);

}  // namespace tcnum
