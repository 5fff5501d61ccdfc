// tcnum: the command line. Each command is a file; this one maps failures to exit statuses.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>

#include "command_line.hpp"
#include "commands.hpp"
#include "failure.hpp"
#include "output.hpp"
#include "src/ranks/launch.hpp"
#include "tcnum/error.hpp"

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
  if (const std::exception_ptr failure = std::current_exception()) _exit(tcnum::report_failure(failure));
  std::abort();
}

/// Several processes that mpirun started have one command line: the first one says what is wrong with it.
tcnum::Action parsed(int argc, char** argv) {
  try {
    return tcnum::parse_command_line(argc, argv);
  } catch (const tcnum::InputError&) {
    const auto launched = tcnum::launch();
    if (!launched || launched->is_first()) throw;
    return [] { return tcnum::kLeftToFirst; };
  }
}

int run(int argc, char** argv) {
  try {
    return parsed(argc, argv)();
  } catch (...) {
    return tcnum::report_failure(std::current_exception());
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(fail_at_once);
  occupy_standard_streams();
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));  // a closed pipe shows as an error of write,
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));  // and so does a file that may not grow
  const int status = run(argc, argv);
  const bool all_said = tcnum::finish_stdout();
  return status == tcnum::kAgreed && !all_said ? tcnum::kUnavailable : status;
}
