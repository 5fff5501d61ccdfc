#include "shell.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "src/catalogue/operand_formats.hpp"
#include "src/questions/stream.hpp"
#include "tcnum/error.hpp"
#include "tcnum/format.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

using Words = std::vector<std::string>;

struct Script {
  std::string_view shell, text;
};

constexpr Script kScripts[] = {
    {"bash", R"sh(_tcnum() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null))
}
complete -o default -F _tcnum tcnum
)sh"},
    {"zsh", R"sh(#compdef tcnum
_tcnum() {
  local -a found
  found=(${(f)"$(${words[1]} --complete "${(@)words[2,CURRENT]}" 2> /dev/null)"})
  if (( $#found )); then compadd -a found; else _files; fi
}
if [[ $funcstack[1] == _tcnum ]]; then _tcnum "$@"; else compdef _tcnum tcnum; fi
)sh"},
    {"fish", R"sh(complete -c tcnum -a '(tcnum --complete (commandline -opc)[2..-1] (commandline -ct))'
)sh"},
};

/// The words that an option takes, where these are few.
Words values_of(const std::string& option) {
  Words words;
  if (option == "--arch") {
    for (const Arch& each : kArchs) words.emplace_back(each.name);
  } else if (option == "--format") {
    for (const Format& each : kFormats) words.emplace_back(each.name);
    for (const FormatName& each : format_names()) words.emplace_back(each.name);
  } else if (option == "--distribution") {
    for (const std::string_view each : distribution_names()) words.emplace_back(each);
  } else if (option == "--table") {
    words = {"text", "md", "csv", "latex"};
  } else if (option == "--completion") {
    for (const Script& each : kScripts) words.emplace_back(each.shell);
  }
  return words;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

Words names_of_options(const CLI::App& command) {
  Words names;
  for (const CLI::Option* each : command.get_options()) {
    for (const std::string& shorter : each->get_snames()) names.push_back("-" + shorter);
    for (const std::string& longer : each->get_lnames()) names.push_back("--" + longer);
  }
  return names;
}

}  // namespace

std::string completion_script(std::string_view shell) {
  const auto found = std::ranges::find(kScripts, shell, &Script::shell);
  if (found == std::end(kScripts)) throw InputError(fmt::format("--completion: {}; expected bash, zsh or fish", shell));
  return std::string(found->text);
}

std::string completions(const CLI::App& program, std::span<char* const> words) {
  if (words.empty()) return "";
  const CLI::App* command = &program;
  for (const char* word : words.first(words.size() - 1)) {
    const auto below = commands_of(*command);
    const auto found = std::ranges::find(below, word, &CLI::App::get_name);
    if (found != below.end()) command = *found;
  }
  const std::string now = words.back(), before = words.size() > 1 ? words[words.size() - 2] : "";
  const CLI::Option* const option = before.starts_with('-') ? command->get_option_no_throw(before) : nullptr;
  Words proposed;
  if (option != nullptr && option->get_items_expected_max() > 0) {
    proposed = values_of(before);
  } else if (now.starts_with('-')) {
    proposed = names_of_options(*command);
  } else {
    for (const CLI::App* each : commands_of(*command)) proposed.push_back(each->get_name());
  }
  std::erase_if(proposed, [&](const std::string& each) { return !each.starts_with(now); });
  return fmt::format("{}{}", fmt::join(proposed, "\n"), proposed.empty() ? "" : "\n");
}

}  // namespace tcnum
