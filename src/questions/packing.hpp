// Problems side by side in tiles, as oracles and emulators take them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// All zeros (+0), with block scales of 1 where the instruction has them.
Problem zero_problem(const Instruction& instruction);

/// Puts problems on the diagonals of tiles of 8 × 8: problem p is element (p % 8, p % 8) of tile p / 8. The elements
/// off the diagonal are problems too: row i of one with column j of another, and the accumulator of a third.
Tiles pack(const Instruction& instruction, std::span<const Problem> problems);
inline constexpr std::size_t kPackSide = 8;

/// `count` tiles of m × n. Row r and column r of tile t are problem t · max(m, n) + r, so that the diagonal has whole
/// problems; the accumulators off it are those of others.
Tiles tiles_of(const Instruction& instruction, std::size_t count, std::size_t m, std::size_t n,
               const std::function<Problem(std::size_t)>& problem);

}  // namespace tcnum
