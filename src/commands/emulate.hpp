// What the ways of `tcnum emulate` share.
#pragma once

#include "commands.hpp"

namespace tcnum {

/// `tcnum emulate --serve`: answers until the input ends.
int serve_datapath(const EmulateOptions& options);

}  // namespace tcnum
