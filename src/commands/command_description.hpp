// The command line as it is described to shells and in the manual, made from what parses it, so that neither drifts
// from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tcnum {

struct OptionDescription {
  std::vector<std::string> names;  ///< "--json", "-a"; empty if it has none but a place
  std::string help;
  std::string value;  ///< what it takes: "TEXT"; empty of a flag
};

struct CommandDescription {
  std::string name;  ///< "bench tensor"; of the program itself, empty
  std::string help;
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> commands;
  std::string footer;  ///< lines after the options; of the program itself, empty
};

/// What completes command lines in "bash", "zsh" or "fish". Throws InputError if the shell is another.
std::string completion(std::string_view shell, const CommandDescription& program);

/// The manual page, for man(1). `footer`: the exit statuses.
std::string manual_page(const CommandDescription& program, std::string_view footer);

}  // namespace tcnum
