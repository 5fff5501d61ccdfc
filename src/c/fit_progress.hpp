// The progress of a fit, told to a callback in C that may stop it.
#pragma once

#include <functional>

#include "tcnum/fit.hpp"

namespace tcnum {

/// `Options`: tcnum_probe_options or tcnum_gemm_fit_options.
template <class Options>
std::function<bool(const FitProgress&)> fit_progress_of(const Options& given) {
  if (given.progress == nullptr) return {};
  return [tell = given.progress, user = given.progress_user](const FitProgress& at) {
    return tell(user, at.phase.data(), at.done, at.all) == 0;  // phases are literals
  };
}

}  // namespace tcnum
