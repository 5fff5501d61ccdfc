#include "stream.hpp"

#include <algorithm>

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

/// The codes of a sweep's tile, the t-th of these.
void fill_sweep_tile(const stream::Recipe& r, std::uint64_t tile, std::size_t t, Tiles& tiles) {
  const std::uint64_t c = stream::sweep_accumulator(r, tile);
  for (int k = 0; k < r.shape.k; ++k) {
    const auto at = static_cast<std::size_t>(k);
    for (std::size_t i = 0; i < tiles.m; ++i)
      tiles.a.set(tiles.a_index(t, i, at), stream::sweep_operand(r, tile, stream::Purpose::a, static_cast<int>(i), k));
    for (std::size_t j = 0; j < tiles.n; ++j)
      tiles.b.set(tiles.b_index(t, at, j), stream::sweep_operand(r, tile, stream::Purpose::b, static_cast<int>(j), k));
  }
  for (std::size_t i = 0; i < tiles.m * tiles.n; ++i) tiles.c.set(tiles.c_index(t, 0, 0) + i, c);
}

/// The codes of a tile with that frame, the t-th of these.
template <class F>
void fill_tile(const stream::Recipe& r, const stream::CodeFormats<F>& formats, std::uint64_t tile,
               const stream::FrameDraw& draw, const StreamScales& scales, std::size_t t, Tiles& tiles) {
  using stream::Purpose;
  const stream::Frame& frame = draw.frame;
  std::vector<stream::SlotFrame> slots;
  for (int k = 0; k < r.shape.k; ++k) slots.push_back(stream::make_slot(r, tile, draw, k));
  for (const Purpose purpose : {Purpose::a, Purpose::b}) {
    const F& f = formats[purpose];
    const std::size_t lines = purpose == Purpose::a ? tiles.m : tiles.n;
    for (std::size_t k = 0; k < tiles.k; ++k) {
      const auto slot = stream::slot_codes(f, frame, slots.data(), purpose, static_cast<int>(k));
      for (std::size_t line = 0; line < lines; ++line) {
        const std::uint32_t element = static_cast<std::uint32_t>(line * tiles.k) + slot.element();
        const stream::Block block = stream::random_block(r, tile, purpose, element / 2);
        const auto code =
            stream::operand<0>(f, frame, f.sign_if(!frame.fixed_signs), slot, stream::words_of(block, element));
        if (purpose == Purpose::a)
          tiles.a.set(tiles.a_index(t, line, k), code);
        else
          tiles.b.set(tiles.b_index(t, k, line), code);
      }
    }
  }
  std::vector<typename F::Word> accumulators(std::min(tiles.m * tiles.n, std::size_t{stream::kAccumulators}));
  for (std::size_t i = 0; i < accumulators.size(); ++i) {
    const auto element = static_cast<std::uint32_t>(i);
    const stream::Block block = stream::random_block(r, tile, Purpose::c, element / 2);
    accumulators[i] = stream::accumulator<0, false>(formats.c, frame, r.distribution, stream::words_of(block, element));
  }
  const int cancelled = frame.cancelled_slot;
  const auto slot = static_cast<std::size_t>(cancelled);
  for (int i = 0; i < r.shape.m; ++i) {
    for (int j = 0; j < r.shape.n; ++j) {
      const auto row = static_cast<std::size_t>(i), column = static_cast<std::size_t>(j);
      tiles.c.set(tiles.c_index(t, row, column),
                  cancelled < 0 ? accumulators[static_cast<std::size_t>(stream::accumulator_at(i, j))]
                                : stream::opposite_product(formats.a, tiles.a[tiles.a_index(t, row, slot)], formats.b,
                                                           tiles.b[tiles.b_index(t, slot, column)], formats.c,
                                                           scales.factor(tiles, i, j, cancelled)));
    }
  }
}

/// Tiles of the recipe's shape.
Tiles make_tiles(const Instruction& in, const stream::Recipe& recipe, std::uint64_t first, std::size_t count) {
  Tiles tiles =
      make_dot_tiles(in, count, static_cast<std::size_t>(recipe.shape.m), static_cast<std::size_t>(recipe.shape.n));
  StreamScales scales(in);
  const bool sweep = is_sweep(recipe.distribution);
  stream::with_code_formats(recipe, [&](const auto& formats) {
    for (std::size_t t = 0; t < count; ++t) {
      const std::uint64_t tile = first + t;
      stream::FrameDraw draw = sweep ? stream::FrameDraw{} : stream::make_frame(recipe, tile);
      scales.begin_tile(recipe, tile, draw.frame, tiles);
      if (sweep)
        fill_sweep_tile(recipe, tile, t, tiles);
      else
        fill_tile(recipe, formats, tile, draw, scales, t, tiles);
    }
  });
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
  const auto found = std::ranges::find(kDistributionTexts, text, &DistributionText::name);
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
