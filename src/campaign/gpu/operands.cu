// A block makes some tiles of a stream at a time: their frames first, a thread each, since a frame is one long chain of
// random numbers; then their slots; then one tile after the other, a thread two elements, which share their random
// numbers. Formats of at most 32 bits, which most streams have, have a form of their own (codes32.hpp).
#include <algorithm>

#include "codes32.hpp"
#include "src/campaign/stream/sweep.hpp"
#include "stream_kernels.hpp"
#include "cuda/launch.cuh"
#include "cuda/codes.cuh"

namespace tcnum {
namespace {

using stream::Purpose;

constexpr int kStreamThreads = 256;
constexpr int kMostFrames = 8, kMostSlotsAtOnce = 512;
constexpr int kSideBySide = 8;  // columns of every instruction tile that lie side by side, at least

template <class Code>
__device__ void store8(void* codes, std::uint64_t index, const std::uint64_t (&code)[kSideBySide]) {
  struct alignas(sizeof(Code) * kSideBySide > 16 ? 16 : sizeof(Code) * kSideBySide) Row {
    Code code[kSideBySide];
  } row;
  TCNUM_UNROLL for (int e = 0; e < kSideBySide; ++e) row.code[e] = static_cast<Code>(code[e]);
  *reinterpret_cast<Row*>(static_cast<Code*>(codes) + index) = row;
}
/// Eight codes side by side, from a multiple of eight on.
__device__ void store_codes(void* codes, std::uint64_t index, int bytes, const std::uint64_t (&code)[kSideBySide]) {
  switch (bytes) {
    case 2:
      return store8<std::uint16_t>(codes, index, code);
    case 4:
      return store8<std::uint32_t>(codes, index, code);
    default:
      return store8<std::uint64_t>(codes, index, code);
  }
}

/// A pattern that the instruction may have, for one group of a tile.
__device__ SparseGroup::Pattern draw_pattern(const stream::Recipe& r, const StreamTiles& tiles, std::uint64_t tile,
                                             int group) {
  const SparseGroup rule{tiles.group};
  std::uint32_t legal = 0;
  for (int number = 0; number < SparseGroup::kPatterns; ++number) {
    legal += rule.legal(SparseGroup::pattern(number), tiles.ascending) ? 1 : 0;
  }
  std::uint32_t skip =
      stream::random_block(r, tile, Purpose::frame, stream::kFirstPatternBlock + static_cast<unsigned>(group)).word[0] %
      legal;
  int number = 0;
  while (!rule.legal(SparseGroup::pattern(number), tiles.ascending) || skip-- != 0) ++number;
  return SparseGroup::pattern(number);
}

/// What must not matter: infinities, NaNs, the largest numbers, anything.
__device__ std::uint64_t garbage(const Format& f, const stream::Words& w) {
  constexpr int kSpecial = 80;  // percent, where there are such
  return f.floating && w.chance() < stream::percent(kSpecial) ? stream::special(f, w) : w.mixed() >> 32 & f.code_mask();
}

/// What all rows of a sparse A share, in shared memory.
struct SparsePlaces {
  std::uint8_t* position;  ///< of each stored element in its group
  std::uint8_t* unmet;     ///< rows of B that meet none: as many
};
/// Of one group.
__device__ void draw_places(const stream::Recipe& r, const StreamTiles& tiles, std::uint64_t tile, int group,
                            const SparsePlaces& places) {
  const SparseGroup rule{tiles.group};
  const SparseGroup::Pattern pattern = draw_pattern(r, tiles, tile, group);
  const int stored = rule.stored(), first = group * stored;
  unsigned selected = 0;
  for (int s = 0; s < stored; ++s) {
    const int position = rule.position(pattern, s);
    places.position[first + s] = static_cast<std::uint8_t>(position);
    selected |= 1u << position;
  }
  int others = first;
  for (int position = 0; position < tiles.group; ++position) {
    if ((selected >> position & 1) == 0) {
      places.unmet[others++] = static_cast<std::uint8_t>(group * tiles.group + position);
    }
  }
}

/// Writes where the elements of a sparse A stand, and what B has where none does. block_of(index) makes the random
/// numbers of B.
template <class BlockOf>
__device__ void fill_sparse(const stream::Recipe& r, const StreamTiles& tiles, std::uint64_t t,
                            const SparsePlaces& places, const BlockOf& block_of) {
  const int thread = static_cast<int>(threadIdx.x), k = r.shape.k;
  constexpr int kAtOnce = 4;  // k is a multiple of it
  auto* const e = reinterpret_cast<std::uint32_t*>(tiles.e + tiles.a_index(t, 0, 0));
  for (int i = kAtOnce * thread; i < r.shape.m * k; i += kAtOnce * kStreamThreads) {
    e[i / kAtOnce] = *reinterpret_cast<const std::uint32_t*>(places.position + tiles.k.rest(i));
  }
#pragma unroll 1
  for (int i = 2 * thread; i < r.shape.n * k; i += 2 * kStreamThreads) {
    const int column = tiles.k.quotient(i), first = tiles.k.rest(i);
    stream::Block block;
    std::uint32_t drawn = ~0u;  // which block
#pragma unroll 1
    for (int j = first; j < first + 2; ++j) {
      const int row = places.unmet[j];
      const auto element = static_cast<std::uint32_t>(column * tiles.depth + row);
      if (element / 2 != drawn) {
        drawn = element / 2;
        block = block_of(stream::kFirstUnmetBlock + drawn);
      }
      store_code(tiles.b, tiles.b_index(t, row, column), r.b.storage_bytes(),
                 garbage(r.b, stream::words_of(block, element)));
    }
  }
}

/// What a block has in shared memory of the tiles that it makes.
struct Draws {
  stream::FrameDraw frames[kMostFrames];
  stream::SlotFrame slots[kMostSlotsAtOnce];
  alignas(sizeof(std::uint32_t)) std::uint8_t position[kMostSlotsAtOnce] = {};
  std::uint8_t unmet[kMostSlotsAtOnce] = {};

