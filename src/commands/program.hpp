// A program of this tree: what it does from its start to its end, its command line, and the other one, tcnum-bench,
// which lies beside tcnum and has the commands of the bench.
#pragma once

#include <filesystem>
#include <functional>

namespace CLI {
class App;
}

namespace tcnum {

// --- tcnum-bench, the program that has the commands of the bench. It lies beside tcnum, which starts it.

struct NamedCommand {
  const char* name;
  const char* help;
};
inline constexpr NamedCommand kBenchCommand = {"bench", "Measure latency, throughput and energy"},
                              kModelCommand = {"model", "Predict how long work takes, from recorded measurements"};

/// Where it lies, if it is there.
std::filesystem::path bench_program();
bool has_bench_program();

/// Whether these arguments are for tcnum-bench.
bool is_for_bench_program(int argc, char** argv);

/// Becomes tcnum-bench with the same arguments. Throws UnavailableError if it is not there, saying how to get it.
[[noreturn]] void become_bench_program(char** argv);

// --- The command line, parsed.

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

// --- What a program of this tree does from its start to its end: tcnum, and tcnum-bench beside it.

/// Throws InputError if the command line is none.
using Parse = Action(int argc, char** argv);

/// Does what the command line asks for, and maps failures to exit statuses, which it returns.
int run_program(int argc, char** argv, Parse* parse);

}  // namespace tcnum
