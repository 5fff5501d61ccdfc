#include "placement.hpp"

#include <fmt/format.h>
#include "isa/fragment.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tcnum {

namespace {

std::size_t divide_up(std::size_t x, std::size_t by) { return (x + by - 1) / by; }

std::uint64_t code_at(const std::byte* from, std::size_t size) {
  std::uint64_t code = 0;
  std::memcpy(&code, from, size);
  return code;
}

/// `width` elements, rotated, from a row of a matrix of which only the first `valid` are there.
void copy_rotated(std::byte* to, const std::byte* from, std::size_t size, std::size_t valid, std::size_t width,
                  std::size_t rotation) {
  // Source columns rotation … width − 1 go to the front, 0 … rotation − 1 behind them.
  if (valid > rotation) std::memcpy(to, from + rotation * size, (std::min(valid, width) - rotation) * size);
  std::memcpy(to + (width - rotation) * size, from, std::min(valid, rotation) * size);
}

/// Where row or column i of an instruction comes from, in its block.
std::size_t source(int i, int block, int rotation) {
  const int group = i / block;  // 0 throughout where a block is as large as the instruction
  return static_cast<std::size_t>((i + group + rotation) % block);
}

}  // namespace

Placement::Placement(const Instruction& instruction, const Tiles& tiles, Rotation rotation)
    : instruction_(instruction),
      rotation_(rotation),
      count_(tiles.count),
      m_(tiles.m),
      n_(tiles.n),
      block_rows_(tiles.m <= 8 ? std::min(8, instruction.m) : instruction.m),
      block_columns_(tiles.n <= 8 ? std::min(8, instruction.n) : instruction.n),
      row_blocks_(divide_up(tiles.m, static_cast<std::size_t>(block_rows_))),
      column_blocks_(divide_up(tiles.n, static_cast<std::size_t>(block_columns_))),
      a_size_(static_cast<std::size_t>(format(instruction.a).storage_bytes())),
      b_size_(static_cast<std::size_t>(format(instruction.b).storage_bytes())),
      c_size_(static_cast<std::size_t>(format(instruction.c).storage_bytes())),
      d_size_(static_cast<std::size_t>(format(instruction.d).storage_bytes())),
      scale_size_(instruction.scaled() ? static_cast<std::size_t>(format(instruction.scales.format).storage_bytes())
                                       : 0) {}

Placement::Block Placement::block(std::size_t instruction_tile) const {
  const std::size_t in_tile = instruction_tile % (row_blocks_ * column_blocks_);
  return {instruction_tile / (row_blocks_ * column_blocks_),
          in_tile / column_blocks_ * static_cast<std::size_t>(block_rows_),
          in_tile % column_blocks_ * static_cast<std::size_t>(block_columns_)};
}

std::size_t Placement::source_row(int i) const { return source(i, block_rows_, rotation_.rows); }
std::size_t Placement::source_column(int j) const { return source(j, block_columns_, rotation_.columns); }

/// One row of B, C or D, on all column groups; of `from`, only the first `valid` elements are there.
void Placement::copy_columns(std::byte* to, const std::byte* from, std::size_t size, std::size_t valid) const {
  const auto width = static_cast<std::size_t>(block_columns_);
  for (int j = 0; j < instruction_.n; j += block_columns_) {
    copy_rotated(to + static_cast<std::size_t>(j) * size, from, size, valid, width, source_column(j));
  }
}

