// Where each element of a tile lives: (lane or thread, register, position in the register) → (row, column).
// One rule covers every mma shape from m8n8k4 (fp64) to m16n8k256 (b1), dense and sparse, and wgmma's accumulators.
// Source: PTX ISA, "Matrix fragments for mma.m…", "… for sparse mma.m…" and "Register fragments … wgmma".
#pragma once

#include "sparsity.hpp"

namespace tcnum {

struct Element {
  int row = 0, column = 0;
};

/// Geometry of one mma: `register_elements` is the number of elements in a register of A and B (1 for fp64 and tf32,
/// else as many as fill 32 bits: 2 for 16-bit, 4 for 8-bit, 8 for 4-bit formats, 32 bits). The stored elements of a
/// sparse A lie as those of a dense one with half as many columns.
struct MmaGeometry {
  int m, n, k, register_elements;
  bool sparse = false;

  constexpr int a_columns() const { return sparse ? k / 2 : k; }
  constexpr int a_registers() const { return m * a_columns() / 32 / register_elements; }
  constexpr int b_registers() const { return k * n / 32 / register_elements; }
  constexpr int accumulators() const { return m * n / 32; }

  /// Element e of register r of A: registers alternate between rows g and g + 8 (if m is 16), then step along k.
  constexpr Element a(int lane, int r, int e) const {
    const int row_halves = m / 8;
    return {lane / 4 + 8 * (r % row_halves),
            (r / row_halves) * 4 * register_elements + (lane % 4) * register_elements + e};
  }
  /// Row is k, column is n.
  constexpr Element b(int lane, int r, int e) const {
    return {r * 4 * register_elements + (lane % 4) * register_elements + e, lane / 4};
  }
  /// Accumulator i, counted in elements (two fp16 accumulators share a register).
  constexpr Element c(int lane, int i) const { return {lane / 4 + 8 * (i / 2), (lane % 4) * 2 + i % 2}; }

  // The metadata of a sparse A: of each four lanes, 1, 2 or all 4 have a register of four bits for each of eight
  // groups; the selector f says which. PTX's rule for them depends on the width of elements: of 16 and 32 bits, a
  // register has four groups of row g and then four of row g + 8, and the next lane has the next groups; of 8 and 4
  // bits, a register has eight groups of one row, and lanes alternate between the rows.

  static constexpr int kMetadataGroups = 8;  ///< of a register
  /// Of a row of A.
  constexpr int groups() const { return k / sparse_group(32 / register_elements).size; }
  /// Of each four.
  constexpr int metadata_lanes() const { return m * groups() / (8 * kMetadataGroups); }
  constexpr int selectors() const { return 4 / metadata_lanes(); }
  constexpr bool has_metadata(int lane, int selector) const { return lane % 4 / metadata_lanes() == selector; }
  /// The i-th group in the register of a lane that has metadata: its row of A, and which of the row's it is.
  constexpr Element metadata(int lane, int i) const {
    const int first_row = lane / 4, nth = lane % metadata_lanes();
    if (register_elements <= 2) return {first_row + 8 * (i / 4), 4 * nth + i % 4};
    return {first_row + 8 * (nth % 2), 8 * (nth / 2) + i};
  }
};

/// The fragments of an mma that is not of Volta's shape. A wmma's are opaque, and a wgmma's operands lie in shared
/// memory.
constexpr MmaGeometry geometry_of(const Instruction& in) {
  const int bits = element_bits(in, in.a);
  return {in.m, in.n, in.k, bits >= 32 ? 1 : 32 / bits, in.sparse()};
}

/// The block scales of an mma: of each four lanes, two have a register with a row's scales of A, and one with a
/// column's of B. Numbers in the instruction say which, and from which byte of the register on: there are one, two or
/// four. Source: PTX ISA, "Block scaling for mma.sync".
struct ScaleFragments {
  static constexpr int kBytes = 4;  ///< of a register

  /// `thread`: 0 or 1 for A, 0 to 3 for B.
  static constexpr bool has_a(int lane, int thread) { return lane % 4 / 2 == thread; }
  static constexpr int a_row(int lane) { return lane / 4 + 8 * (lane % 2); }
  static constexpr bool has_b(int lane, int thread) { return lane % 4 == thread; }
  static constexpr int b_column(int lane) { return lane / 4; }
};

/// An fp16 mma of Volta's shape, m8n8k4: a warp computes four tiles, one for each quad pair: lanes 4 q … 4 q + 3 and
/// those 16 further on. Unlike other fragments, those of A and B depend on the operand's layout.
/// Source: PTX ISA, "Matrix fragments for mma.m8n8k4 with .f16 floating point type".
struct VoltaFragments {
  static constexpr int kQuadPairs = 4;
  static constexpr int kOperands = 4, kAccumulators = 8;  ///< elements of a lane

  static constexpr int quad_pair(int lane) { return lane % 16 / 4; }

  /// Element i of A; `columns`: A's layout is .col.
  static constexpr Element a(int lane, int i, bool columns) {
    return columns ? Element{i + upper(lane), lane % 4} : Element{lane % 4 + upper(lane), i};
  }
  /// Row is k, column is n; `columns`: B's layout is .col.
  static constexpr Element b(int lane, int i, bool columns) {
    return columns ? Element{i, lane % 4 + upper(lane)} : Element{lane % 4, i + upper(lane)};
  }
  /// Accumulator i of 16 bits, or of 32.
  static constexpr Element c(int lane, int i, int bits) {
    return bits == 16 ? Element{lane % 4 + upper(lane), i}
                      : Element{lane % 2 + (i & 2) + upper(lane), (i & 4) + (lane & 2) + i % 2};
  }

 private:
  static constexpr int upper(int lane) { return lane < 16 ? 0 : 4; }
};

/// Accumulator i of thread `thread` (0 … 127) of a wgmma m64nNkK: each warp has 16 rows.
constexpr Element wgmma_accumulator(int thread, int i) {
  const int warp = thread / 32, lane = thread % 32;
  return {16 * warp + lane / 4 + 8 * ((i / 2) % 2), 8 * (i / 4) + (lane % 4) * 2 + i % 2};
}

}  // namespace tcnum
