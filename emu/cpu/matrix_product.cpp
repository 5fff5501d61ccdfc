#include "matrix_product.hpp"

#include <algorithm>

#include "emu/parallel.hpp"
#include "tcnum/matrix.hpp"
#include "tile_chain.hpp"

namespace tcnum {

void MatrixProduct::multiply(const ProductShape& shape, const MatrixCodes<const std::byte>& a,
                             const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
                             const MatrixCodes<std::byte>& d, unsigned threads, const BlockScales& scales,
                             const Pauses& pauses) const {
  if (!pauses.call || formats_.c != formats_.d) return multiply_at_once(shape, a, b, c, d, threads, scales);
  // Steps along k, whole k-steps long, each with the one before's result for its c.
  const auto depth = static_cast<std::size_t>(datapath_.tree.k);
  const std::size_t k_steps = std::max<std::size_t>(1, pauses.products / (shape.m * shape.n) / depth),
                    step = k_steps * depth;
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
  const std::size_t down = (shape.m + kBlock - 1) / kBlock, across = (shape.n + kBlock - 1) / kBlock;
  const TileChain chain(datapath_);
  const std::size_t scale_bytes = datapath_.numerics.scales ? bytes_of(datapath_.numerics.scales->format) : 0;
  in_parallel(down * across, std::min(threads, static_cast<unsigned>(down * across)), [&](std::size_t at) {
    const std::size_t i = at / across * kBlock, j = at % across * kBlock;
    const BlockScales of_block{part_from(scales.a, i, 0, scale_bytes), part_from(scales.b, 0, j, scale_bytes)};
    const MatrixCodes<const std::byte> block_of_c = c.codes == nullptr ? c : part_from(c, i, j, bytes_of(formats_.c));
    chain.multiply({std::min(kBlock, shape.m - i), std::min(kBlock, shape.n - j), shape.k},
                   part_from(a, i, 0, bytes_of(formats_.a)), part_from(b, 0, j, bytes_of(formats_.b)), block_of_c,
                   part_from(d, i, j, bytes_of(formats_.d)), of_block);
  });
}

}  // namespace tcnum
