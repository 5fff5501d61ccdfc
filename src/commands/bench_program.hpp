// tcnum-bench, the program that has the commands of the bench. It lies beside tcnum, which starts it.
#pragma once

#include <filesystem>

namespace tcnum {

struct NamedCommand {
  const char* name;
  const char* help;
};
inline constexpr NamedCommand kBenchCommand = {"bench", "Measure latency, throughput and energy"},
                              kModelCommand = {"model", "Predict how long work takes, from recorded measurements"};

/// Where it lies, if it is there.
std::filesystem::path bench_program();
bool has_bench_program();

/// Whether these arguments are for tcnum-bench: they name one of its commands, or ask for a text that describes all
/// commands, and it is there.
bool is_for_bench_program(int argc, char** argv);

/// Becomes tcnum-bench with the same arguments. Throws UnavailableError if it is not there, saying how to get it.
[[noreturn]] void become_bench_program(char** argv);

}  // namespace tcnum
