#include "chain.hpp"

#include "tcnum/program_oracle.hpp"

namespace tcnum {

Chain::Chain(const Datapath& datapath)
    : emulator_(datapath),
      product_(datapath, {datapath.numerics.a.format, datapath.numerics.b.format, datapath.numerics.c.format,
                          datapath.numerics.result}),
      k_(static_cast<std::size_t>(datapath.tree.k)),
      repeats_(datapath.numerics.c.format == datapath.numerics.result) {}

bool Chain::takes(std::size_t k) const { return k <= k_ || repeats_; }

void Chain::run(Tiles& tiles) const {
  if (tiles.k == k_) {
    emulator_.run(tiles);
  } else {
    // Each tile is a product of matrices.
    const ProductShape shape = {tiles.m, tiles.n, tiles.k};
    const auto block_k = static_cast<std::size_t>(tiles.scale_block);
    const std::size_t blocks = block_k == 0 ? 0 : (tiles.k + block_k - 1) / block_k;
    const auto matrix = [](const Codes& codes, std::size_t at, std::size_t columns) {
      return codes_from(codes.bytes().data() + at * static_cast<std::size_t>(codes.bytes_each()), columns);
    };
    for (std::size_t t = 0; t < tiles.count; ++t) {
      BlockScales scales;
      if (blocks != 0)
        scales = {matrix(tiles.sa, t * tiles.m * blocks, blocks), matrix(tiles.sb, t * blocks * tiles.n, tiles.n)};
      const std::size_t at = tiles.c_index(t, 0, 0);
      std::byte* const d = tiles.d.bytes().data() + at * static_cast<std::size_t>(tiles.d.bytes_each());
      product_.multiply(shape, matrix(tiles.a, tiles.a_index(t, 0, 0), tiles.k),
                        matrix(tiles.b, tiles.b_index(t, 0, 0), tiles.n), matrix(tiles.c, at, tiles.n),
                        codes_from(d, tiles.n), 1, scales);
    }
  }
  make_nans_alike(tiles);
}

}  // namespace tcnum
