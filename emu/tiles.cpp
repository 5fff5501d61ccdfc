#include "tcnum/tiles.hpp"

#include <initializer_list>
#include <stdexcept>

#include "io/memory.hpp"

namespace tcnum {
namespace {

/// Codes of that shape, all zero. Throws std::length_error where the number of bytes does not fit a std::size_t.
Codes zero_codes(FormatId id, std::initializer_list<std::size_t> shape) {
  const int bytes_each = format(id).storage_bytes();
  std::size_t count = 1;
  std::size_t bytes = 0;
  bool overflow = false;
  for (const std::size_t extent : shape) overflow |= __builtin_mul_overflow(count, extent, &count);
  overflow |= __builtin_mul_overflow(count, static_cast<std::size_t>(bytes_each), &bytes);
  if (overflow) throw std::length_error("tiles: more elements than a memory can hold");
  require_memory("tiles of dot products", static_cast<double>(bytes));
  return {bytes_each, count};
}

}  // namespace

Tiles make_tiles(FormatId a, FormatId b, FormatId c, FormatId d, std::size_t count, std::size_t m, std::size_t n,
                 std::size_t k) {
  Tiles tiles;
  tiles.a_format = a;
  tiles.b_format = b;
  tiles.c_format = c;
  tiles.d_format = d;
  tiles.count = count;
  tiles.m = m;
  tiles.n = n;
  tiles.k = k;
  tiles.a = zero_codes(a, {count, m, k});
  tiles.b = zero_codes(b, {count, k, n});
  tiles.c = zero_codes(c, {count, m, n});
  tiles.d = zero_codes(d, {count, m, n});
  return tiles;
}

std::size_t factor_row(const Tiles& tiles, std::size_t t, std::size_t i, std::size_t s) {
  if (tiles.sparse_group == 0) return s;
  const auto size = static_cast<std::size_t>(tiles.sparse_group);
  return s / (size / 2) * size + tiles.e[tiles.a_index(t, i, s)];
}

Problem problem_at(const Tiles& tiles, std::size_t index) {
  const std::size_t column = index % tiles.n;
  const std::size_t row = index / tiles.n % tiles.m;
  const std::size_t tile = index / tiles.n / tiles.m;
  Problem problem;
  const std::size_t products = tiles.a_depth();
  problem.a.reserve(products);
  problem.b.reserve(products);
  for (std::size_t s = 0; s < products; ++s) {
    problem.a.push_back(tiles.a[tiles.a_index(tile, row, s)]);
    problem.b.push_back(tiles.b[tiles.b_index(tile, factor_row(tiles, tile, row, s), column)]);
  }
  problem.c = tiles.c[tiles.c_index(tile, row, column)];
  const std::size_t blocks = tiles.scale_block == 0 ? 0 : tiles.k / static_cast<std::size_t>(tiles.scale_block);
  for (std::size_t block = 0; block < blocks; ++block) {
    problem.sa.push_back(tiles.sa[(tile * tiles.m + row) * blocks + block]);
    problem.sb.push_back(tiles.sb[(tile * blocks + block) * tiles.n + column]);
  }
  return problem;
}

}  // namespace tcnum
