// What the program knows of the library that joins ranks by MPI, and loads only where it was started among them.
#pragma once

#include <chrono>

#include "ranks.hpp"

namespace tcnum {

inline constexpr const char* kJoiningLibrary = "libtcnum_mpi.so";
inline constexpr const char* kJoiningFunction = "tcnum_join_ranks";
/// Its one function. A rank of which nothing is heard for so long is silent. The caller owns the result.
using JoinRanks = Ranks*(std::chrono::milliseconds silence);

}  // namespace tcnum
