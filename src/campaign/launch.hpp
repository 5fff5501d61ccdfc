// Finds out whether mpirun, or another launcher, has started several processes.
#pragma once

#include <optional>
#include <string>

namespace tcnum {

/// One of several processes that were started together.
struct Launch {
  int rank = 0, size = 1;
  int local_rank = 0;         ///< among the processes of this host
  std::string size_variable;  ///< the environment variable that holds the size
};
/// The launch that the environment describes; nothing if the process was started alone.
std::optional<Launch> launch();

}  // namespace tcnum
