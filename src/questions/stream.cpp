#include "stream.hpp"

#include <algorithm>
#include <vector>

#include "packing.hpp"
#include "src/questions/stream/digest.hpp"
#include "src/questions/stream/element.hpp"
#include "src/questions/stream/scale.hpp"
#include "src/questions/stream/sweep.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

/// The block scales of an instruction's streams. (One without them has none to draw.)
class StreamScales {
 public:
  explicit StreamScales(const Instruction& in) : in_(in), format_(format(in.scales.format)) {}

  /// Draws those of the next tile, and moves its frame's c to where the scaled products are.
  void begin_tile(const stream::Recipe& recipe, std::uint64_t tile, stream::Frame& frame, Tiles& tiles) {
    if (!in_.scaled()) return;
    const int blocks = in_.scale_blocks();
    const bool sweep = is_sweep(recipe.distribution);  // where all but the operands that vary stays out of the way
    const stream::ScaleFrame scales =
        sweep ? stream::ScaleFrame{} : stream::make_scale_frame(recipe, format_, tile, frame);
    const auto draw = [&](stream::Purpose purpose, int line, int block) {
      if (sweep) return static_cast<std::uint64_t>(format_.bias) << format_.fraction_bits;  // 1
      return stream::scale_code(recipe, format_, tile, scales, purpose, line, block, blocks);
    };
    sa_ = at_a_, sb_ = at_b_;
    for (int i = 0; i < recipe.shape.m; ++i) {
      for (int block = 0; block < blocks; ++block) tiles.sa.set(at_a_++, draw(stream::Purpose::a, i, block));
    }
    for (int block = 0; block < blocks; ++block) {
      for (int j = 0; j < recipe.shape.n; ++j) tiles.sb.set(at_b_++, draw(stream::Purpose::b, j, block));
    }
  }
  /// What multiplies the product in a slot of that row and column of the tile.
  stream::Factor factor(const Tiles& tiles, int row, int column, int slot) const {
    if (!in_.scaled()) return {};
    const auto i = static_cast<std::size_t>(row), j = static_cast<std::size_t>(column),
               block = static_cast<std::size_t>(slot / in_.products_per_scale()),
               blocks = static_cast<std::size_t>(in_.scale_blocks());
    return stream::factor_of(format_, tiles.sa[sa_ + i * blocks + block], tiles.sb[sb_ + block * tiles.n + j]);
  }

 private:
  const Instruction& in_;
  const Format& format_;
  std::size_t at_a_ = 0, at_b_ = 0;  ///< where the next tile's begin
  std::size_t sa_ = 0, sb_ = 0;      ///< this one's
};

/// Tiles of the recipe's shape.
Tiles make_tiles(const Instruction& in, const stream::Recipe& recipe, std::uint64_t first, std::size_t count) {
  const auto [m, n, k] = recipe.shape;
  Tiles tiles = make_dot_tiles(in, count, static_cast<std::size_t>(m), static_cast<std::size_t>(n));
  StreamScales scales(in);
  std::size_t at_a = 0, at_b = 0, at_c = 0;
  std::vector<stream::SlotFrame> slots(tiles.k);
  std::vector<std::uint64_t> accumulators(std::min(tiles.m * tiles.n, std::size_t{stream::kAccumulators}));
  const bool sweep = is_sweep(recipe.distribution);
  for (std::uint64_t tile = first; tile < first + count; ++tile) {
    stream::FrameDraw frame = sweep ? stream::FrameDraw{} : stream::make_frame(recipe, tile);
    scales.begin_tile(recipe, tile, frame.frame, tiles);
    for (int kk = 0; kk < k && !sweep; ++kk)
      slots[static_cast<std::size_t>(kk)] = stream::make_slot(recipe, tile, frame, kk);
    for (std::size_t i = 0; i < accumulators.size() && !sweep; ++i)
      accumulators[i] = stream::accumulator_code(recipe, tile, frame, static_cast<int>(i));
    const auto operand = [&](stream::Purpose purpose, int line, int kk) {
      return sweep ? stream::sweep_operand(recipe, tile, purpose, line, kk)
                   : stream::operand_code(recipe, tile, frame, slots.data(), purpose, line, kk);
    };
    const auto accumulator = [&](int i, int j) {
      if (sweep) return stream::sweep_accumulator(recipe, tile);
      const int cancelled = frame.frame.cancelled_slot;
      if (cancelled < 0) return accumulators[static_cast<std::size_t>(stream::accumulator_at(i, j))];
      return stream::cancelling_code(recipe, tile, frame, slots.data(), i, j, scales.factor(tiles, i, j, cancelled));
    };
    for (int i = 0; i < m; ++i) {
      for (int kk = 0; kk < k; ++kk) tiles.a.set(at_a++, operand(stream::Purpose::a, i, kk));
    }
    for (int kk = 0; kk < k; ++kk) {
      for (int j = 0; j < n; ++j) tiles.b.set(at_b++, operand(stream::Purpose::b, j, kk));
    }
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) tiles.c.set(at_c++, accumulator(i, j));
    }
  }
  return tiles;
}

}  // namespace

