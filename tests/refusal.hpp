// What an attempt is refused with.
#pragma once

#include <string>

#include "tcnum/error.hpp"

namespace tcnum {

/// Empty if it is not.
template <class Attempt>
std::string refusal(const Attempt& attempt) {
  try {
    static_cast<void>(attempt());
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace tcnum
