// The exact emulator: what a datapath means. Slow and obvious; everything fast is tested against it.
#pragma once

#include <cstdint>
#include <span>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// The result of one dot problem: a and b hold tree.k codes each; sa and sb one scale code for each block (empty where
/// the datapath has no scales). The datapath must be valid (see validate()).
std::uint64_t emulate_exact(const Datapath& datapath, std::span<const std::uint64_t> a,
                            std::span<const std::uint64_t> b, std::uint64_t c,
                            std::span<const std::uint64_t> sa = {}, std::span<const std::uint64_t> sb = {});

/// Fills tiles.d.
void emulate_exact(const Datapath& datapath, Tiles& tiles);

}  // namespace tcnum
