// tcnum: the command line. Each command is a file; this one maps failures to exit statuses.
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include "command_line.hpp"
#include "commands.hpp"
#include "io/printable.hpp"
#include "output.hpp"
#include "tcnum/error.hpp"

namespace {

/// One line on standard error, whatever the message holds.
int fail(tcnum::ExitStatus status, std::string_view message) {
  constexpr std::size_t kMostBytes = 4000;
  static_cast<void>(std::fprintf(stderr, "tcnum: %s\n", tcnum::shortened(message, kMostBytes).c_str()));
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe and a file that may not grow show as errors of write, which leave nothing half written.
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
  try {
    const int status = tcnum::parse_command_line(argc, argv)();
    tcnum::finish_stdout();
    return status;
  } catch (const tcnum::OutputClosed&) {
    return tcnum::kAgreed;
  } catch (const tcnum::InputError& error) {
    return fail(tcnum::kWrongInput, error.what());
  } catch (const tcnum::UnavailableError& error) {
    return fail(tcnum::kUnavailable, error.what());
  } catch (const std::bad_alloc&) {
    return fail(tcnum::kUnavailable, "not enough memory on this machine");
  } catch (const std::exception& error) {
    return fail(tcnum::kDisagreed, error.what());
  }
}
