// What shells are told of the command line. All of it is made from what parses the command line.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace tcnum {

/// A script that makes "bash", "zsh" or "fish" ask `tcnum --complete` what may follow. Throws InputError if the shell
/// is another.
std::string completion_script(std::string_view shell);

/// What may stand in place of the last word, the others being as they are: one a line. Nothing where files may.
std::string completions(const CLI::App& program, std::span<char* const> words);

}  // namespace tcnum
