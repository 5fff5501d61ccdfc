// The two ways a request can fail that are not bugs; the command line maps them to exit statuses 2 and 3.
#pragma once

#include <stdexcept>

namespace tcnum {

/// The user's input is wrong. what() is one line that names the file, the field and what would be right.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// This machine lacks what was asked for: no GPU, a GPU of another architecture, no recorded answers.
struct UnavailableError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace tcnum
