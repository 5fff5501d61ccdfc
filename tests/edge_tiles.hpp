// Tiles of dot problems at the edges of a datapath.
#pragma once

#include "reference/edge_problems.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum::test {

/// Row i and column i of a tile are those of an edge problem, and so are their c's: of the others, each has the row of
/// one, the column of another and the c of a third.
inline Tiles edge_tiles(const Datapath& datapath, std::size_t count, std::size_t m, std::size_t n, std::uint64_t seed) {
  const Numerics& x = datapath.numerics;
  Tiles tiles =
      make_tiles(x.a.format, x.b.format, x.c.format, x.result, count, m, n, static_cast<std::size_t>(datapath.tree.k));
  const std::size_t blocks = x.scales ? tiles.k / static_cast<std::size_t>(x.scales->block_k) : 0;
  if (x.scales) {
    const int bytes = format(x.scales->format).storage_bytes();
    tiles.scale_block = x.scales->block_k;
    tiles.sa = Codes(bytes, count * m * blocks);
    tiles.sb = Codes(bytes, count * blocks * n);
  }
  EdgeProblems problems(datapath, seed);
  for (std::size_t t = 0; t < count; ++t) {
    for (std::size_t p = 0; p < std::max(m, n); ++p) {
      const Problem problem = problems.next();
      for (std::size_t k = 0; k < tiles.k; ++k) {
        if (p < m) tiles.a.set(tiles.a_index(t, p, k), problem.a[k]);
        if (p < n) tiles.b.set(tiles.b_index(t, k, p), problem.b[k]);
      }
      for (std::size_t block = 0; block < blocks; ++block) {
        if (p < m) tiles.sa.set((t * m + p) * blocks + block, problem.sa[block]);
        if (p < n) tiles.sb.set((t * blocks + block) * n + p, problem.sb[block]);
      }
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          const bool own = i == p && j == p, other = (i + j) % std::max(m, n) == p && i != j;
          if (own || other) tiles.c.set(tiles.c_index(t, i, j), problem.c);
        }
      }
    }
  }
  return tiles;
}

}  // namespace tcnum::test
