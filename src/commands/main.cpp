// tcnum: the command line. Each command is a file; this one maps failures to exit statuses.
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "command_line.hpp"
#include "commands.hpp"
#include "output.hpp"
#include "tcnum/error.hpp"

namespace {

/// One line on standard error, whatever the message holds.
int fail(tcnum::ExitStatus status, std::string message) {
  for (char& c : message) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  while (message.ends_with(' ')) message.pop_back();
  static_cast<void>(std::fprintf(stderr, "tcnum: %s\n", message.c_str()));
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));  // a closed pipe shows as an error of write
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
