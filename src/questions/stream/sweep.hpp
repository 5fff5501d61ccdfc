// The codes of sweeps: every problem of a kind once.
#pragma once

#include "emu/host_device.hpp"
#include "recipe.hpp"

namespace tcnum::stream {

/// Where a tile of a sweep begins: the first row and column of a matrix of all of them, and its layer, which is c's
/// code.
struct SweepTile {
  std::uint64_t row, column, layer;
};
TCNUM_HOST_DEVICE inline SweepTile sweep_tile(const Recipe& r, std::uint64_t tile) {
  const int row_bits = r.distribution == Distribution::product_pairs ? 2 * r.a.storage_bits : r.a.storage_bits;
  const std::uint64_t across = (std::uint64_t{1} << row_bits) / static_cast<std::uint64_t>(r.shape.n);
  const std::uint64_t down = (std::uint64_t{1} << row_bits) / static_cast<std::uint64_t>(r.shape.m);
  return {tile / across % down * static_cast<std::uint64_t>(r.shape.m),
          tile % across * static_cast<std::uint64_t>(r.shape.n), tile / across / down};
}

TCNUM_HOST_DEVICE inline std::uint64_t sweep_operand(const Recipe& r, std::uint64_t tile, Purpose purpose, int line,
                                                     int k) {
  const SweepTile from = sweep_tile(r, tile);
  const std::uint64_t codes = (purpose == Purpose::a ? from.row : from.column) + static_cast<std::uint64_t>(line);
  const auto length = static_cast<std::uint64_t>(r.shape.k), place = static_cast<std::uint64_t>(k);
  const Format& f = purpose == Purpose::a ? r.a : r.b;
  if (place == r.seed % length) return codes & f.code_mask();
  if (r.distribution == Distribution::product_pairs && place == r.seed / length % length)
    return codes >> f.storage_bits;
  return 0;
}

TCNUM_HOST_DEVICE inline std::uint64_t sweep_accumulator(const Recipe& r, std::uint64_t tile) {
  if (r.distribution == Distribution::product_and_accumulator) return sweep_tile(r, tile).layer;
  if (r.distribution == Distribution::operand_pairs)
    return r.seed / static_cast<std::uint64_t>(r.shape.k) & r.c.code_mask();
  return 0;
}

}  // namespace tcnum::stream
