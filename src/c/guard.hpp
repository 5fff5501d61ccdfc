// Turns each exception into a status and a message, so that none reaches callers in C.
#pragma once

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

}  // namespace tcnum
