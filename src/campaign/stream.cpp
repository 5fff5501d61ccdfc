#include "stream.hpp"

#include <algorithm>
#include <vector>

#include "src/campaign/stream/digest.hpp"
#include "src/campaign/stream/element.hpp"
#include "src/campaign/stream/sweep.hpp"

namespace tcnum {
namespace {

constexpr std::array<std::string_view, kDistributions> kNames = {"narrow",
                                                                 "wide",
                                                                 "cancellation",
                                                                 "uniform_bits",
                                                                 "tiny",
                                                                 "huge",
                                                                 "sparse",
                                                                 "edges",
                                                                 "signed_zeros",
                                                                 "specials",
                                                                 "gaussian",
                                                                 "product_pairs",
                                                                 "product_and_accumulator",
                                                                 "operand_pairs"};

}  // namespace

std::string_view name(Distribution distribution) { return kNames[static_cast<std::size_t>(distribution)]; }

std::optional<Distribution> find_distribution(std::string_view text) {
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Distribution>(found - kNames.begin());
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
  const stream::Recipe recipe = stream::recipe(in, distribution, seed);
  const auto [m, n, k] = recipe.shape;
  Tiles tiles = make_tiles(in.a, in.b, in.c, in.d, count, static_cast<std::size_t>(m), static_cast<std::size_t>(n),
                           static_cast<std::size_t>(k));
  std::size_t at_a = 0, at_b = 0, at_c = 0;
  std::vector<stream::SlotFrame> slots(tiles.k);
  std::array<std::uint64_t, stream::kAccumulators> accumulators{};
  for (std::uint64_t tile = first; tile < first + count; ++tile) {
    const bool sweep = is_sweep(distribution);
    const stream::FrameDraw frame = sweep ? stream::FrameDraw{} : stream::make_frame(recipe, tile);
    for (int kk = 0; kk < k && !sweep; ++kk)
      slots[static_cast<std::size_t>(kk)] = stream::make_slot(recipe, tile, frame, kk);
    for (int i = 0; i < stream::kAccumulators && !sweep; ++i) {
      accumulators[static_cast<std::size_t>(i)] = stream::accumulator_code(recipe, tile, frame, i);
    }
    const auto operand = [&](stream::Purpose purpose, int line, int kk) {
      return sweep ? stream::sweep_operand(recipe, tile, purpose, line, kk)
                   : stream::operand_code(recipe, tile, frame, slots.data(), purpose, line, kk);
    };
    for (int i = 0; i < m; ++i) {
      for (int kk = 0; kk < k; ++kk) tiles.a.set(at_a++, operand(stream::Purpose::a, i, kk));
    }
    for (int kk = 0; kk < k; ++kk) {
      for (int j = 0; j < n; ++j) tiles.b.set(at_b++, operand(stream::Purpose::b, j, kk));
    }
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        if (sweep) {
          tiles.c.set(at_c++, stream::sweep_accumulator(recipe, tile));
          continue;
        }
        tiles.c.set(at_c++, frame.frame.cancelled_slot >= 0
                                ? stream::cancelling_code(recipe, tile, frame, slots.data(), i, j)
                                : accumulators[static_cast<std::size_t>(stream::accumulator_at(i, j))]);
      }
    }
  }
  return tiles;
}

std::uint64_t digest(const Tiles& tiles, std::uint64_t first_index) { return digest(tiles.d, first_index); }

std::uint64_t digest(const Codes& results, std::uint64_t first_index) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < results.size(); ++i) sum += stream::hash_of(first_index + i, results[i]);
  return sum;
}

}  // namespace tcnum
