// The command line, parsed.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace tcnum {

/// What is to be done; returns the exit status.
using Action = std::function<int()>;

/// Adds a command and its options; the action is set where that command is asked for.
using AddCommand = void (*)(CLI::App& app, Action& action);

/// The commands of the bench: in tcnum their names alone, in tcnum-bench all that they are.
struct BenchCommands {
  AddCommand add_bench, add_model;
};
extern const BenchCommands kNamedBenchCommands;

/// What the command line asks for: a command with its options, or help. Throws InputError if it is none.
Action parse_command_line(int argc, char** argv, const BenchCommands& bench);

}  // namespace tcnum
