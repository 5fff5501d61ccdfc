// What messages about a file begin with.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "tcnum/error.hpp"

namespace tcnum {

/// The file that messages are about.
struct Subject {
  std::string path;

  /// "PATH: FIELD: what is wrong; expected …", as an InputError.
  template <class... Args>
  [[noreturn]] void fail(std::string_view field, fmt::format_string<Args...> problem, Args&&... args) const {
    throw InputError(fmt::format("{}: {}: {}", path, field, fmt::format(problem, std::forward<Args>(args)...)));
  }
};

}  // namespace tcnum
