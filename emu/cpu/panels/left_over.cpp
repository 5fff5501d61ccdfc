#include "left_over.hpp"

#include <algorithm>
#include <cstring>

namespace tcnum::panels {
namespace {

void copy_code(const MatrixCodes<const std::byte>& from, std::size_t i, std::size_t j, Codes& to, std::size_t index) {
  const auto bytes = static_cast<std::size_t>(to.bytes_each());
  std::memcpy(to.bytes().data() + index * bytes, from.codes + (i * from.row_stride + j * from.column_stride) * bytes,
              bytes);
}

}  // namespace

void LeftOver::put_scales(std::size_t k, std::size_t products, std::size_t row, std::span<const std::size_t> columns,
                          Tiles& tile) const {
  const ScaleRule& rule = *numerics_.scales;
  const Format& f = format(rule.format);
  const auto block_k = static_cast<std::size_t>(rule.block_k), blocks = static_cast<std::size_t>(depth_) / block_k;
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias) << f.fraction_bits;  // of blocks beyond the last product
  tile.scale_block = rule.block_k;
  tile.sa = Codes(f.storage_bytes(), blocks);
  tile.sb = Codes(f.storage_bytes(), blocks * columns.size());
  for (Codes* codes : {&tile.sa, &tile.sb}) {
    for (std::size_t i = 0; i < codes->size(); ++i) codes->set(i, one);
  }
  for (std::size_t block = 0; block * block_k < products; ++block) {
    copy_code(scales_.a, row, k / block_k + block, tile.sa, block);
    for (std::size_t j = 0; j < columns.size(); ++j)
      copy_code(scales_.b, k / block_k + block, columns[j], tile.sb, block * columns.size() + j);
  }
}

void LeftOver::evaluate(std::size_t k, std::size_t row, std::span<const std::size_t> columns,
                        std::span<std::uint64_t> codes) const {
  const Numerics& n = numerics_;
  const auto depth = static_cast<std::size_t>(depth_);
  Tiles tile = make_tiles(n.a.format, n.b.format, n.c.format, n.result, 1, 1, columns.size(), depth);
  const std::size_t products = std::min(depth, shape_.k - k);
  for (std::size_t kk = 0; kk < products; ++kk) {
    copy_code(a_, row, k + kk, tile.a, kk);
    for (std::size_t j = 0; j < columns.size(); ++j) copy_code(b_, k + kk, columns[j], tile.b, kk * columns.size() + j);
  }
  if (n.scales) put_scales(k, products, row, columns, tile);
  for (std::size_t j = 0; j < columns.size(); ++j) tile.c.set(j, codes[j]);
  emulator_.run(tile);
  for (std::size_t j = 0; j < columns.size(); ++j) codes[j] = tile.d[j];
}

}  // namespace tcnum::panels
