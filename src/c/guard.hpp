// Turns each exception into a status and a message, so that none reaches callers in C.
#pragma once

#include <string_view>

#include "arguments.hpp"
#include "tcnum/tcnum.h"

namespace tcnum {

/// Thrown where a callback asks to stop.
struct Stopped {};

/// The status of the exception that is being handled; keeps its message for the thread.
tcnum_status keep_failure() noexcept;

template <class Call>
tcnum_status guarded(const Call& call) noexcept {
  try {
    call();
    return TCNUM_OK;
  } catch (...) {
    return keep_failure();
  }
}

/// A call that hands back what `make` makes through `to`, which holds NULL until it has succeeded.
template <class T, class Make>
tcnum_status handed_back(T** to, std::string_view argument, const Make& make) noexcept {
  return guarded([&] {
    T*& result = result_of(to, argument);
    result = make();
  });
}

}  // namespace tcnum
