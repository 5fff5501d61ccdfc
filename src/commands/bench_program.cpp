#include "bench_program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include "tcnum/error.hpp"

namespace tcnum {
namespace {

/// Options whose texts describe the commands of both programs.
bool describes_commands(std::string_view argument) { return argument.starts_with("--complet"); }

}  // namespace

std::filesystem::path bench_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "tcnum-bench";
}

bool has_bench_program() { return access(bench_program().c_str(), X_OK) == 0; }

bool is_for_bench_program(int argc, char** argv) {
  if (argc < 2) return false;
  const std::string_view first = argv[1];
  if (first == kBenchCommand.name || first == kModelCommand.name) return true;
  return describes_commands(first) && has_bench_program();
}

void become_bench_program(char** argv) {
  const std::filesystem::path program = bench_program();
  execv(program.c_str(), argv);
  const int error = errno;
  throw UnavailableError(
      fmt::format("{}: needs the program {}: {}; expected it beside tcnum, where `./run {} --help`, `cmake --build "
                  "BUILD --target tcnum-bench` and `./run install FOLDER` put it",
                  argv[1], program.string(), std::strerror(error), argv[1]));
}

}  // namespace tcnum
