// tcnum: the command line. Each command is a file; this one parses, and maps failures to exit statuses.
#include <csignal>
#include <exception>
#include <new>
#include <string>

#include "command.hpp"

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

/// An option of the command that took another option for its value, in words; empty if none did.
std::string misread_option(const CLI::App& command) {
  for (const CLI::Option* each : command.get_options()) {
    for (const std::string& value : each->results()) {
      if (value.starts_with('-') && command.get_option_no_throw(value) != nullptr) {
        return fmt::format("{} needs a value, and {} is an option", each->get_name(), value);
      }
    }
  }
  return "";
}

int run(int argc, char** argv) {
  CLI::App app("tcnum tells, with evidence, what a tensor core computes, and computes the same bits without one.",
               "tcnum");
  app.set_version_flag("--version", "tcnum " TCNUM_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done and all agreed; 1 a disagreement was found; 2 wrong usage or input;\n"
      "3 this machine lacks what was asked for.");
  tcnum::Action action;
  tcnum::add_probe(app, action);
  tcnum::add_verify(app, action);
  tcnum::add_emulate(app, action);
  tcnum::add_explain(app, action);
  tcnum::add_bench(app, action);
  tcnum::add_list(app, action);
  tcnum::add_sass(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    tcnum::say(app.help());  // of the subcommand, if one was named
    return tcnum::kAgreed;
  } catch (const CLI::CallForVersion& version) {
    tcnum::say(std::string(version.what()) + "\n");
    return tcnum::kAgreed;
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    if (const auto strays = app.remaining(); chosen.empty() && !strays.empty() && !strays.front().starts_with('-')) {
      std::vector<std::string> known;
      for (const CLI::App* each : app.get_subcommands({})) known.push_back(each->get_name());
      return fail(tcnum::kWrongInput,
                  fmt::format("{} is no command; right would be one of {}", strays.front(), fmt::join(known, ", ")));
    }
    const std::string misread = chosen.empty() ? "" : misread_option(*chosen.front());
    return fail(tcnum::kWrongInput,
                fmt::format("{}; `tcnum {}--help` shows what would be right", misread.empty() ? error.what() : misread,
                            chosen.empty() ? std::string() : chosen.front()->get_name() + " "));
  }
  const int status = action();
  tcnum::finish_stdout();
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));  // a closed pipe shows as an error of write
  try {
    return run(argc, argv);
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
