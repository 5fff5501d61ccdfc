// tcnum-bench: the commands of tcnum, and those of the bench.
#include "bench.hpp"
#include "src/commands/program.hpp"

int main(int argc, char** argv) {
  return tcnum::run_program(argc, argv, [](int count, char** words) {
    return tcnum::parse_command_line(count, words, {tcnum::add_bench, tcnum::add_model});
  });
}
