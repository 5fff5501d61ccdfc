// What the ways of `tcnum emulate` share.
#pragma once

#include "commands.hpp"

namespace tcnum {

/// How many compute.
unsigned threads_of(const EmulateOptions& options);

/// `tcnum emulate --serve`: answers until the input ends.
int serve_datapath(const EmulateOptions& options);

}  // namespace tcnum
