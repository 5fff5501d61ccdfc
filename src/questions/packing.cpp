#include "packing.hpp"

#include <algorithm>

#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

/// Which of `side` problems the accumulator of row i and column j is of: on the diagonal that row's, elsewhere never.
std::size_t accumulator_owner(std::size_t i, std::size_t j, std::size_t side) {
  return (2 * i + side - j % side) % side;
}

}  // namespace

Problem zero_problem(const Instruction& instruction) {
  const auto k = static_cast<std::size_t>(instruction.products());
  Problem problem{std::vector<std::uint64_t>(k, 0), std::vector<std::uint64_t>(k, 0), 0};
  if (!instruction.scaled()) return problem;
  const Format& f = format(instruction.scales.format);
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias) << f.fraction_bits;
  problem.sa.assign(static_cast<std::size_t>(instruction.scale_blocks()), one);
  problem.sb = problem.sa;
  return problem;
}

Tiles tiles_of(const Instruction& in, std::size_t count, std::size_t m, std::size_t n,
               const std::function<Problem(std::size_t)>& problem) {
  Tiles tiles = make_dot_tiles(in, count, m, n);
  const std::size_t side = std::max(m, n), blocks = static_cast<std::size_t>(in.scale_blocks());
  for (std::size_t t = 0; t < count; ++t) {
    for (std::size_t r = 0; r < side; ++r) {
      const Problem p = problem(t * side + r);
      for (std::size_t k = 0; k < tiles.k; ++k) {
        if (r < m) tiles.a.set(tiles.a_index(t, r, k), p.a[k]);
        if (r < n) tiles.b.set(tiles.b_index(t, k, r), p.b[k]);
      }
      for (std::size_t block = 0; block < blocks; ++block) {
        if (r < m) tiles.sa.set((t * m + r) * blocks + block, p.sa[block]);
        if (r < n) tiles.sb.set((t * blocks + block) * n + r, p.sb[block]);
      }
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          if (accumulator_owner(i, j, side) == r) tiles.c.set(tiles.c_index(t, i, j), p.c);
        }
      }
    }
  }
  return tiles;
}

Tiles pack(const Instruction& in, std::span<const Problem> problems) {
  const std::size_t count = (problems.size() + kPackSide - 1) / kPackSide;
  return tiles_of(in, count, kPackSide, kPackSide, [&](std::size_t i) {
    // The last tile repeats its problems, so that no element is a problem of zeros only.
    const std::size_t first = i / kPackSide * kPackSide;
    return problems[first + i % kPackSide % std::min(kPackSide, problems.size() - first)];
  });
}

}  // namespace tcnum
