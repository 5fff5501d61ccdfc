#include "tile_chain.hpp"

#include <algorithm>
#include <utility>

#include "tcnum/matrix.hpp"

namespace tcnum {
namespace {

/// Scales of the blocks along `products` products, and ones behind them.
void put_scales(const ScaleRule& rule, const ProductShape& of_tile, std::size_t products, const BlockScales& from,
                Tiles& tile) {
  const Format& f = format(rule.format);
  const auto block_k = static_cast<std::size_t>(rule.block_k), blocks = of_tile.k / block_k;
  const std::size_t there = (products + block_k - 1) / block_k, bytes = bytes_of(rule.format);
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias) << f.fraction_bits;
  tile.scale_block = rule.block_k;
  tile.sa = Codes(f.storage_bytes(), of_tile.m * blocks);
  tile.sb = Codes(f.storage_bytes(), blocks * of_tile.n);
  for (Codes* codes : {&tile.sa, &tile.sb}) {
    for (std::size_t i = 0; i < codes->size(); ++i) codes->set(i, one);
  }
  copy_codes(codes_from(tile.sa.bytes().data(), blocks), from.a, of_tile.m, there, bytes);
  copy_codes(codes_from(tile.sb.bytes().data(), of_tile.n), from.b, there, of_tile.n, bytes);
}

}  // namespace

void TileChain::multiply(const ProductShape& shape, const MatrixCodes<const std::byte>& a,
                         const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
                         const MatrixCodes<std::byte>& d, const BlockScales& scales) const {
  const Numerics& n = emulator_.numerics();
  const std::size_t a_bytes = bytes_of(n.a.format), b_bytes = bytes_of(n.b.format), c_bytes = bytes_of(n.c.format);
  Tiles tile = make_tiles(n.a.format, n.b.format, n.c.format, n.result, 1, shape.m, shape.n, depth_);
  if (c.codes != nullptr) copy_codes(codes_from(tile.c.bytes().data(), shape.n), c, shape.m, shape.n, c_bytes);
  for (std::size_t k = 0; k < shape.k; k += depth_) {
    const std::size_t products = std::min(depth_, shape.k - k);
    if (k > 0) std::swap(tile.c, tile.d);
    if (products < depth_) {
      std::ranges::fill(tile.a.bytes(), std::byte{0});
      std::ranges::fill(tile.b.bytes(), std::byte{0});
    }
    copy_codes(codes_from(tile.a.bytes().data(), depth_), part_from(a, 0, k, a_bytes), shape.m, products, a_bytes);
    copy_codes(codes_from(tile.b.bytes().data(), shape.n), part_from(b, k, 0, b_bytes), products, shape.n, b_bytes);
    if (n.scales) {
      const std::size_t block = k / static_cast<std::size_t>(n.scales->block_k), bytes = bytes_of(n.scales->format);
      put_scales(*n.scales, {shape.m, shape.n, depth_}, products,
                 {part_from(scales.a, 0, block, bytes), part_from(scales.b, block, 0, bytes)}, tile);
    }
    emulator_.run(tile);
  }
  copy_codes(d, {tile.d.bytes().data(), shape.n, 1}, shape.m, shape.n, bytes_of(n.result));
}

}  // namespace tcnum
