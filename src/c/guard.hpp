// What stands between callers in C and exceptions: none passes, and each becomes a status and a message.
#pragma once

#include "tcnum/tcnum.h"

namespace tcnum {

/// Thrown where a callback of the caller's says to stop.
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

}  // namespace tcnum
