// What completes tcnum's command lines in a shell.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "command_description.hpp"
#include "src/campaign/stream.hpp"
#include "src/catalogue/operand_formats.hpp"
#include "tcnum/error.hpp"
#include "tcnum/format.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

using Words = std::vector<std::string>;

/// What an option takes, where that is one of few words; else files are proposed.
std::optional<Words> values_of(std::string_view option) {
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
    words = {"bash", "zsh", "fish"};
  } else {
    return std::nullopt;
  }
  return words;
}

/// The program and all commands below it.
std::vector<const CommandDescription*> all_commands(const CommandDescription& root) {
  std::vector<const CommandDescription*> all = {&root};
  for (const CommandDescription& each : root.commands) {
    for (const CommandDescription* one : all_commands(each)) all.push_back(one);
  }
  return all;
}

std::string last_word(const std::string& name) { return name.substr(name.rfind(' ') + 1); }

Words names_of_options(const CommandDescription& command) {
  Words names;
  for (const OptionDescription& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// Inside a shell's single quotes.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

// --- bash -------------------------------------------------------------------------------------------------------

std::string bash_completion(const CommandDescription& program) {
  std::string subcommands, words, values;
  for (const CommandDescription* command : all_commands(program)) {
    Words first;
    for (const CommandDescription& each : command->commands) {
      first.push_back(last_word(each.name));
      subcommands += fmt::format("      '{}:{}') command='{}' ;;\n", command->name, first.back(), each.name);
    }
    words += fmt::format("    '{}') words='{}'; commands='{}' ;;\n", command->name,
                         fmt::join(names_of_options(*command), " "), fmt::join(first, " "));
    for (const OptionDescription& option : command->options) {
      if (option.value.empty()) continue;
      for (const std::string& name : option.names) {
        const auto known = values_of(name);
        values += fmt::format("    '{}:{}') COMPREPLY=({}); return ;;\n", command->name, name,
                              known ? fmt::format("$(compgen -W '{}' -- \"$now\")", fmt::join(*known, " ")) : "");
      }
    }
  }
  return fmt::format(R"(# bash completion of tcnum, written by `tcnum --completion bash`
_tcnum() {{
  local now=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command= word words= commands=
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$command:$word" in
{}    esac
  done
  case "$command:$before" in
{}  esac
  case "$command" in
{}  esac
  # Where nothing is proposed, files are.
  if [[ $now == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$now"))
  else
    COMPREPLY=($(compgen -W "$commands" -- "$now"))
  fi
}}
complete -o default -F _tcnum tcnum
)",
                     subcommands, values, words);
}

// --- zsh --------------------------------------------------------------------------------------------------------

std::string first_line(const std::string& help) { return help.substr(0, help.find('\n')); }

std::string zsh_help(const std::string& help) {
  std::string text = replaced(first_line(help), "\\", "\\\\");
  for (const char* each : {"[", "]", ":"}) text = replaced(text, each, std::string("\\") + each);
  return replaced(text, "\n", " ");
}

std::string zsh_function(const CommandDescription& command) {
  const auto function_of = [](const std::string& name) {
    return name.empty() ? std::string("_tcnum") : "_tcnum_" + replaced(name, " ", "_");
  };
  std::string text = fmt::format("{}() {{\n  local context state line\n  typeset -A opt_args\n  _arguments -C",
                                 function_of(command.name));
  for (const OptionDescription& option : command.options) {
    if (option.names.empty()) text += " \\\n    '*:file:_files'";
    for (const std::string& name : option.names) {
      std::string action;
      if (!option.value.empty()) {
        const auto known = values_of(name);
        action = known ? fmt::format(":{}:({})", option.value, fmt::join(*known, " "))
                       : fmt::format(":{}:_files", option.value);
      }
      text += " \\\n    " + quoted(fmt::format("*{}[{}]{}", name, zsh_help(option.help), action));
    }
  }
  if (command.commands.empty()) return text + "\n}\n\n";
  text += " \\\n    '1:command:->command' \\\n    '*::argument:->argument'\n  local -a commands=(\n";
  for (const CommandDescription& each : command.commands) {
    text += "    " + quoted(fmt::format("{}:{}", last_word(each.name), zsh_help(each.help))) + "\n";
  }
  text += "  )\n  case $state in\n    command) _describe command commands ;;\n    argument)\n      case $words[1] in\n";
  for (const CommandDescription& each : command.commands) {
    text += fmt::format("        {}) {} ;;\n", last_word(each.name), function_of(each.name));
  }
  return text + "      esac ;;\n  esac\n}\n\n";
}

std::string zsh_completion(const CommandDescription& program) {
  std::string text = "#compdef tcnum\n# zsh completion of tcnum, written by `tcnum --completion zsh`\n\n";
  for (const CommandDescription* command : all_commands(program)) text += zsh_function(*command);
  // Loaded by compinit, the file is the function; sourced, it defines it.
  return text + "if [[ $funcstack[1] == _tcnum ]]; then _tcnum \"$@\"; else compdef _tcnum tcnum; fi\n";
}

// --- fish -------------------------------------------------------------------------------------------------------

/// Inside fish's single quotes.
std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(replaced(text, "\\", "\\\\"), "'", "\\'"), "\n", " ") + "'";
}

/// When a command's options and commands are proposed.
std::string fish_condition(const CommandDescription& command) {
  Words below;
  for (const CommandDescription& each : command.commands) below.push_back(last_word(each.name));
  if (command.name.empty()) return "__fish_use_subcommand";
  std::string condition;
  for (std::size_t at = 0; at < command.name.size();) {
    const std::size_t end = std::min(command.name.find(' ', at), command.name.size());
    condition += fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ",
                             command.name.substr(at, end - at));
    at = end + 1;
  }
  if (!below.empty()) condition += fmt::format("; and not __fish_seen_subcommand_from {}", fmt::join(below, " "));
  return condition;
}

std::string fish_completion(const CommandDescription& program) {
  std::string text = "# fish completion of tcnum, written by `tcnum --completion fish`\n";
  for (const CommandDescription* command : all_commands(program)) {
    const std::string when = fmt::format("complete -c tcnum -n {}", fish_quoted(fish_condition(*command)));
    for (const CommandDescription& each : command->commands) {
      text += fmt::format("{} -f -a {} -d {}\n", when, last_word(each.name), fish_quoted(each.help));
    }
    for (const OptionDescription& option : command->options) {
      if (option.names.empty()) continue;
      std::string names, values;
      for (const std::string& name : option.names) {
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        if (const auto known = values_of(name)) values = fmt::format(" -x -a '{}'", fmt::join(*known, " "));
      }
      if (!option.value.empty() && values.empty()) values = " -r";
      text += fmt::format("{}{}{} -d {}\n", when, names, values, fish_quoted(first_line(option.help)));
    }
  }
  return text;
}

}  // namespace

std::string completion(std::string_view shell, const CommandDescription& program) {
  if (shell == "bash") return bash_completion(program);
  if (shell == "zsh") return zsh_completion(program);
  if (shell == "fish") return fish_completion(program);
  throw InputError(fmt::format("--completion: {}; right would be bash, zsh or fish", shell));
}

}  // namespace tcnum
