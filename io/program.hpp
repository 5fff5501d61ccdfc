// Other programs.
#pragma once

#include <string>
#include <vector>

#include "lines.hpp"

namespace tcnum {

/// Runs a program that is looked for in PATH, with these arguments as they are: no shell sees them. It reads nothing;
/// what it writes to standard output is handed on line by line, what to standard error is not looked at. Returns its
/// exit status, 128 and more if a signal ended it. Throws UnavailableError if it cannot be started.
int run_program(const std::string& program, const std::vector<std::string>& arguments, const Lines::Take& take);

}  // namespace tcnum
