// Finds out whether mpirun, or another launcher, has started several processes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ranks.hpp"

namespace tcnum {

/// One of several processes that were started together.
struct Launch {
  int rank = 0, size = 1;
  std::string size_variable;  ///< the environment variable that holds the size

  /// Whether this process reports what all of them find wrong, such as an unknown option.
  bool is_first() const { return rank == 0; }
};
/// The exit status of the other processes in that case. A launcher might end the first process before it has spoken if
/// theirs were not 0.
inline constexpr int kLeftToFirst = 0;
/// The launch that the environment describes; nothing if the process was started alone. Does not use MPI.
std::optional<Launch> launch();

/// Joins the other ranks; all of them must call it. Throws UnavailableError if this program was built without MPI, or
/// with another MPI than that of the launcher.
std::unique_ptr<Ranks> join_ranks(const Launch& launch);

/// Whether the launcher passes standard error of this process on to a terminal.
bool launcher_shows_stderr_on_terminal();

}  // namespace tcnum
