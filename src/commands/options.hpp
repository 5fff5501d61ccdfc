// What the commands' options have in common. Whoever includes this compiles CLI11, which takes long.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>

#include "names.hpp"
#include "program.hpp"

namespace tcnum {

/// The type of a value that names a file, or a folder, which the command writes.
inline constexpr const char* kWritten = "FILE";

/// An option of that type. refuse_lost_files() keeps what any other option names from being overwritten.
inline CLI::Option* add_output(CLI::App& command, const std::string& name, std::string& path, const std::string& help) {
  return command.add_option(name, path, help)->type_name(kWritten);
}

/// Options that live as long as the action that is told them.
template <class Options>
std::shared_ptr<Options> options_of(CLI::App& command, int (*run)(const Options&), Action& action) {
  auto options = std::make_shared<Options>();
  command.callback([options, run, &action] { action = [options, run] { return run(*options); }; });
  return options;
}

using OptionNames = std::initializer_list<const char*>;
/// None of these options is given without the other one.
inline void need(CLI::App& command, OptionNames options, const char* other) {
  for (const char* each : options) command.get_option(each)->needs(command.get_option(other));
}
/// None of these options is given with one of the others.
inline void exclude(CLI::App& command, OptionNames options, OptionNames others) {
  for (const char* each : options) {
    for (const char* other : others) command.get_option(each)->excludes(command.get_option(other));
  }
}

template <class Number>
std::string default_text(const Number& number) {
  return fmt::format("{}", number);
}
/// One that is worked out from other options has none.
template <class Number>
std::string default_text(const std::optional<Number>&) {
  return "";
}

/// An option whose text is read by a function of names.hpp.
template <class Number, class Parse>
CLI::Option* add_number(CLI::App& command, const std::string& name, Number& number, const std::string& help,
                        Parse parse) {
  return command
      .add_option_function<std::string>(
          name, [&number, name, parse](const std::string& text) { number = parse(name, text); }, help)
      ->type_name("NUMBER")
      ->default_str(default_text(number));
}
inline void add_whole(CLI::App& command, const std::string& name, std::uint64_t& number, const std::string& help) {
  add_number(command, name, number, help,
             [](std::string_view option, std::string_view text) { return parse_whole(option, text); });
}

}  // namespace tcnum
