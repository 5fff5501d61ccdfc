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

  /// Whether this process reports what all of them find wrong, such as an unknown option.
  bool is_first() const { return rank == 0; }
};
/// The exit status of the other processes in that case. A launcher might end the first process before it has spoken if
/// theirs were not 0.
inline constexpr int kLeftToFirst = 0;
/// The launch that the environment describes; nothing if the process was started alone.
std::optional<Launch> launch();

}  // namespace tcnum
