// Where dot problems go on the tiles of an instruction: the host's half of a probe, without CUDA.
//
// An instruction computes tiles of M × N. Requested tiles of any m × n are cut into blocks of rows (M of them, or 8 if
// m ≤ 8) and of columns (N, or 8 if n ≤ 8). A block of 8 rows is put on each of the M / 8 row groups of the
// instruction, group g rotated by g, and likewise a block of 8 columns on each of the N / 8 column groups, so that one
// launch computes each problem at many positions. What is not filled is zero; the metadata of rows that are not filled
// is legal.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// Instruction row i gets row (i + group + rows) of its block, column j column (j + group + columns), each modulo the
/// block's size.
struct Rotation {
  int rows = 0, columns = 0;
};

/// Operands and results of some instruction tiles: a [count, M, K], b [count, K, N], c and d [count, M, N]; of sparse
/// instructions a and e [count, M, K/2]; with block scales, sa [count, M, blocks] and sb [count, blocks, N].
struct PackedTiles {
  std::size_t count = 0;
  std::vector<std::byte> a, b, c, d, e, sa, sb;
};

class Placement {
 public:
  /// Takes from `tiles` only its shape; k and the formats are the instruction's.
  Placement(const Instruction& instruction, const Tiles& tiles, Rotation rotation = {});

  /// How many instruction tiles all the requested tiles take.
  std::size_t tile_count() const { return count_ * row_blocks_ * column_blocks_; }
  /// Bytes of the operands and results of one instruction tile.
  std::size_t tile_bytes() const {
    return a_bytes() + b_bytes() + c_bytes() + d_bytes() + e_bytes() + sa_bytes() + sb_bytes();
  }
  /// Whether one launch computes each problem more than once.
  bool has_copies() const { return block_rows_ < instruction_.m || block_columns_ < instruction_.n; }

  /// Fills a, b, c, e, sa and sb of instruction tiles first … first + count − 1, and sizes d.
  void pack(const Tiles& tiles, std::size_t first, std::size_t count, PackedTiles& packed) const;
  /// Takes tiles.d from the first row and column group of packed.d. The placement must not be rotated.
  void store(const PackedTiles& packed, std::size_t first, Tiles& tiles) const;
  /// Compares every copy in packed.d with tiles.d, which store() filled; at the first difference throws
  /// std::runtime_error naming the instruction, what the result depends on, the tile, the element, both positions and
  /// both codes.
  void compare(const PackedTiles& packed, std::size_t first, const Tiles& tiles,
               std::string_view depends_on = "its position") const;

 private:
  struct Block {
    std::size_t tile, row, column;  ///< of the block's first element in the requested tiles
  };
  Block block(std::size_t instruction_tile) const;
  std::size_t source_row(int i) const;
  std::size_t source_column(int j) const;
  void copy_columns(std::byte* to, const std::byte* from, std::size_t size, std::size_t valid) const;

  std::size_t a_depth() const { return static_cast<std::size_t>(instruction_.products()); }
  std::size_t a_bytes() const { return static_cast<std::size_t>(instruction_.m) * a_depth() * a_size_; }
  std::size_t e_bytes() const {
    return instruction_.sparse() ? static_cast<std::size_t>(instruction_.m) * a_depth() : 0;
  }
  std::size_t b_bytes() const { return static_cast<std::size_t>(instruction_.k * instruction_.n) * b_size_; }
  std::size_t scale_blocks() const { return static_cast<std::size_t>(instruction_.scale_blocks()); }
  std::size_t sa_bytes() const { return static_cast<std::size_t>(instruction_.m) * scale_blocks() * scale_size_; }
  std::size_t sb_bytes() const { return static_cast<std::size_t>(instruction_.n) * scale_blocks() * scale_size_; }
  std::size_t c_bytes() const { return static_cast<std::size_t>(instruction_.m * instruction_.n) * c_size_; }
  std::size_t d_bytes() const { return static_cast<std::size_t>(instruction_.m * instruction_.n) * d_size_; }

  Instruction instruction_;
  Rotation rotation_;
  std::size_t count_, m_, n_;
  int block_rows_, block_columns_;
  std::size_t row_blocks_, column_blocks_;
  std::size_t a_size_, b_size_, c_size_, d_size_, scale_size_;  ///< bytes of an element
};

}  // namespace tcnum
