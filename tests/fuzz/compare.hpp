// The fast emulator against the exact one.
#pragma once

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum::fuzz {

/// Any difference is wrong.
void compare_emulators(const Datapath& datapath, Tiles tiles);

}  // namespace tcnum::fuzz
