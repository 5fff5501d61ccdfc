#include "tcnum/sparse_tiles.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <vector>

#include "isa/sparsity.hpp"
#include "src/questions/random_numbers.hpp"

namespace tcnum {
namespace {

constexpr std::size_t kLargestGroup = 8;
constexpr std::uint32_t kScatterSeries = 3000, kGarbageSeries = 3001;  // of random numbers

/// A number that depends on every operand of a tile.
std::uint64_t hash_of(const Tiles& tiles, std::size_t t) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const Codes* codes : {&tiles.a, &tiles.b, &tiles.c}) {
    const std::size_t bytes = codes->bytes().size() / tiles.count;
    for (const std::byte byte : codes->bytes().subspan(t * bytes, bytes)) {
      hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
    }
  }
  return hash;
}

/// A code that would show in most results if it took part: not a number or infinite if the format has such codes, at an
/// end of the range, or anything.
std::uint64_t draw_garbage(const Format& f, RandomNumbers& random) {
  const std::uint64_t ones = f.code_mask();
  const std::uint64_t infinity = ((std::uint64_t{1} << f.exponent_bits) - 1) << (f.fraction_bits + f.padding_bits);
  switch (random.between(0, 3)) {
    case 0:
      return ones;  // NaN; of integers, the largest or −1
    case 1:
      return f.floating ? infinity : ones ^ ones >> 1;
    case 2:
      return f.floating ? infinity - 1 : ones >> 1;
    default:
      return random.next64() & ones;
  }
}

std::vector<SparseGroup::Pattern> legal_patterns(const Instruction& in) {
  std::vector<SparseGroup::Pattern> legal;
  for (int n = 0; n < SparseGroup::kPatterns; ++n) {
    const SparseGroup::Pattern p = SparseGroup::pattern(n);
    if (group_of(in).legal(p, in.sparsity == Sparsity::ascending)) legal.push_back(p);
  }
  return legal;
}

/// What the rows of a tile have in common in one group along k: the patterns that they may have, no two of which want
/// different stored elements multiplied with the same element of B.
class SharedGroup {
 public:
  SharedGroup(SparseGroup group, const std::vector<SparseGroup::Pattern>& legal, RandomNumbers& random)
      : group_(group) {
    owners_.fill(kNobody);
    constexpr int kMostDraws = 6;
    for (int draw = random.between(1, kMostDraws); draw > 0 || patterns_.empty(); --draw) {
      const auto pattern = legal[static_cast<std::size_t>(random.between(0, static_cast<int>(legal.size()) - 1))];
      if (admits(pattern)) admit(pattern);
    }
  }

  SparseGroup::Pattern draw(RandomNumbers& random) const {
    return patterns_[static_cast<std::size_t>(random.between(0, static_cast<int>(patterns_.size()) - 1))];
  }
  /// The stored element whose factor stands at that position; −1: none.
  int owner(int position) const { return owners_[static_cast<std::size_t>(position)]; }

 private:
  static constexpr int kNobody = -1;

  bool admits(SparseGroup::Pattern pattern) const {
    for (int s = 0; s < group_.stored(); ++s) {
      const int other = owner(group_.position(pattern, s));
      if (other != kNobody && other != s) return false;
    }
    return true;
  }
  void admit(SparseGroup::Pattern pattern) {
    patterns_.push_back(pattern);
    for (int s = 0; s < group_.stored(); ++s) owners_[static_cast<std::size_t>(group_.position(pattern, s))] = s;
  }

  SparseGroup group_;
  std::vector<SparseGroup::Pattern> patterns_;
  std::array<int, kLargestGroup> owners_{};
};

/// Whether all rows of each tile are multiplied with the same elements of B, wherever they stand.
bool rows_agree(const Tiles& tiles) {
  for (std::size_t t = 0; t < tiles.count; ++t) {
    for (std::size_t s = 0; s < tiles.a_depth(); ++s) {
      const std::size_t first = factor_row(tiles, t, 0, s);
      for (std::size_t i = 1; i < tiles.m; ++i) {
        const std::size_t other = factor_row(tiles, t, i, s);
        for (std::size_t j = 0; other != first && j < tiles.n; ++j) {
          if (tiles.b[tiles.b_index(t, other, j)] != tiles.b[tiles.b_index(t, first, j)]) return false;
        }
      }
    }
  }
  return true;
}

}  // namespace

Tiles make_dot_tiles(const Instruction& in, std::size_t count, std::size_t m, std::size_t n) {
  Tiles tiles = make_tiles(in.a, in.b, in.c, in.d, count, m, n, static_cast<std::size_t>(in.products()));
  if (!in.scaled()) return tiles;
  const int bytes = format(in.scales.format).storage_bytes();
  const auto blocks = static_cast<std::size_t>(in.scale_blocks());
  tiles.sa = Codes(bytes, count * m * blocks);
  tiles.sb = Codes(bytes, count * blocks * n);
  tiles.scale_block = in.products_per_scale();
  return tiles;
}

Tiles make_operands(const Instruction& in, std::size_t count, std::size_t m, std::size_t n) {
  Tiles tiles = make_dot_tiles(in, count, m, n);
  if (!in.sparse()) return tiles;
  tiles.scale_block = in.scales.block_k;
  const SparseGroup group = group_of(in);
  tiles.k = static_cast<std::size_t>(in.k);
  tiles.b = Codes(tiles.b.bytes_each(), count * tiles.k * n);
  tiles.e = Codes(1, tiles.a.size());
  tiles.sparse_group = group.size;
  const auto stored = static_cast<std::size_t>(group.stored());
  for (std::size_t i = 0; i < tiles.e.size(); ++i) tiles.e.set(i, i % stored);
  return tiles;
}

