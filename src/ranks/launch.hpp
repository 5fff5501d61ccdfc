// What mpirun, or another launcher, says to the processes that it starts.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ranks.hpp"

namespace tcnum {

/// One of several processes that were started together.
struct Launch {
  int rank = 0, size = 1;
  std::string says_so;  ///< the variable of the environment that has the size

  /// The one that speaks for all where all have the same to say.
  bool is_first() const { return rank == 0; }
};
/// The exit status of the others then: with any but 0, mpirun might end the first one before it has spoken.
inline constexpr int kLeftToFirst = 0;
/// Nothing for a process that was started alone. Reads the environment, and nothing of MPI.
std::optional<Launch> launch();

/// Joins the others; all of them must. Throws UnavailableError if this program was built without MPI, or with another
/// one than the launcher's; InputError if TCNUM_RANK_TIMEOUT is no number of seconds.
std::unique_ptr<Ranks> join_ranks(const Launch& launch);

/// Whether what a process writes to standard error comes out on a terminal although it does not write to one: the
/// launcher passes it on.
bool launcher_shows_stderr_on_terminal();

}  // namespace tcnum
