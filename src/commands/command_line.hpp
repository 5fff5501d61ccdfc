// The command line, parsed.
#pragma once

#include <functional>

namespace tcnum {

/// What is to be done; returns the exit status.
using Action = std::function<int()>;

/// What the command line asks for: a command with its options, or help. Throws InputError if it is none.
Action parse_command_line(int argc, char** argv);

}  // namespace tcnum
