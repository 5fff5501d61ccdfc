#include "matrix_product.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cpu_emulator.hpp"
#include "emu/parallel.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum {
namespace {

/// The elements of D in rows i … i + m − 1 and columns j … j + n − 1.
struct Block {
  std::size_t i, j, m, n;
};

/// Tile by tile along k.
class TileChain {
 public:
  TileChain(const Datapath& datapath, const OperandFormats& formats, std::size_t k, const BlockScales& scales)
      : emulator_(datapath),
        depth_(static_cast<std::size_t>(datapath.tree.k)),
        formats_(formats),
        k_(k),
        scale_rule_(datapath.numerics.scales),
        scales_(scales) {}

  void compute(const Block& block, const MatrixCodes<const std::byte>& a, const MatrixCodes<const std::byte>& b,
               const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d) const {
    const auto& [i, j, m, n] = block;
    const std::size_t a_bytes = bytes_of(formats_.a), b_bytes = bytes_of(formats_.b), d_bytes = bytes_of(formats_.d);
    Tiles tile = make_tiles(formats_.a, formats_.b, formats_.c, formats_.d, 1, m, n, depth_);
    if (c.codes != nullptr) {
      const std::size_t c_bytes = bytes_of(formats_.c);
      copy_codes(codes_from(tile.c.bytes().data(), n), part_from(c, i, j, c_bytes), m, n, c_bytes);
    }
    for (std::size_t k = 0; k < k_; k += depth_) {
      const std::size_t products = std::min(depth_, k_ - k);
      if (k > 0) std::swap(tile.c, tile.d);
      if (products < depth_) {
        std::ranges::fill(tile.a.bytes(), std::byte{0});
        std::ranges::fill(tile.b.bytes(), std::byte{0});
      }
      copy_codes(codes_from(tile.a.bytes().data(), depth_), part_from(a, i, k, a_bytes), m, products, a_bytes);
      copy_codes(codes_from(tile.b.bytes().data(), n), part_from(b, k, j, b_bytes), products, n, b_bytes);
      if (scale_rule_) copy_scales(block, k, products, tile);
      emulator_.run(tile);
    }
    const MatrixCodes<const std::byte> results{tile.d.bytes().data(), n, 1};
    copy_codes(part_from(d, i, j, d_bytes), results, m, n, d_bytes);
  }

 private:
  /// Those of products k … k + products − 1, and ones behind them.
  void copy_scales(const Block& block, std::size_t k, std::size_t products, Tiles& tile) const {
    const Format& f = format(scale_rule_->format);
    const auto block_k = static_cast<std::size_t>(scale_rule_->block_k), blocks = depth_ / block_k;
    const std::size_t there = (products + block_k - 1) / block_k, bytes = bytes_of(scale_rule_->format);
    const std::uint64_t one = static_cast<std::uint64_t>(f.bias) << f.fraction_bits;
    tile.scale_block = scale_rule_->block_k;
    tile.sa = Codes(f.storage_bytes(), block.m * blocks);
    tile.sb = Codes(f.storage_bytes(), blocks * block.n);
    for (Codes* codes : {&tile.sa, &tile.sb}) {
      for (std::size_t i = 0; i < codes->size(); ++i) codes->set(i, one);
    }
    copy_codes(codes_from(tile.sa.bytes().data(), blocks), part_from(scales_.a, block.i, k / block_k, bytes), block.m,
               there, bytes);
    copy_codes(codes_from(tile.sb.bytes().data(), block.n), part_from(scales_.b, k / block_k, block.j, bytes), there,
               block.n, bytes);
  }

  CpuEmulator emulator_;
  std::size_t depth_;
  OperandFormats formats_;
  std::size_t k_;
  std::optional<ScaleRule> scale_rule_;
  BlockScales scales_;
};

}  // namespace

void MatrixProduct::multiply(const ProductShape& shape, const MatrixCodes<const std::byte>& a,
                             const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
                             const MatrixCodes<std::byte>& d, unsigned threads, const BlockScales& scales) const {
  if (wide_.is_taken()) return wide_.multiply(shape, a, b, c, d, threads, scales);

  constexpr std::size_t kBlock = 64;  // rows and columns: enough for the emulator's loops, and of work for every thread
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < shape.m; i += kBlock) {
    for (std::size_t j = 0; j < shape.n; j += kBlock)
      blocks.push_back({i, j, std::min(kBlock, shape.m - i), std::min(kBlock, shape.n - j)});
  }
  const TileChain chain(datapath_, formats_, shape.k, scales);
  in_parallel(blocks.size(), std::min(threads, static_cast<unsigned>(blocks.size())),
              [&](std::size_t at) { chain.compute(blocks[at], a, b, c, d); });
}

}  // namespace tcnum
