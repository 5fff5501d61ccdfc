// Metadata drawn at random: every group of every row for itself.
#pragma once

#include <cstdint>
#include <random>

#include "isa/sparsity.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {

/// Sets e to any of what is legal.
inline void draw_positions(const Instruction& instruction, Tiles& tiles, std::mt19937_64& random) {
  const SparseGroup group = group_of(instruction);
  const auto stored = static_cast<std::size_t>(group.stored());
  for (std::size_t first = 0; first < tiles.e.size(); first += stored) {
    SparseGroup::Pattern pattern{};
    do {
      pattern = SparseGroup::pattern(static_cast<int>(random() % SparseGroup::kPatterns));
    } while (!group.legal(pattern, instruction.sparsity == Sparsity::ascending));
    for (std::size_t s = 0; s < stored; ++s) {
      tiles.e.set(first + s, static_cast<std::uint64_t>(group.position(pattern, static_cast<int>(s))));
    }
  }
}

}  // namespace tcnum
