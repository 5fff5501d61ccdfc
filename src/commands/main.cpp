// tcnum: the command line. Each command is a file, but those of the bench, which are another program.
#include "program.hpp"

namespace {

tcnum::Action parse(int argc, char** argv) {
  if (!tcnum::is_for_bench_program(argc, argv))
    return tcnum::parse_command_line(argc, argv, tcnum::kNamedBenchCommands);
  return [argv]() -> int { tcnum::become_bench_program(argv); };
}

}  // namespace

int main(int argc, char** argv) { return tcnum::run_program(argc, argv, parse); }
