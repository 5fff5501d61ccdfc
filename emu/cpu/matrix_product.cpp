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
                             const MatrixCodes<std::byte>& d, unsigned threads, const BlockScales& scales,
                             const Pauses& pauses) const {
  if (!pauses.call || formats_.c != formats_.d) return multiply_at_once(shape, a, b, c, d, threads, scales);
  // Steps along k, whole links long, each with the one before's result for its c.
  const auto depth = static_cast<std::size_t>(datapath_.tree.k);
  const std::size_t links = std::max<std::size_t>(1, pauses.products / (shape.m * shape.n) / depth),
                    step = links * depth;
  MatrixCodes<const std::byte> before = c;
  for (std::size_t k = 0; k < shape.k; k += step) {
    pauses.call();
    BlockScales of_step = scales;
    if (datapath_.numerics.scales && k > 0) {
      const std::size_t block = k / static_cast<std::size_t>(datapath_.numerics.scales->block_k);
      const std::size_t bytes = bytes_of(datapath_.numerics.scales->format);
      of_step = {part_from(scales.a, 0, block, bytes), part_from(scales.b, block, 0, bytes)};
    }
    multiply_at_once({shape.m, shape.n, std::min(step, shape.k - k)}, part_from(a, 0, k, bytes_of(formats_.a)),
                     part_from(b, k, 0, bytes_of(formats_.b)), before, d, threads, of_step);
    before = {d.codes, d.row_stride, d.column_stride};
  }
}

void MatrixProduct::multiply_at_once(const ProductShape& shape, const MatrixCodes<const std::byte>& a,
                                     const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
                                     const MatrixCodes<std::byte>& d, unsigned threads,
                                     const BlockScales& scales) const {
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