  /// Of the tile whose slots begin there.
  __device__ SparsePlaces places(int first_slot) { return {position + first_slot, unmet + first_slot}; }
};

/// Draws the frames and slots of `at_once` tiles after the other, and calls make(tile of `tiles`, frame, slots, places)
/// for each tile. Before each call all threads have left the one before.
template <bool kFloating, class Make>
__device__ void each_tile(const stream::Recipe& r, const StreamTiles& tiles, int at_once, Draws& draws,
                          const Make& make) {
  const int thread = static_cast<int>(threadIdx.x), k = r.shape.k;
  const auto step = static_cast<std::uint64_t>(at_once);
  for (std::uint64_t from = blockIdx.x * step; from < tiles.count; from += gridDim.x * step) {
    const int count = static_cast<int>(tiles.count - from < step ? tiles.count - from : step);
    const std::uint64_t first = tiles.first + from;
    __syncthreads();
    constexpr int kWarp = 32;
    if (thread % kWarp == 0 && thread / kWarp < count) {
      draws.frames[thread / kWarp] = stream::make_frame<kFloating>(r, first + static_cast<unsigned>(thread / kWarp));
    }
    if (tiles.group != 0) {
      const int groups = tiles.depth / tiles.group;
      for (int i = thread; i < count * groups; i += kStreamThreads) {
        const int which = i / groups;
        draw_places(r, tiles, first + static_cast<unsigned>(which), i % groups, draws.places(which * k));
      }
    }
    __syncthreads();
    for (int i = thread; i < count * k; i += kStreamThreads) {
      const int which = tiles.k.quotient(i);
      draws.slots[i] =
          stream::make_slot<kFloating>(r, first + static_cast<unsigned>(which), draws.frames[which], tiles.k.rest(i));
    }
    for (int which = 0; which < count; ++which) {
      __syncthreads();
      make(from + static_cast<unsigned>(which), draws.frames[which], draws.slots + which * k, draws.places(which * k));
    }
  }
}

/// Where accumulator `i` lies in shared memory: threads that read eight of them each, side by side, meet in no bank.
__device__ constexpr int accumulator_place(int i) { return i + i / kSideBySide; }
constexpr int kAccumulatorPlaces = stream::kAccumulators + stream::kAccumulators / kSideBySide;

/// Tile `t` of a frame and its slots. `accumulators` is for this tile alone. Loops are not unrolled: what they call is
/// long, and code that does not fit the instruction caches costs more.
__device__ void make_tile(const stream::Recipe& r, const StreamTiles& tiles, std::uint64_t t,
                          const stream::FrameDraw& frame, const stream::SlotFrame* slots, const SparsePlaces& places,
                          std::uint64_t* accumulators) {
  const int thread = static_cast<int>(threadIdx.x);
  const auto [m, n, k] = r.shape;
  const int a_bytes = r.a.storage_bytes(), b_bytes = r.b.storage_bytes(), c_bytes = r.c.storage_bytes();
  const std::uint64_t tile = tiles.first + t;
  const int cancelled = frame.frame.cancelled_slot;
  if (tiles.group != 0) {
    fill_sparse(r, tiles, t, places,
                [&](std::uint32_t index) { return stream::random_block(r, tile, Purpose::b, index); });
    __syncthreads();
  }
#pragma unroll 1
  for (int i = 2 * thread; i < (m + n) * k; i += 2 * kStreamThreads) {
    const Purpose purpose = i < m * k ? Purpose::a : Purpose::b;
    const int at = purpose == Purpose::a ? i : i - m * k;
    const int line = tiles.k.quotient(at);  // k is even: two neighbours are of one line
    stream::Block block;
    std::uint32_t drawn = ~0u;  // which block
#pragma unroll 1
    for (int kk = tiles.k.rest(at), end = kk + 2; kk < end; ++kk) {
      const std::uint32_t element = stream::element_of(r, slots, line, kk);
      if (element / 2 != drawn) {
        drawn = element / 2;
        block = stream::random_block(r, tile, purpose, drawn);
      }
      const std::uint64_t code = stream::operand_code(r, frame, slots, purpose, kk, stream::words_of(block, element));
      if (purpose == Purpose::a)
        store_code(tiles.a, tiles.a_index(t, line, kk), a_bytes, code);
      else
        store_code(tiles.b, tiles.b_index(t, tiles.row_of_b(t, kk), line), b_bytes, code);
    }
  }
#pragma unroll 1
  for (int i = 2 * thread; i < stream::kAccumulators && cancelled < 0; i += 2 * kStreamThreads) {
    const stream::Block block = stream::random_block(r, tile, Purpose::c, static_cast<std::uint32_t>(i) / 2);
#pragma unroll 1
    for (int e = 0; e < 2; ++e) {
      accumulators[accumulator_place(i + e)] =
          stream::accumulator_code(r, frame, stream::words_of(block, static_cast<std::uint32_t>(e)));
    }
  }
  __syncthreads();
  const int row_of_b = cancelled < 0 ? 0 : tiles.row_of_b(t, cancelled);
  for (int i = kSideBySide * thread; i < m * n; i += kSideBySide * kStreamThreads) {
    const int row = tiles.n.quotient(i), column = tiles.n.rest(i);
    std::uint64_t codes[kSideBySide];
    if (cancelled >= 0) {
      const std::uint64_t a = load_code(tiles.a, tiles.a_index(t, row, cancelled), a_bytes);
      for (int e = 0; e < kSideBySide; ++e) {
        codes[e] = stream::opposite_product(r, a, load_code(tiles.b, tiles.b_index(t, row_of_b, column + e), b_bytes));
      }
    } else {
      TCNUM_UNROLL for (int e = 0; e < kSideBySide; ++e) codes[e] =
          accumulators[accumulator_place(stream::accumulator_at(row, column + e))];
    }
    store_codes(tiles.c, tiles.c_index(t, row, column), c_bytes, codes);
  }
}

__global__ void __launch_bounds__(kStreamThreads, 3)
    codes_kernel(const __grid_constant__ stream::Recipe r, const __grid_constant__ StreamTiles tiles,
                 int frames_at_once) {
  __shared__ Draws draws;
  __shared__ std::uint64_t accumulators[kAccumulatorPlaces];
  each_tile<false>(r, tiles, frames_at_once, draws,
                   [&](std::uint64_t t, const stream::FrameDraw& frame, const stream::SlotFrame* slots,
                       const SparsePlaces& places) { make_tile(r, tiles, t, frame, slots, places, accumulators); });
}

// --- Formats of at most 32 bits.

/// So many accumulators side by side are written at once.
constexpr int kQuad = 4;

/// All that codes of at most 32 bits depend on, but the tile.
struct Recipe32 {
  stream::Format32 a, b, c;
  stream::PhiloxKeys keys;
  int step;       ///< lines from one that a thread has a part in to the next
  Divider quads;  ///< by the groups of four columns
  explicit Recipe32(const stream::Recipe& r)
      : a(r.a), b(r.b), c(r.c), keys(r), step(2 * kStreamThreads / r.shape.k), quads(r.shape.n / kQuad) {}
  /// Each thread keeps the slots of two places, whichever line it is at.
  static bool suits(const stream::Recipe& r) {
    using stream::Format32;
    return Format32::suits(r.a) && Format32::suits(r.b) && Format32::suits(r.c) && Format32::suits(r.d) &&
           r.c.storage_bytes() >= 2 && 2 * kStreamThreads % r.shape.k == 0;
  }
};

/// Two places of each line of A, or B, that this thread has a part in.
template <Purpose kPurpose, class Code, bool kPlain>
__device__ void make_operands(const StreamShape& shape, const Recipe32& recipe, const StreamTiles& tiles,
                              std::uint64_t t, const stream::Frame& shared_frame, const stream::SlotFrame* slots) {
  const stream::Frame frame = shared_frame;  // in registers
  const stream::Format32& f = kPurpose == Purpose::a ? recipe.a : recipe.b;
  const std::uint64_t tile = tiles.first + t;
  const int at = 2 * static_cast<int>(threadIdx.x), k = shape.k, kk = tiles.k.rest(at);
  const stream::SlotFrame32 slot[2] = {stream::slot_frame32(f, slots, kPurpose, kk),
                                       stream::slot_frame32(f, slots, kPurpose, kk + 1)};
  Code* out[2];  // of the first line, or column
  if constexpr (kPurpose == Purpose::a) {
    out[0] = static_cast<Code*>(tiles.a) + tiles.a_index(t, 0, kk);
  } else {
    TCNUM_UNROLL for (int e = 0; e < 2; ++e) out[e] =
        static_cast<Code*>(tiles.b) + tiles.b_index(t, tiles.row_of_b(t, kk + e), 0);
  }
  const auto lines = static_cast<unsigned>(kPurpose == Purpose::a ? shape.m : shape.n);
#pragma unroll 1
  for (auto line = static_cast<unsigned>(tiles.k.quotient(at)); line < lines;
       line += static_cast<unsigned>(recipe.step)) {
    stream::Block block;
    std::uint32_t drawn = ~0u;  // which block
    Code codes[2];
    TCNUM_UNROLL for (int e = 0; e < 2; ++e) {
      const auto source = static_cast<std::uint32_t>(slot[e].source),
                 element = line * static_cast<unsigned>(k) + source;
      if (element / 2 != drawn) {
        drawn = element / 2;
        block = recipe.keys.block(tile, kPurpose, drawn);
      }
      // k is even.
      codes[e] = static_cast<Code>(stream::operand32<kPlain>(f, frame, slot[e], stream::words_of(block, source)));
    }
    if constexpr (kPurpose == Purpose::a) {
      struct alignas(2 * sizeof(Code)) Pair {
        Code code[2];
      };
      *reinterpret_cast<Pair*>(out[0] + line * static_cast<unsigned>(k)) = {codes[0], codes[1]};
    } else {
      const unsigned further = tiles.column_of_b(static_cast<int>(line));
      out[0][further] = codes[0];
      out[1][further] = codes[1];
    }
  }
}
template <Purpose kPurpose, class Code>
__device__ void make_operands(const StreamShape& shape, const Recipe32& recipe, const StreamTiles& tiles,
                              std::uint64_t t, const stream::Frame& frame, const stream::SlotFrame* slots) {
  if (stream::has_plain_operands(frame))
    make_operands<kPurpose, Code, true>(shape, recipe, tiles, t, frame, slots);
  else
    make_operands<kPurpose, Code, false>(shape, recipe, tiles, t, frame, slots);
}
template <Purpose kPurpose>
__device__ void make_operands(const StreamShape& shape, const Recipe32& recipe, const StreamTiles& tiles,
                              std::uint64_t t, const stream::Frame& frame, const stream::SlotFrame* slots) {
  switch ((kPurpose == Purpose::a ? recipe.a : recipe.b).format.storage_bytes()) {
    case 1:
      return make_operands<kPurpose, std::uint8_t>(shape, recipe, tiles, t, frame, slots);
    case 2:
      return make_operands<kPurpose, std::uint16_t>(shape, recipe, tiles, t, frame, slots);
    default:
      return make_operands<kPurpose, std::uint32_t>(shape, recipe, tiles, t, frame, slots);
  }
}

/// Two of the accumulators that a tile has, by each thread.
template <bool kPlain>
__device__ void draw_accumulators(const stream::Recipe& r, const Recipe32& recipe, std::uint64_t tile,
                                  const stream::Frame& frame, std::uint32_t* accumulators) {
  static_assert(stream::kAccumulators == 2 * kStreamThreads);
  const stream::Block block = recipe.keys.block(tile, Purpose::c, threadIdx.x);
  TCNUM_UNROLL for (std::uint32_t e = 0; e < 2; ++e) {
    accumulators[2 * threadIdx.x + e] =
        stream::accumulator32<kPlain>(recipe.c, frame, r.distribution, stream::words_of(block, e));
  }
}

/// c of a tile, whose operands are there: a thread has four columns of four rows at a time. Both lie in one instruction
/// tile.
template <class Code>
__device__ void make_accumulators(const stream::Recipe& r, const Recipe32& recipe, const StreamTiles& tiles,
                                  std::uint64_t t, int cancelled, const std::uint32_t* accumulators) {
  struct alignas(kQuad * sizeof(Code)) Quad {
    Code code[kQuad];
  };
  const unsigned pitch = tiles.tile_n.divisor;
  const int across = r.shape.n / kQuad, pieces = r.shape.m / kQuad * across;
  for (int i = static_cast<int>(threadIdx.x); i < pieces; i += kStreamThreads) {
    const int down = recipe.quads.quotient(i), row = down * kQuad, column = (i - down * across) * kQuad;
    Code* const c = static_cast<Code*>(tiles.c) + tiles.c_index(t, row, column);
    const auto put = [&](int at, const Quad& quad) {
      *reinterpret_cast<Quad*>(c + static_cast<unsigned>(at) * pitch) = quad;
    };
    if (cancelled < 0) {
      TCNUM_UNROLL for (int at = 0; at < kQuad; ++at) {
        const std::uint32_t* const from = accumulators + stream::accumulator_at(row + at, column);
        Quad quad;
        TCNUM_UNROLL for (int e = 0; e < kQuad; ++e) quad.code[e] = static_cast<Code>(from[e]);
        put(at, quad);
      }
      continue;
    }
    const std::uint64_t from_b = tiles.b_index(t, tiles.row_of_b(t, cancelled), column);
#pragma unroll 1
    for (int at = 0; at < kQuad; ++at) {
      const auto a =
          static_cast<std::uint32_t>(load_code(tiles.a, tiles.a_index(t, row + at, cancelled), r.a.storage_bytes()));
      Quad quad;
      TCNUM_UNROLL for (unsigned e = 0; e < kQuad; ++e) {
        const auto b = static_cast<std::uint32_t>(load_code(tiles.b, from_b + e, r.b.storage_bytes()));
        quad.code[e] = static_cast<Code>(stream::opposite_product32(recipe.a, a, recipe.b, b, recipe.c));
      }
      put(at, quad);
    }
  }
}

/// make_tile() of formats of at most 32 bits.
__device__ void make_tile32(const stream::Recipe& r, const Recipe32& recipe, const StreamTiles& tiles, std::uint64_t t,
                            const stream::Frame& frame, const stream::SlotFrame* slots, const SparsePlaces& places,
                            std::uint32_t* accumulators) {
  const int thread = static_cast<int>(threadIdx.x);
  if (tiles.group != 0) {
    fill_sparse(r, tiles, t, places,
                [&](std::uint32_t index) { return recipe.keys.block(tiles.first + t, Purpose::b, index); });
    __syncthreads();
  }
  make_operands<Purpose::a>(r.shape, recipe, tiles, t, frame, slots);
  make_operands<Purpose::b>(r.shape, recipe, tiles, t, frame, slots);
  if (frame.cancelled_slot < 0) {
    if (stream::has_plain_accumulators(frame))
      draw_accumulators<true>(r, recipe, tiles.first + t, frame, accumulators);
    else
      draw_accumulators<false>(r, recipe, tiles.first + t, frame, accumulators);
    // The first ones again: a quad does not begin anew in its middle.
    if (thread < kQuad / 2) {
      TCNUM_UNROLL for (int e = 0; e < 2; ++e) {
        accumulators[stream::kAccumulators + 2 * thread + e] = accumulators[2 * thread + e];
      }
    }
  }
  __syncthreads();
  if (recipe.c.format.storage_bytes() == 2)
    make_accumulators<std::uint16_t>(r, recipe, tiles, t, frame.cancelled_slot, accumulators);
  else
    make_accumulators<std::uint32_t>(r, recipe, tiles, t, frame.cancelled_slot, accumulators);
}

__global__ void __launch_bounds__(kStreamThreads, 4)
    codes32_kernel(const __grid_constant__ stream::Recipe r, const __grid_constant__ Recipe32 recipe,
                   const __grid_constant__ StreamTiles tiles, int frames_at_once) {
  __shared__ Draws draws;
  __shared__ std::uint32_t accumulators[stream::kAccumulators + kQuad];
  each_tile<true>(
      r, tiles, frames_at_once, draws,
      [&](std::uint64_t t, const stream::FrameDraw& frame, const stream::SlotFrame* slots, const SparsePlaces& places) {
        make_tile32(r, recipe, tiles, t, frame.frame, slots, places, accumulators);
      });
}

// --- Sweeps.

__global__ void __launch_bounds__(kStreamThreads)
    sweep_kernel(const __grid_constant__ stream::Recipe r, const __grid_constant__ StreamTiles tiles) {
  const int thread = static_cast<int>(threadIdx.x);
  const auto [m, n, k] = r.shape;
  for (std::uint64_t t = blockIdx.x; t < tiles.count; t += gridDim.x) {
    const std::uint64_t tile = tiles.first + t;
    for (int i = thread; i < m * k; i += kStreamThreads) {
      const int row = tiles.k.quotient(i), kk = tiles.k.rest(i);
      store_code(tiles.a, tiles.a_index(t, row, kk), r.a.storage_bytes(),
                 stream::sweep_operand(r, tile, Purpose::a, row, kk));
    }
    for (int i = thread; i < n * k; i += kStreamThreads) {
      const int column = tiles.k.quotient(i), kk = tiles.k.rest(i);
      store_code(tiles.b, tiles.b_index(t, kk, column), r.b.storage_bytes(),
                 stream::sweep_operand(r, tile, Purpose::b, column, kk));
    }
    const std::uint64_t c = stream::sweep_accumulator(r, tile);
    for (int i = thread; i < m * n; i += kStreamThreads) {
      store_code(tiles.c, tiles.c_index(t, tiles.n.quotient(i), tiles.n.rest(i)), r.c.storage_bytes(), c);
    }
  }
}

}  // namespace

cudaError_t launch_stream_codes(const stream::Recipe& recipe, const StreamTiles& tiles) {
  if (is_sweep(recipe.distribution)) {
    return launch_resident(sweep_kernel, kStreamThreads, 0, tiles.count, recipe, tiles);
  }
  const int at_once = std::min(kMostFrames, kMostSlotsAtOnce / recipe.shape.k);
  const auto step = static_cast<std::uint64_t>(at_once), steps = (tiles.count + step - 1) / step;
  if (Recipe32::suits(recipe)) {
    return launch_resident(codes32_kernel, kStreamThreads, 0, steps, recipe, Recipe32(recipe), tiles, at_once);
  }
  return launch_resident(codes_kernel, kStreamThreads, 0, steps, recipe, tiles, at_once);
}

}  // namespace tcnum
