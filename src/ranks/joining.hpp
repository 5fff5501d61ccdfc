// The interface of the library that makes ranks by MPI. The program loads it only where a launcher has started it.
#pragma once

#include "ranks.hpp"

namespace tcnum {

inline constexpr const char* kJoiningLibrary = "libtcnum_mpi.so";
inline constexpr const char* kJoiningFunction = "tcnum_join_ranks";
/// The only function of the library. The caller owns the result; it is null if MPI does not allow calls from several
/// threads, one at a time (MPI_THREAD_SERIALIZED).
using JoinRanks = Ranks*();

}  // namespace tcnum
