// tcnum-bench: the commands of tcnum, and those of the bench.
#include "bench.hpp"
#include "src/commands/program.hpp"

namespace {

tcnum::Action parse(int argc, char** argv) {
  return tcnum::parse_command_line(argc, argv, {tcnum::add_bench, tcnum::add_model});
}

}  // namespace

int main(int argc, char** argv) { return tcnum::run_program(argc, argv, parse); }
