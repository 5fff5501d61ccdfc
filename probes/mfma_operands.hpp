// What a lane has of the operands of a v_mfma or v_smfmac, and where its results go. Plain C++: constexpr functions are
// the device's as well, and tests run them where no HIP is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device_tiles.hpp"
#include "mfma_rows.hpp"

namespace tcnum {

/// An operand's code in memory, and a result's.
template <FormatId kFormat>
using MfmaCode = std::conditional_t<
    format(kFormat).storage_bytes() == 8, std::uint64_t,
    std::conditional_t<format(kFormat).storage_bytes() == 4, std::uint32_t,
                       std::conditional_t<format(kFormat).storage_bytes() == 2, std::uint16_t, std::uint8_t>>>;

/// Consecutive registers of a lane, as codes.
template <class Code, int kCount>
struct LaneCodes {
  Code of[kCount];
};

/// An instruction, by its row of the table.
template <MfmaNumber kNumber>
struct MfmaOp {
  static constexpr MfmaRow kRow = kMfmaRows[static_cast<std::size_t>(kNumber)];
  static_assert(kRow.number == kNumber);
  static constexpr MfmaGeometry kGeometry = kRow.geometry();
  using OperandCode = MfmaCode<kRow.a>;
  using ResultCode = MfmaCode<kRow.d>;
  static_assert(sizeof(OperandCode) == sizeof(MfmaCode<kRow.b>));
};

/// What one lane gives to the instruction.
template <class Op>
struct LaneOperands {
  LaneCodes<typename Op::OperandCode, Op::kGeometry.a_elements()> a;
  LaneCodes<typename Op::OperandCode, Op::kGeometry.b_elements()> b;
  LaneCodes<typename Op::ResultCode, Op::kGeometry.accumulators()> c;
  std::uint32_t index = 0;  ///< of a sparse A
};

/// The tile that a block computes, of those from `first` on, and whether there is one. With `next`, each is computed by
/// the block after its own.
struct BlockTile {
  std::size_t tile;
  bool there;
};
template <class Op>
constexpr BlockTile tile_of_block(const DeviceTiles& tiles, std::size_t first, int block, bool next) {
  constexpr int kBlocks = Op::kGeometry.blocks;
  const std::size_t tile = first + static_cast<std::size_t>((block + (next ? kBlocks - 1 : 0)) % kBlocks);
  return {tile < tiles.count ? tile : tiles.count - 1, tile < tiles.count};
}

/// Variants: of a dense instruction with several blocks, which block a tile is put on; of a sparse one, which part of
/// the index register says where A's elements stand; the other parts hold ones.
template <class Op>
constexpr bool on_next_block(const DeviceTiles& tiles) {
  return !Op::kGeometry.sparse && tiles.variant == 1;
}
template <class Op>
constexpr int index_set(const DeviceTiles& tiles) {
  return Op::kGeometry.sparse ? tiles.variant : 0;
}
template <class Op>
constexpr int variant_count() {
  if (Op::kGeometry.sparse) return Op::kGeometry.index_sets();
  return Op::kGeometry.blocks > 1 ? 2 : 1;
}

/// What a lane has of the tiles from `first` on, of which each block has one. A block without a tile computes the last.
template <class Op>
constexpr LaneOperands<Op> load_lane(const DeviceTiles& tiles, std::size_t first, int lane) {
  constexpr MfmaGeometry kGeometry = Op::kGeometry;
  using Code = typename Op::OperandCode;
  const auto* const a = static_cast<const Code*>(tiles.a);
  const auto* const b = static_cast<const Code*>(tiles.b);
  const auto* const c = static_cast<const typename Op::ResultCode*>(tiles.c);
  const bool next = on_next_block<Op>(tiles);
  const auto tile_at = [&](const BlockElement& at) { return tile_of_block<Op>(tiles, first, at.block, next).tile; };

  LaneOperands<Op> own{};
  if constexpr (kGeometry.sparse) own.index = ~std::uint32_t{0};
  for (int e = 0; e < kGeometry.a_elements(); ++e) {
    const BlockElement at = kGeometry.a(lane, e);
    const std::size_t from =
        (tiles.a_tile(tile_at(at)) * kGeometry.m + static_cast<std::size_t>(at.row)) * kGeometry.a_columns() +
        static_cast<std::size_t>(at.column);
    own.a.of[e] = a[from];
    if constexpr (kGeometry.sparse) {
      const int bit = (index_set<Op>(tiles) * kGeometry.a_elements() + e) * MfmaGeometry::kIndexBits;
      const std::uint32_t position = static_cast<const std::uint8_t*>(tiles.e)[from];
      own.index = (own.index & ~(std::uint32_t{3} << bit)) | position << bit;
    }
  }
  for (int e = 0; e < kGeometry.b_elements(); ++e) {
    const BlockElement at = kGeometry.b(lane, e);
    own.b.of[e] = b[(tiles.b_tile(tile_at(at)) * kGeometry.k + static_cast<std::size_t>(at.row)) * kGeometry.m +
                    static_cast<std::size_t>(at.column)];
  }
  for (int i = 0; i < kGeometry.accumulators(); ++i) {
    const BlockElement at = kGeometry.c(lane, i);
    own.c.of[i] = c[(tile_at(at) * kGeometry.m + static_cast<std::size_t>(at.row)) * kGeometry.m +
                    static_cast<std::size_t>(at.column)];
  }
  return own;
}

/// Puts a lane's results where load_lane() took C from, but for blocks without a tile.
template <class Op>
constexpr void store_lane(const DeviceTiles& tiles, std::size_t first, int lane,
                          const decltype(LaneOperands<Op>::c)& results) {
  constexpr MfmaGeometry kGeometry = Op::kGeometry;
  auto* const d = static_cast<typename Op::ResultCode*>(tiles.d);
  for (int i = 0; i < kGeometry.accumulators(); ++i) {
    const BlockElement at = kGeometry.c(lane, i);
    const auto [tile, there] = tile_of_block<Op>(tiles, first, at.block, on_next_block<Op>(tiles));
    if (!there) continue;
    d[(tile * kGeometry.m + static_cast<std::size_t>(at.row)) * kGeometry.m + static_cast<std::size_t>(at.column)] =
        results.of[i];
  }
}

}  // namespace tcnum
