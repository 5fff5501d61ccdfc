// Operands of an instruction, and metadata, drawn at random: every group of every row for itself.
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

/// Codes of any kind, of D too.
inline Tiles random_tiles(const Instruction& in, std::size_t count, std::size_t m, std::size_t n,
                          std::uint64_t seed = 1) {
  Tiles tiles = make_operands(in, count, m, n);
  std::mt19937_64 random(seed);
  if (in.sparse()) draw_positions(in, tiles, random);
  const auto fill = [&](Codes& codes, FormatId id) {
    for (std::size_t i = 0; i < codes.size(); ++i) codes.set(i, random() & format(id).code_mask());
  };
  fill(tiles.a, in.a);
  fill(tiles.b, in.b);
  fill(tiles.c, in.c);
  fill(tiles.d, in.d);
  fill(tiles.sa, in.scales.format);
  fill(tiles.sb, in.scales.format);
  return tiles;
}

}  // namespace tcnum
