#include "tile_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "isa/sparsity.hpp"

namespace tcnum {

namespace {
/// Of operands and results at once on the device: small enough for any GPU, large enough to fill one.
constexpr std::size_t kChunkBytes = std::size_t{64} << 20;
}  // namespace

void TileOracle::answer(Tiles& tiles) {
  const bool fits = tiles.a_format == instruction_.a && tiles.b_format == instruction_.b &&
                    tiles.c_format == instruction_.c && tiles.d_format == instruction_.d &&
                    tiles.k == static_cast<std::size_t>(instruction_.k) &&
                    tiles.sparse_group == (instruction_.sparse() ? group_of(instruction_).size : 0) &&
                    tiles.scale_block == (instruction_.scaled() ? instruction_.scales.block_k : 0);
  if (!fits)
    throw std::logic_error(instruction_.name() + ": tiles of other formats, another k, sparsity or blocks of scales");
  tiles.d = Codes(format(instruction_.d).storage_bytes(), tiles.size());

  const Placement straight(instruction_, tiles);
  // Odd and different: no row or column stays where it was, in tiles of 4, 8, 16 or 64 rows.
  const Placement rotated(instruction_, tiles, Rotation{.rows = 5, .columns = 3});
  const std::size_t step = std::max<std::size_t>(1, kChunkBytes / straight.tile_bytes());
  for (std::size_t first = 0; first < straight.tile_count(); first += step) {
    const std::size_t count = std::min(step, straight.tile_count() - first);
    put(straight, tiles, first, count);
    straight.store(packed_, first, tiles);
    if (straight.has_copies()) straight.compare(packed_, first, tiles);
    if (!check_positions_) continue;
    put(rotated, tiles, first, count);
    rotated.compare(packed_, first, tiles);
    for (std::size_t v = 1; v < variants_.size(); ++v) {
      put(straight, tiles, first, count, static_cast<int>(v));
      straight.compare(packed_, first, tiles, fmt::format("how operands are given ({})", variants_[v]));
    }
  }
}

void TileOracle::put(const Placement& placement, const Tiles& tiles, std::size_t first, std::size_t count,
                     int variant) {
  placement.pack(tiles, first, count, packed_);
  run(packed_, variant);
}

std::string never_run_on(std::string_view arch) { return fmt::format("that was never run on {} before", arch); }

}  // namespace tcnum
