// The exact emulator for those who have checked what it is given; users have tcnum/exact.hpp.
#pragma once

#include <cstdint>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// Result of element (i, j) of tile t. The tiles passed check_tiles().
std::uint64_t evaluate_exactly(const Numerics& numerics, const Tree& tree, const Tiles& tiles, std::size_t t,
                               std::size_t i, std::size_t j);

}  // namespace tcnum
