// The manual page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command_description.hpp"

namespace tcnum {
namespace {

/// Text that roff reads as nothing else.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out.append("\\&").push_back(c);
    else if (c == '\n')
      out += "\n.br\n";
    else
      out.push_back(c);
  }
  return out;
}

std::string option_text(const OptionDescription& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(fmt::format("\\fB{}\\fR", roff(name)));
  const std::string value = option.value.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(option.value));
  return fmt::format(".TP\n{}{}\n{}\n", names.empty() ? "\\fIfiles\\fR" : fmt::format("{}", fmt::join(names, ", ")),
                     value, roff(option.help.empty() ? "-" : option.help));
}

std::string command_text(const CommandDescription& command) {
  std::string text = fmt::format(".SS tcnum {}\n{}.\n", roff(command.name), roff(command.help));
  for (const OptionDescription& option : command.options) text += option_text(option);
  if (!command.footer.empty()) text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command.footer));
  for (const CommandDescription& each : command.commands) text += command_text(each);
  return text;
}

}  // namespace

std::string manual_page(const CommandDescription& program, std::string_view footer) {
  std::string text = fmt::format(
      ".TH TCNUM 1 \"\" \"tcnum {}\" \"User Commands\"\n.SH NAME\ntcnum \\- what a tensor core computes, and the same "
      "bits "
      "without one\n.SH SYNOPSIS\n.B tcnum\n.I command\n[\\fIoptions\\fR]\n.SH DESCRIPTION\n{}\n.SH OPTIONS\n",
      TCNUM_VERSION, roff(program.help));
  for (const OptionDescription& option : program.options) text += option_text(option);
  text += ".SH COMMANDS\n";
  for (const CommandDescription& each : program.commands) text += command_text(each);
  text += fmt::format(".SH EXIT STATUS\n{}\n", roff(footer));
  text +=
      ".SH ENVIRONMENT\n"
      ".TP\n\\fBTCNUM_VECTORS\\fR\nThe folder of recorded answers, in place of those that are installed.\n"
      ".TP\n\\fBXDG_CACHE_HOME\\fR\nWhere fits of recorded answers are kept, in a folder tcnum (default: ~/.cache).\n"
      ".TP\n\\fBCOLUMNS\\fR\nThe width of lists.\n"
      ".TP\n\\fBNO_COLOR\\fR\nIf it is set and not empty, nothing is coloured on a terminal.\n";
  return text;
}

}  // namespace tcnum
