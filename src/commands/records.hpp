// The folders of recorded answers, and what lies there beside them.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "src/catalogue/sass.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

/// The one to prefer first: what TCNUM_VECTORS names, alone; else an installed program's, and the source tree's.
std::vector<std::filesystem::path> record_folders();

/// A file of the architecture, in the first folder that has it.
std::optional<std::filesystem::path> find_record(ArchId of, std::string_view file);

/// The machine instructions that were seen, of that architecture; an empty table if none were.
SassTable find_sass(ArchId of);

}  // namespace tcnum
