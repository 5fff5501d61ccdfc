// The ways a request can fail that are not bugs; the command line maps them to exit statuses 2, 3 and 1.
#pragma once

#include <stdexcept>
#include <string_view>

namespace tcnum {

/// The user's input is wrong. what() is one line that names the file, the field and what is expected. It is
/// printable, and short whatever the input holds.
struct InputError : std::runtime_error {
  explicit InputError(std::string_view message);
};

/// This machine lacks what was asked for: no GPU, a GPU of another architecture, no recorded answers, a full disk.
/// what() is one line too.
struct UnavailableError : std::runtime_error {
  explicit UnavailableError(std::string_view message);
};

/// Who answers contradicts himself: asked the same again, he says something else. what() is one line too.
struct ContradictionError : std::runtime_error {
  explicit ContradictionError(std::string_view message);
};

}  // namespace tcnum
