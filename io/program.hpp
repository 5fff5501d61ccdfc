// Other programs, and what they write, line by line.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tcnum {

// --- Text in lines, as it comes.

/// Puts pieces of text together and cuts them into lines.
class Lines {
 public:
  using Take = std::function<void(const std::string& line)>;

  /// `where` is what messages begin with.
  Lines(std::string where, Take take) : where_(std::move(where)), take_(std::move(take)) {}

  /// Hands on the lines that are complete. Throws InputError if one is endless.
  void add(std::string_view piece);
  /// Hands on the last one.
  void finish();

 private:
  std::string where_, line_;
  Take take_;
};

// --- Other programs.

/// Runs a program that is looked for in PATH, with these arguments as they are: no shell sees them. It reads nothing;
/// what it writes to standard output is handed on line by line, what to standard error is not looked at. Returns its
/// exit status, 128 and more if a signal ended it. Throws UnavailableError if it cannot be started.
int run_program(const std::string& program, const std::vector<std::string>& arguments, const Lines::Take& take);

}  // namespace tcnum
