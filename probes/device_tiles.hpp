// Operands and results on a device, as kernels get them.
#pragma once

#include <cstddef>

namespace tcnum {

/// Device pointers to `count` instruction tiles, packed as in PackedTiles. They lie in grids of `rows` × `columns`, row
/// by row and grid after grid; the tiles of a grid's row share one tile of A, those of its column one of B.
struct DeviceTiles {
  const void* a;
  const void* b;
  const void* c;
  void* d;
  const void* e;        ///< of sparse instructions
  const void *sa, *sb;  ///< block scales: of a tile of A [M][blocks], of one of B [blocks][N]
  std::size_t count;
  int variant = 0;  ///< of the kernel's
  unsigned rows = 1, columns = 1;
  void* stream = nullptr;  ///< CUDA's or HIP's that the kernel runs in; null: the default one

  constexpr std::size_t a_tile(std::size_t tile) const { return tile / columns; }
  constexpr std::size_t b_tile(std::size_t tile) const { return tile / (rows * columns) * columns + tile % columns; }
};

}  // namespace tcnum