Tiles gather(Tiles tiles) {
  if (tiles.sparse_group == 0) return tiles;
  const std::size_t products = tiles.a_depth(), n = tiles.n;
  const std::size_t rows = rows_agree(tiles) ? tiles.m : 1;  // of a dense tile
  const std::size_t count = tiles.count * tiles.m / rows;
  Codes b(tiles.b.bytes_each(), count * products * n);
  for (std::size_t t = 0; t < count; ++t) {
    const std::size_t from = t * rows / tiles.m, row = t * rows % tiles.m;
    for (std::size_t s = 0; s < products; ++s) {
      const std::size_t k = factor_row(tiles, from, row, s);
      for (std::size_t j = 0; j < n; ++j) b.set((t * products + s) * n + j, tiles.b[tiles.b_index(from, k, j)]);
    }
  }
  if (tiles.scale_block != 0) {  // a block of groups is one of half as many products
    const std::size_t of_tile = tiles.k / static_cast<std::size_t>(tiles.scale_block) * n;
    Codes sb(tiles.sb.bytes_each(), count * of_tile);
    for (std::size_t i = 0; i < sb.size(); ++i) {
      sb.set(i, tiles.sb[i / of_tile * rows / tiles.m * of_tile + i % of_tile]);
    }
    tiles.sb = std::move(sb);
    tiles.scale_block /= 2;
  }
  tiles.b = std::move(b);
  tiles.e = Codes();
  tiles.sparse_group = 0;
  tiles.k = products;
  tiles.m = rows;
  tiles.count = count;
  return tiles;
}

Tiles dot_problems(Tiles tiles, const std::map<std::string, std::string>& metadata) {
  tiles = gather(std::move(tiles));
  const auto is = [&](const char* key, std::string_view value) {
    const auto found = metadata.find(key);
    return found != metadata.end() && found->second == value;
  };
  const auto negate = [](Codes& codes, FormatId id) {
    const std::uint64_t sign = std::uint64_t{1} << (format(id).storage_bits - 1);
    for (std::size_t i = 0; i < codes.size(); ++i) codes.set(i, codes[i] ^ sign);
  };
  if (is("scale_a", "-1")) negate(tiles.a, tiles.a_format);
  if (is("scale_b", "-1")) negate(tiles.b, tiles.b_format);
  if (is("scale_d", "0")) tiles.c = Codes(tiles.c.bytes_each(), tiles.c.size());
  return tiles;
}

Tiles scatter(const Instruction& in, Tiles dense, const Scattering& scattering) {
  if (!in.sparse()) return dense;
  if (dense.sparse_group != 0 || dense.k != static_cast<std::size_t>(in.products())) {
    throw std::logic_error(in.name() + ": scatter: the tiles are not of as many products");
  }
  const SparseGroup group = group_of(in);
  const std::vector<SparseGroup::Pattern> legal = legal_patterns(in);
  const std::size_t size = static_cast<std::size_t>(group.size), stored = static_cast<std::size_t>(group.stored());
  const std::size_t groups = static_cast<std::size_t>(in.k) / size;
  Tiles sparse = make_operands(in, dense.count, dense.m, dense.n);
  for (std::size_t t = 0; t < dense.count; ++t) {
    const std::uint64_t hash = hash_of(dense, t);
    RandomNumbers random(scattering.seed, kScatterSeries, hash), garbage(scattering.seed, kGarbageSeries, hash);
    for (std::size_t g = 0; g < groups; ++g) {
      const SharedGroup shared(group, legal, random);
      for (std::size_t i = 0; i < dense.m; ++i) {
        const SparseGroup::Pattern pattern = shared.draw(random);
        for (std::size_t s = 0; s < stored; ++s) {
          sparse.e.set(sparse.a_index(t, i, g * stored + s),
                       static_cast<std::uint64_t>(group.position(pattern, static_cast<int>(s))));
        }
      }
      for (std::size_t position = 0; position < size; ++position) {
        const int s = shared.owner(static_cast<int>(position));
        if (s < 0 && !scattering.garbage) continue;
        for (std::size_t j = 0; j < dense.n; ++j) {
          const std::uint64_t code = s < 0 ? draw_garbage(format(in.b), garbage)
                                           : dense.b[dense.b_index(t, g * stored + static_cast<std::size_t>(s), j)];
          sparse.b.set(sparse.b_index(t, g * size + position, j), code);
        }
      }
    }
  }
  sparse.sa = std::move(dense.sa);
  sparse.sb = std::move(dense.sb);
  sparse.a = std::move(dense.a);
  sparse.c = std::move(dense.c);
  sparse.d = std::move(dense.d);
  return sparse;
}

std::size_t first_illegal_group(const Instruction& in, const Codes& e) {
  const SparseGroup group = group_of(in);
  const auto stored = static_cast<std::size_t>(group.stored());
  const std::span<const std::byte> bytes = e.bytes();
  std::array<int, kLargestGroup> positions{};
  for (std::size_t first = 0; first < e.size(); first += stored) {
    for (std::size_t s = 0; s < stored; ++s) positions[s] = std::to_integer<int>(bytes[first + s]);
    if (!group.legal(group.pattern_of(positions.data()), in.sparsity == Sparsity::ascending)) return first;
  }
  return e.size();
}

}  // namespace tcnum
