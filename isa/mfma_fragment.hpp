// Where each element of AMD's v_mfma and v_smfmac lives: (lane, place among the lane's elements) → (block, row,
// column). Source: AMD Matrix Instruction Calculator (https://github.com/ROCm/amd_matrix_instruction_calculator, commit
// 2ef9189), which prints the mapping of each instruction of gfx908, gfx90a and gfx942; every element here is where it
// says.
#pragma once

#include "sparsity.hpp"

namespace tcnum {

/// Of a matrix of one of the blocks, the products that an instruction does at once.
struct BlockElement {
  int block = 0, row = 0, column = 0;
};

/// Geometry of m × m × k. A lane's elements fill its registers from the lowest bits of the first one on. The stored
/// elements of a sparse A lie as those of a dense one with half as many columns.
struct MfmaGeometry {
  static constexpr int kLanes = 64;  ///< of a wave

  int m, k, blocks;
  int result_rows;  ///< neighbours in a column of C and D that a lane has: 4, or 1 of fp64
  bool sparse = false;

  constexpr int a_columns() const { return sparse ? k / 2 : k; }
  /// Of a lane.
  constexpr int a_elements() const { return blocks * m * a_columns() / kLanes; }
  constexpr int b_elements() const { return blocks * m * k / kLanes; }
  constexpr int accumulators() const { return blocks * m * m / kLanes; }

  /// m lanes have the rows of a block, the next ones those of the next block. Where lanes are left then, they have the
  /// next elements along k.
  constexpr BlockElement a(int lane, int e) const {
    return {lane / m % blocks, lane % m, lane / (m * blocks) * a_elements() + e};
  }
  /// Row is k, column is n.
  constexpr BlockElement b(int lane, int e) const {
    return {lane / m % blocks, lane / (m * blocks) * b_elements() + e, lane % m};
  }
  /// m lanes have the columns. Of fp64, the next ones have the next block, or, where there is none, the next row; of
  /// other formats they have the next four rows, and then the next block.
  constexpr BlockElement c(int lane, int i) const {
    const int groups = kLanes / m, group = lane / m;
    if (result_rows == 1) return {group % blocks, group / blocks + i * (groups / blocks), lane % m};
    const int nth = i / result_rows * groups + group, of_a_block = m / result_rows;
    return {nth / of_a_block, nth % of_a_block * result_rows + i % result_rows, lane % m};
  }

  // Of a sparse A, a lane says with two bits where each of its stored elements stands in its group of four, the first
  // lowest. They fill a part of a register, and ABID says which: of four for 16-bit formats, of two for 8-bit ones.
  static constexpr int kIndexBits = 2;
  constexpr int index_sets() const { return 32 / (kIndexBits * a_elements()); }
};

/// What `result_rows` is for results of a format.
constexpr int rows_of_a_lane(FormatId d) { return d == FormatId::fp64 ? 1 : 4; }

}  // namespace tcnum
