#include "program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "output.hpp"

namespace tcnum {

// --- tcnum-bench

std::filesystem::path bench_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "tcnum-bench";
}

bool has_bench_program() { return access(bench_program().c_str(), X_OK) == 0; }

bool is_for_bench_program(int argc, char** argv) {
  const std::string_view first = argc < 2 ? "" : argv[1];
  return first == kBenchCommand.name || first == kModelCommand.name;
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

// --- From its start to its end

namespace {

/// A file that is opened must not take the number of a standard stream that the caller has closed, and with it what is
/// meant for that stream. What stands there instead fails as the closed one would.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF)
      static_cast<void>(open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

/// Of what is thrown where nothing may be: by a destructor that needs memory, as that of large JSON does.
void fail_at_once() {
  if (const std::exception_ptr failure = std::current_exception()) _exit(report_failure(failure));
  std::abort();
}

int run(int argc, char** argv, Parse* parse) {
  try {
    return parse(argc, argv)();
  } catch (...) {
    return report_failure(std::current_exception());
  }
}

}  // namespace

int run_program(int argc, char** argv, Parse* parse) {
  std::set_terminate(fail_at_once);
  occupy_standard_streams();
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));  // a closed pipe shows as an error of write,
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));  // and so does a file that may not grow
  const int status = run(argc, argv, parse);
  const bool all_said = finish_stdout();
  return status == kAgreed && !all_said ? kUnavailable : status;
}

}  // namespace tcnum