std::string_view name(Distribution distribution) {
  return kDistributionTexts[static_cast<std::size_t>(distribution)].name;
}

std::vector<std::string_view> distribution_names() {
  std::vector<std::string_view> names;
  for (const DistributionText& each : kDistributionTexts) names.push_back(each.name);
  return names;
}

std::optional<Distribution> find_distribution(std::string_view text) {
  const auto found = std::ranges::find_if(kDistributionTexts, [&](const DistributionText& each) {
    return text == each.name || (!text.empty() && text == each.older);
  });
  if (found == kDistributionTexts.end()) return std::nullopt;
  return static_cast<Distribution>(found - kDistributionTexts.begin());
}

std::optional<std::uint64_t> sweep_size(const Instruction& in, Distribution distribution, std::uint64_t seed) {
  if (in.sparse()) return std::nullopt;  // what they would show, the dense ones do
  const int bits = format(in.a).storage_bits;
  const StreamShape shape = stream_shape(in);
  const auto k = static_cast<std::uint64_t>(shape.k);
  // Whole tiles only.
  const auto square = [&](int side_bits) -> std::optional<std::uint64_t> {
    const std::uint64_t side = std::uint64_t{1} << side_bits;
    if (side % static_cast<std::uint64_t>(shape.n) != 0 || side % static_cast<std::uint64_t>(shape.m) != 0)
      return std::nullopt;
    return side * side;
  };
  switch (distribution) {
    case Distribution::product_pairs:
      if (bits != 8 || seed % k == seed / k % k) return std::nullopt;
      return square(16);
    case Distribution::product_and_accumulator:
      if (bits != 8 || format(in.c).storage_bits != 16) return std::nullopt;
      return square(8) ? std::optional(*square(8) << 16) : std::nullopt;
    case Distribution::operand_pairs:
      return bits == 16 ? square(16) : std::nullopt;
    default:
      return std::nullopt;
  }
}

Tiles make_stream_tiles(const Instruction& in, Distribution distribution, std::uint64_t seed, std::uint64_t first,
                        std::size_t count) {
  return make_tiles(in, stream::recipe(in, distribution, seed), first, count);
}

Problem make_problem(const Instruction& in, Distribution distribution, std::uint64_t seed, std::uint64_t index) {
  constexpr std::uint64_t kFirstTile = std::uint64_t{1} << 63;  // that no campaign comes to
  stream::Recipe recipe = stream::recipe(in, distribution, seed);
  recipe.shape.m = recipe.shape.n = 1;
  return problem_at(make_tiles(in, recipe, kFirstTile + index, 1), 0);
}

Tiles make_random_tiles(const Instruction& in, Distribution distribution, std::uint64_t seed, std::uint64_t first,
                        std::size_t count, std::size_t m, std::size_t n) {
  const std::size_t side = std::max(m, n);
  return tiles_of(in, count, m, n,
                  [&](std::size_t i) { return make_problem(in, distribution, seed, first * side + i); });
}

std::uint64_t digest(const Tiles& tiles, std::uint64_t first_index) { return digest(tiles.d, first_index); }

std::uint64_t digest(const Codes& results, std::uint64_t first_index) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < results.size(); ++i) sum += stream::hash_of(first_index + i, results[i]);
  return sum;
}

}  // namespace tcnum