void Placement::pack(const Tiles& tiles, std::size_t first, std::size_t count, PackedTiles& packed) const {
  packed.count = count;
  packed.a.assign(count * a_bytes(), std::byte{0});
  packed.b.assign(count * b_bytes(), std::byte{0});
  packed.c.assign(count * c_bytes(), std::byte{0});
  packed.d.resize(count * d_bytes());
  packed.e.resize(count * e_bytes());
  packed.sa.assign(count * sa_bytes(), std::byte{0});
  packed.sb.assign(count * sb_bytes(), std::byte{0});
  const std::size_t stored = static_cast<std::size_t>(group_of(instruction_).stored());
  for (std::size_t i = 0; i < packed.e.size(); ++i) packed.e[i] = static_cast<std::byte>(i % stored);

  const std::size_t k = static_cast<std::size_t>(instruction_.k), n = static_cast<std::size_t>(instruction_.n);
  const std::size_t depth = a_depth(), blocks = scale_blocks();
  const std::byte* const a = tiles.a.bytes().data();
  const std::byte* const b = tiles.b.bytes().data();
  const std::byte* const c = tiles.c.bytes().data();
  std::byte* to_a = packed.a.data();
  std::byte* to_b = packed.b.data();
  std::byte* to_c = packed.c.data();
  std::size_t to_e = 0, to_sa = 0, to_sb = 0;
  for (std::size_t x = first; x < first + count; ++x) {
    const Block from = block(x);
    for (std::size_t kk = 0; kk < k; ++kk, to_b += n * b_size_) {
      copy_columns(to_b, b + tiles.b_index(from.tile, kk, from.column) * b_size_, b_size_, n_ - from.column);
    }
    for (std::size_t s = 0; s < blocks; ++s, to_sb += n * scale_size_) {
      const std::size_t at = (from.tile * blocks + s) * n_ + from.column;
      copy_columns(packed.sb.data() + to_sb, tiles.sb.bytes().data() + at * scale_size_, scale_size_, n_ - from.column);
    }
    const std::size_t scales_of_row = blocks * scale_size_;
    for (int i = 0; i < instruction_.m; ++i, to_sa += scales_of_row) {
      const std::size_t row = from.row + source_row(i);
      if (row >= m_ || blocks == 0) continue;
      std::memcpy(packed.sa.data() + to_sa, tiles.sa.bytes().data() + (from.tile * m_ + row) * scales_of_row,
                  scales_of_row);
    }
    for (int i = 0; i < instruction_.m; ++i, to_a += depth * a_size_, to_e += depth, to_c += n * c_size_) {
      const std::size_t row = from.row + source_row(i);
      if (row >= m_) continue;
      const std::size_t at = tiles.a_index(from.tile, row, 0);
      std::memcpy(to_a, a + at * a_size_, depth * a_size_);
      if (instruction_.sparse()) std::memcpy(packed.e.data() + to_e, tiles.e.bytes().data() + at, depth);
      copy_columns(to_c, c + tiles.c_index(from.tile, row, from.column) * c_size_, c_size_, n_ - from.column);
    }
  }
}

void Placement::store(const PackedTiles& packed, std::size_t first, Tiles& tiles) const {
  if (rotation_.rows != 0 || rotation_.columns != 0) throw std::logic_error("store: the placement is rotated");
  for (std::size_t x = 0; x < packed.count; ++x) {
    const Block to = block(first + x);
    const std::size_t rows = std::min(m_ - to.row, static_cast<std::size_t>(block_rows_));
    const std::size_t columns = std::min(n_ - to.column, static_cast<std::size_t>(block_columns_));
    for (std::size_t i = 0; i < rows; ++i) {
      std::memcpy(tiles.d.bytes().data() + tiles.c_index(to.tile, to.row + i, to.column) * d_size_,
                  packed.d.data() + x * d_bytes() + i * static_cast<std::size_t>(instruction_.n) * d_size_,
                  columns * d_size_);
    }
  }
}

void Placement::compare(const PackedTiles& packed, std::size_t first, const Tiles& tiles,
                        std::string_view depends_on) const {
  for (std::size_t x = 0; x < packed.count; ++x) {
    const Block from = block(first + x);
    for (int i = 0; i < instruction_.m; ++i) {
      const std::size_t row = from.row + source_row(i);
      if (row >= m_) continue;
      for (int j = 0; j < instruction_.n; ++j) {
        const std::size_t column = from.column + source_column(j);
        if (column >= n_) continue;
        const std::size_t here = x * d_bytes() + static_cast<std::size_t>(i * instruction_.n + j) * d_size_;
        const std::size_t index = tiles.c_index(from.tile, row, column);
        if (std::memcmp(packed.d.data() + here, tiles.d.bytes().data() + index * d_size_, d_size_) == 0) continue;
        const std::size_t digits = 2 * d_size_;
        throw std::runtime_error(fmt::format(
            "{}: a result depends on {}: tile {}, element ({}, {}) is 0x{:0{}x} at row {}, column {} of the "
            "instruction and 0x{:0{}x} at row {}, column {}",
            instruction_.name(), depends_on, from.tile, row, column, tiles.d[index], digits, row - from.row,
            column - from.column, code_at(packed.d.data() + here, d_size_), digits, i, j));
      }
    }
  }
}

}  // namespace tcnum
