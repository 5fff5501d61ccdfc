// Where each element of a tile lives: (lane or thread, register, position in the register) → (row, column).
// One rule covers every dense mma shape from m8n8k4 (fp64) to m16n8k256 (b1), and wgmma's accumulators.
// Source: PTX ISA, "Matrix fragments for mma.m…" and "Register fragments … wgmma".
#pragma once

namespace tcnum {

struct Element {
  int row = 0, column = 0;
};

/// Geometry of one mma: `register_elements` is the number of elements in a register of A and B (1 for fp64 and tf32,
/// else as many as fill 32 bits: 2 for 16-bit, 4 for 8-bit, 8 for 4-bit formats, 32 bits).
struct MmaGeometry {
  int m, n, k, register_elements;

  constexpr int a_registers() const { return m * k / 32 / register_elements; }
  constexpr int b_registers() const { return k * n / 32 / register_elements; }
  constexpr int accumulators() const { return m * n / 32; }

  /// Element e of register r of A: registers alternate between rows g and g + 8 (if m is 16), then step along k.
  constexpr Element a(int lane, int r, int e) const {
    const int row_halves = m / 8;
    return {lane / 4 + 8 * (r % row_halves), (r / row_halves) * 4 * register_elements + (lane % 4) * register_elements + e};
  }
  /// Row is k, column is n.
  constexpr Element b(int lane, int r, int e) const {
    return {r * 4 * register_elements + (lane % 4) * register_elements + e, lane / 4};
  }
  /// Accumulator i, counted in elements (two fp16 accumulators share a register).
  constexpr Element c(int lane, int i) const { return {lane / 4 + 8 * (i / 2), (lane % 4) * 2 + i % 2}; }
};

/// Accumulator i of thread `thread` (0 … 127) of a wgmma m64nNkK: each warp has 16 rows.
constexpr Element wgmma_accumulator(int thread, int i) {
  const int warp = thread / 32, lane = thread % 32;
  return {16 * warp + lane / 4 + 8 * ((i / 2) % 2), 8 * (i / 4) + (lane % 4) * 2 + i % 2};
}

}  // namespace tcnum
