// Structured sparsity: a sparse A has half of its elements, and says of each where it stood.
// Source: PTX ISA, "Sparse matrix storage".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tcnum/instruction.hpp"

namespace tcnum {

/// A row of A is cut into groups of `size` elements along k, of which half are stored. The metadata divides a group
/// into four units and names the two that are stored, two bits each, the first lowest. A unit is an element, or a pair
/// of 4-bit elements, or half of a tf32 element.
struct SparseGroup {
  int size;

  static constexpr int kUnits = 4;
  static constexpr int kMetadataBits = 4;

  constexpr int stored() const { return size / 2; }
  /// Neighbours that are stored together; of tf32, one element by itself.
  constexpr int run() const { return size > kUnits ? size / kUnits : 1; }

  /// A choice of stored elements, by the places of their units. Some are not legal.
  struct Pattern {
    int first, second;
  };
  static constexpr int kPatterns = kUnits * kUnits;
  static constexpr Pattern pattern(int number) { return {number % kUnits, number / kUnits}; }
  /// In PTX's words, 0b0100, 0b1000, 0b1001, 0b1100, 0b1101 and 0b1110 in ascending order; if any order will do, all
  /// but 0b0000, 0b0101, 0b1010 and 0b1111; of tf32, whose elements are two units each, 0b0100 and 0b1110.
  constexpr bool legal(Pattern p, bool ascending) const {
    if (size < kUnits) return p.first % 2 == 0 && p.second == p.first + 1;
    return ascending ? p.first < p.second : p.first != p.second;
  }

  /// Where stored element s of a group stands in it.
  constexpr int position(Pattern p, int s) const {
    if (size < kUnits) return p.first / 2;
    return (s < run() ? p.first : p.second) * run() + s % run();
  }
  /// The pattern of a group whose stored elements stand at `positions`, if there is one; else one that is not legal.
  template <class Position>
  constexpr Pattern pattern_of(const Position* positions) const {
    constexpr Pattern kNone = {0, 0};
    for (int s = 0; s < stored(); ++s) {
      if (positions[s] >= size) return kNone;
    }
    const int last = positions[stored() - 1];
    const Pattern p = size < kUnits ? Pattern{2 * last, 2 * last + 1} : Pattern{positions[0] / run(), last / run()};
    for (int s = 0; s < stored(); ++s) {
      if (positions[s] != position(p, s)) return kNone;
    }
    return p;
  }
  static constexpr unsigned metadata(Pattern p) { return static_cast<unsigned>(p.first | p.second << 2); }
};

/// Bits that an element takes in what is given to the hardware. PTX's kinds f8f6f4 and mxf8f6f4 have fp6 and fp4 in 8
/// bits each; so it is with AMD's here, whose registers nothing asks for.
constexpr int element_bits(ScaleKind scales, FormatId id) {
  const Format& f = format(id);
  const bool packed = scales == ScaleKind::mxf4 || scales == ScaleKind::mxf4nvf4 || !f.floating;
  return packed || f.storage_bits >= 8 ? f.storage_bits : 8;
}
constexpr int element_bits(const Instruction& in, FormatId id) { return element_bits(in.scales.kind, id); }
/// Where in these the element's lowest bit is: fp4 stands in the middle of 8 bits.
constexpr int element_shift(ScaleKind scales, FormatId id) {
  const Format& f = format(id);
  return f.floating && f.storage_bits == 4 && element_bits(scales, id) == 8 ? 2 : 0;
}

/// The groups of formats of so many bits.
constexpr SparseGroup sparse_group(int storage_bits) { return {storage_bits == 32 ? 2 : storage_bits == 4 ? 8 : 4}; }
/// The groups along k that an instruction's A is left out of, if it is sparse.
constexpr SparseGroup group_of(const Instruction& in) {
  const bool by_pairs = in.kind != InstructionKind::amd_wmma;
  return sparse_group(by_pairs ? element_bits(in, in.a) : 16);
}

}  // namespace tcnum
