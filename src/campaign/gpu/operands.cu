// A block makes some tiles of a stream at a time: their frames first, a thread each, since a frame is one long chain of
// random numbers; then their slots; then one tile after the other, a thread two elements, which share their random
// numbers. Of formats that most streams have, in words of 32 bits, each warp makes a tile.
#include <algorithm>
#include <type_traits>

#include "cuda/codes.cuh"
#include "cuda/launch.cuh"
#include "src/questions/stream/element.hpp"
#include "src/questions/stream/sweep.hpp"
#include "stream_kernels.hpp"

namespace tcnum {
namespace {

/// random_block() with the generator's keys of all rounds made once: half the work of Random123's form, which makes
/// them anew for each block.
class PhiloxKeys {
 public:
  PhiloxKeys() = default;
  explicit PhiloxKeys(const stream::Recipe& r) : distribution_(r.distribution) {
    for (int round = 0; round < kRounds; ++round) {
      const auto n = static_cast<std::uint32_t>(round);
      key_[round][0] = static_cast<std::uint32_t>(r.seed) + n * PHILOX_W32_0;
      key_[round][1] = static_cast<std::uint32_t>(r.seed >> 32) + n * PHILOX_W32_1;
    }
  }
  TCNUM_HOST_DEVICE stream::Block block(std::uint64_t tile, stream::Purpose purpose, std::uint32_t index) const {
    std::uint32_t x[4] = {index, stream::counter_word(distribution_, purpose), static_cast<std::uint32_t>(tile),
                          static_cast<std::uint32_t>(tile >> 32)};
    TCNUM_UNROLL for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t p = static_cast<std::uint64_t>(PHILOX_M4x32_0) * x[0];
      const std::uint64_t q = static_cast<std::uint64_t>(PHILOX_M4x32_1) * x[2];
      x[0] = static_cast<std::uint32_t>(q >> 32) ^ x[1] ^ key_[round][0];
      x[1] = static_cast<std::uint32_t>(q);
      x[2] = static_cast<std::uint32_t>(p >> 32) ^ x[3] ^ key_[round][1];
      x[3] = static_cast<std::uint32_t>(p);
    }
    return {{x[0], x[1], x[2], x[3]}};
  }

 private:
  static constexpr int kRounds = 10;
  Distribution distribution_{};
  std::uint32_t key_[kRounds][2] = {};
};

using stream::Purpose;
using Float32 = stream::FloatFormat<std::uint32_t>;
using SlotCodes32 = stream::SlotCodes<std::uint32_t>;

constexpr int kStreamThreads = 256;
constexpr int kWarp = 32;
constexpr int kMostFrames = kStreamThreads / kWarp;  // a warp's first thread draws one
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
template <class F>
__device__ std::uint64_t garbage(const F& f, const stream::Words& w) {
  constexpr int kSpecial = 80;  // percent, where there are such
  if constexpr (!std::is_same_v<F, stream::IntegerFormat>) {
    if (w.chance() < stream::percent(kSpecial)) return stream::special<0>(f, w);
  }
  return w.mixed() >> 32 & f.format.code_mask();
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
/// numbers of B. By `threads` threads, of which this is one.
template <class F, class BlockOf>
__device__ void fill_sparse(const stream::Recipe& r, const F& of_b, const StreamTiles& tiles, std::uint64_t t,
                            const SparsePlaces& places, int thread, int threads, const BlockOf& block_of) {
  const int k = r.shape.k;
  constexpr int kAtOnce = 4;  // k is a multiple of it
  auto* const e = reinterpret_cast<std::uint32_t*>(tiles.e + tiles.a_index(t, 0, 0));
  for (int i = kAtOnce * thread; i < r.shape.m * k; i += kAtOnce * threads) {
    e[i / kAtOnce] = *reinterpret_cast<const std::uint32_t*>(places.position + tiles.k.rest(i));
  }
#pragma unroll 1
  for (int i = 2 * thread; i < r.shape.n * k; i += 2 * threads) {
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
                 garbage(of_b, stream::words_of(block, element)));
    }
  }
}

/// What a block has in shared memory of the tiles that it makes.
template <int kMostSlots>
struct Draws {
  stream::FrameDraw frames[kMostFrames];
  stream::SlotFrame slots[kMostSlots];
  alignas(sizeof(std::uint32_t)) std::uint8_t position[kMostSlots] = {};
  std::uint8_t unmet[kMostSlots] = {};

  /// How many tiles it has room for.
  static int tiles_at_once(const stream::Recipe& r) { return std::min(kMostFrames, kMostSlots / r.shape.k); }

  /// Of the tile whose slots begin there.
  __device__ SparsePlaces places(int first_slot) { return {position + first_slot, unmet + first_slot}; }
};

/// Draws the frames and slots of `at_once` tiles after the other, and calls make(first of those tiles, how many) when
/// they are there. Before each call all threads have left the one before.
template <bool kFloating, int kMostSlots, class Make>
__device__ void each_draws(const stream::Recipe& r, const StreamTiles& tiles, int at_once, Draws<kMostSlots>& draws,
                           const Make& make) {
  const int thread = static_cast<int>(threadIdx.x), k = r.shape.k;
  const auto step = static_cast<std::uint64_t>(at_once);
  for (std::uint64_t from = blockIdx.x * step; from < tiles.count; from += gridDim.x * step) {
    const int count = static_cast<int>(tiles.count - from < step ? tiles.count - from : step);
    const std::uint64_t first = tiles.first + from;
    __syncthreads();
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
    __syncthreads();
    make(from, count);
  }
}

/// Where accumulator `i` lies in shared memory: threads that read eight of them each, side by side, meet in no bank.
__device__ constexpr int accumulator_place(int i) { return i + i / kSideBySide; }
constexpr int kAccumulatorPlaces = stream::kAccumulators + stream::kAccumulators / kSideBySide;

/// Tile `t` of a frame and its slots. `accumulators` is for this tile alone. Loops are not unrolled: what they call is
/// long, and code that does not fit the instruction caches costs more.
template <class F>
__device__ void make_tile(const stream::Recipe& r, const stream::CodeFormats<F>& formats, const StreamTiles& tiles,
                          std::uint64_t t, const stream::Frame& frame, const stream::SlotFrame* slots,
                          const SparsePlaces& places, typename F::Word* accumulators) {
  const int thread = static_cast<int>(threadIdx.x);
  const auto [m, n, k] = r.shape;
  const int a_bytes = r.a.storage_bytes(), b_bytes = r.b.storage_bytes(), c_bytes = r.c.storage_bytes();
  const std::uint64_t tile = tiles.first + t;
  const int cancelled = frame.cancelled_slot;
  if (tiles.group != 0) {
    fill_sparse(r, formats.b, tiles, t, places, thread, kStreamThreads,
                [&](std::uint32_t index) { return stream::random_block(r, tile, Purpose::b, index); });
    __syncthreads();
  }
#pragma unroll 1
  for (int i = 2 * thread; i < (m + n) * k; i += 2 * kStreamThreads) {
    const Purpose purpose = i < m * k ? Purpose::a : Purpose::b;
    const F& f = formats[purpose];
    const int at = purpose == Purpose::a ? i : i - m * k;
    const int line = tiles.k.quotient(at);  // k is even: two neighbours are of one line
    stream::Block block;
    std::uint32_t drawn = ~0u;  // which block
#pragma unroll 1
    for (int kk = tiles.k.rest(at), end = kk + 2; kk < end; ++kk) {
      const auto slot = stream::slot_codes(f, frame, slots, purpose, kk);
      const std::uint32_t element = static_cast<std::uint32_t>(line * k) + slot.element();
      if (element / 2 != drawn) {
        drawn = element / 2;
        block = stream::random_block(r, tile, purpose, drawn);
      }
      const std::uint64_t code =
          stream::operand<0>(f, frame, f.sign_if(!frame.fixed_signs), slot, stream::words_of(block, element));
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
      accumulators[accumulator_place(i + e)] = stream::accumulator<0, false>(
          formats.c, frame, r.distribution, stream::words_of(block, static_cast<std::uint32_t>(e)));
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
        const std::uint64_t b = load_code(tiles.b, tiles.b_index(t, row_of_b, column + e), b_bytes);
        codes[e] = stream::opposite_product(formats.a, a, formats.b, b, formats.c);
      }
    } else {
      TCNUM_UNROLL for (int e = 0; e < kSideBySide; ++e) codes[e] =
          accumulators[accumulator_place(stream::accumulator_at(row, column + e))];
    }
    store_codes(tiles.c, tiles.c_index(t, row, column), c_bytes, codes);
  }
}

using CodesDraws = Draws<512>;

template <class F>
__global__ void __launch_bounds__(kStreamThreads, 3)
    codes_kernel(const __grid_constant__ stream::Recipe r, const __grid_constant__ stream::CodeFormats<F> formats,
                 const __grid_constant__ StreamTiles tiles, int frames_at_once) {
  __shared__ CodesDraws draws;
  __shared__ typename F::Word accumulators[kAccumulatorPlaces];
  each_draws<false>(r, tiles, frames_at_once, draws, [&](std::uint64_t from, int count) {
    for (int which = 0; which < count; ++which) {
      if (which != 0) __syncthreads();
      const int first = which * r.shape.k;
      make_tile(r, formats, tiles, from + static_cast<unsigned>(which), draws.frames[which].frame, draws.slots + first,
                draws.places(first), accumulators);
    }
  });
}

// --- Floating-point formats of at most 32 bits, integers of at most 8: each warp makes a tile.

/// So many accumulators side by side are written at once.
constexpr int kQuad = 4;

/// What a tile has room for.
struct Most32 {
  static constexpr int kSlots = kMostFrames * 32;
  static constexpr int kPieces = 1024;  ///< four columns of four rows
};

/// All that codes of at most 32 bits depend on, but the tile. F: Float32 or IntegerFormat.
template <class F>
struct Recipe32 : stream::CodeFormats<F> {
  PhiloxKeys keys;
  Divider quads;  ///< by the groups of four columns
  explicit Recipe32(const stream::Recipe& r) : stream::CodeFormats<F>(r), keys(r), quads(r.shape.n / kQuad) {}
  /// Each thread keeps the slots of two places of A, whichever line it is at.
  static bool suits(const stream::Recipe& r) {
    return F::suits(r.a) && F::suits(r.b) && F::suits(r.c) && F::suits(r.d) && r.c.storage_bytes() >= kLeastOfC &&
           (kFloating || (r.a.storage_bytes() == 1 && r.b.storage_bytes() == 1)) && 2 * kWarp % r.shape.k == 0 &&
           r.shape.m * r.shape.n / (kQuad * kQuad) <= Most32::kPieces;
  }
  static constexpr bool kFloating = std::is_same_v<F, Float32>;
  static constexpr int kLeastOfC = kFloating ? 2 : 4;  ///< bytes
};

/// What a block has in shared memory.
struct Draws32 : Draws<Most32::kSlots> {
  /// The slots in the form that elements want.
  SlotCodes32 a[Most32::kSlots], b[Most32::kSlots];
  /// Of each tile. The first come again at the end, since pieces have them in rows.
  static constexpr int kAccumulators = stream::kAccumulators + (kQuad - 1) * stream::kAccumulatorRow + kQuad - 1;
  std::uint32_t accumulators[kMostFrames][kAccumulators] = {};
  /// Where pieces lie: the first element of c in a tile, and the first accumulator.
  struct Piece {
    std::uint16_t c = 0, accumulator = 0;
  } pieces[Most32::kPieces] = {};

  __device__ void find_pieces(const stream::Recipe& r, const Divider& quads, const StreamTiles& tiles) {
    const int across = r.shape.n / kQuad, count = r.shape.m / kQuad * across;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kStreamThreads) {
      const int down = quads.quotient(i), row = down * kQuad, column = (i - down * across) * kQuad;
      pieces[i] = {static_cast<std::uint16_t>(tiles.c_index(0, row, column)),
                   static_cast<std::uint16_t>(stream::accumulator_at(row, column))};
    }
  }
  template <class F>
  __device__ void find_slots(const stream::Recipe& r, const Recipe32<F>& recipe, const StreamTiles& tiles, int count) {
    for (int i = static_cast<int>(threadIdx.x); i < count * r.shape.k; i += kStreamThreads) {
      const int which = tiles.k.quotient(i), first = which * r.shape.k, k = i - first;
      const stream::Frame& frame = frames[which].frame;
      a[i] = stream::slot_codes(recipe.a, frame, slots + first, Purpose::a, k);
      b[i] = stream::slot_codes(recipe.b, frame, slots + first, Purpose::b, k);
      const int stored = tiles.group / 2;
      b[i].row = static_cast<std::uint16_t>(stored == 0 ? k : k / stored * tiles.group + position[i]);
    }
  }
};

/// A tile that a warp makes.
struct Tile32 {
  std::uint64_t at, number;  ///< among the tiles, and in the stream
  unsigned lane;
  const stream::Frame& frame;
  const SlotCodes32 *a, *b;
  std::uint32_t* accumulators;
};

/// The codes of two neighbouring places of a line. `pairs` of such are a line's, of which this is one.
template <Purpose kPurpose, class Code, bool kPlain, class F>
__device__ void make_pair(const Recipe32<F>& recipe, std::uint64_t tile, const stream::Frame& frame,
                          std::uint32_t signs, unsigned line, unsigned pairs, unsigned pair,
                          const SlotCodes32 (&slot)[2], Code (&code)[2]) {
  constexpr int kBytes = sizeof(Code);
  const F& f = kPurpose == Purpose::a ? recipe.a : recipe.b;
  if constexpr (kPlain) {
    const stream::Block block = recipe.keys.block(tile, kPurpose, line * pairs + pair);
    TCNUM_UNROLL for (unsigned e = 0; e < 2; ++e) {
      code[e] = static_cast<Code>(stream::plain_operand<kBytes>(f, signs, slot[e], stream::words_of(block, e)));
    }
  } else {
    stream::Block block;
    std::uint32_t drawn = ~0u;  // which block
    TCNUM_UNROLL for (int e = 0; e < 2; ++e) {
      const std::uint32_t element = slot[e].element(), wanted = line * pairs + element / 2;  // lines are even
      if (wanted != drawn) {
        drawn = wanted;
        block = recipe.keys.block(tile, kPurpose, drawn);
      }
      code[e] = static_cast<Code>(stream::operand<kBytes>(f, frame, signs, slot[e], stream::words_of(block, element)));
    }
  }
}

/// A: a thread has the same two places of every so many lines, and what lies side by side is written by neighbours.
template <class Code, bool kPlain, class F>
__device__ void make_a(const StreamShape& shape, const Recipe32<F>& recipe, const StreamTiles& tiles,
                       const Tile32& tile) {
  struct alignas(2 * sizeof(Code)) Pair {
    Code code[2];
  };
  const stream::Frame frame = tile.frame;  // in registers
  const std::uint32_t signs = recipe.a.sign_if(!frame.fixed_signs);
  const unsigned pairs = static_cast<unsigned>(shape.k) / 2, count = static_cast<unsigned>(shape.m) * pairs;
  const unsigned first = tile.lane / pairs, pair = tile.lane % pairs, step = kWarp / pairs;
  const SlotCodes32 slot[2] = {tile.a[2 * pair], tile.a[2 * pair + 1]};
  Pair* const out = reinterpret_cast<Pair*>(static_cast<Code*>(tiles.a) + tiles.a_index(tile.at, 0, 0));
  unsigned line = first;
#pragma unroll(kPlain ? 2 : 1)
  for (unsigned i = tile.lane; i < count; i += kWarp, line += step) {
    Pair codes;
    make_pair<Purpose::a, Code, kPlain>(recipe, tile.number, frame, signs, line, pairs, pair, slot, codes.code);
    out[i] = codes;
  }
}

/// B: neighbours have neighbouring columns, which lie side by side.
template <class Code, bool kPlain, class F>
__device__ void make_b(const StreamShape& shape, const Recipe32<F>& recipe, const StreamTiles& tiles,
                       const Tile32& tile) {
  const stream::Frame frame = tile.frame;  // in registers
  const std::uint32_t signs = recipe.b.sign_if(!frame.fixed_signs);
  const unsigned pairs = static_cast<unsigned>(shape.k) / 2, pitch = tiles.tile_n.divisor;
  Code* const all = static_cast<Code*>(tiles.b) + tiles.b_index(tile.at, 0, 0);
#pragma unroll 1
  for (unsigned column = tile.lane; column < static_cast<unsigned>(shape.n); column += kWarp) {
    Code* const out = all + tiles.column_of_b(static_cast<int>(column));
#pragma unroll(kPlain ? 2 : 1)
    for (unsigned pair = 0; pair < pairs; ++pair) {
      const SlotCodes32 slot[2] = {tile.b[2 * pair], tile.b[2 * pair + 1]};
      Code codes[2];
      make_pair<Purpose::b, Code, kPlain>(recipe, tile.number, frame, signs, column, pairs, pair, slot, codes);
      TCNUM_UNROLL for (int e = 0; e < 2; ++e) out[slot[e].row * pitch] = codes[e];
    }
  }
}

/// The accumulators that a tile has, two by two.
template <int kBytes, bool kPlain, class F>
__device__ void draw_accumulators(const stream::Recipe& r, const Recipe32<F>& recipe, const Tile32& tile) {
  const stream::Frame frame = tile.frame;  // in registers
#pragma unroll(kPlain ? 2 : 1)
  for (unsigned i = tile.lane; i < stream::kAccumulators / 2; i += kWarp) {
    const stream::Block block = recipe.keys.block(tile.number, Purpose::c, i);
    TCNUM_UNROLL for (std::uint32_t e = 0; e < 2; ++e) {
      const std::uint32_t code =
          stream::accumulator<kBytes, kPlain>(recipe.c, frame, r.distribution, stream::words_of(block, e));
      tile.accumulators[2 * i + e] = code;
      constexpr unsigned kAgain = Draws32::kAccumulators - stream::kAccumulators;
      if (2 * i + e < kAgain) tile.accumulators[stream::kAccumulators + 2 * i + e] = code;
    }
  }
}

template <class Code>
struct alignas(kQuad * sizeof(Code)) Quad {
  Code code[kQuad];
};

/// c of a tile, four columns of four rows at a time, which lie in one instruction tile.
template <class Code>
__device__ void place_accumulators(const stream::Recipe& r, const StreamTiles& tiles, const Tile32& tile,
                                   const Draws32::Piece* pieces) {
  const unsigned pitch = tiles.tile_n.divisor;
  const auto count = static_cast<unsigned>(r.shape.m / kQuad * (r.shape.n / kQuad));
  Code* const all = static_cast<Code*>(tiles.c) + tiles.c_index(tile.at, 0, 0);
  for (unsigned i = tile.lane; i < count; i += kWarp) {
    const Draws32::Piece piece = pieces[i];
    TCNUM_UNROLL for (int at = 0; at < kQuad; ++at) {
      const std::uint32_t* const from = tile.accumulators + piece.accumulator + at * stream::kAccumulatorRow;
      Quad<Code> quad;
      TCNUM_UNROLL for (int e = 0; e < kQuad; ++e) quad.code[e] = static_cast<Code>(from[e]);
      *reinterpret_cast<Quad<Code>*>(all + piece.c + static_cast<unsigned>(at) * pitch) = quad;
    }
  }
}

/// The same where c cancels products of a slot. Operands are there.
template <class Code, class F>
__device__ void place_opposites(const stream::Recipe& r, const Recipe32<F>& recipe, const StreamTiles& tiles,
                                const Tile32& tile, const Draws32::Piece* pieces) {
  const unsigned pitch = tiles.tile_n.divisor;
  const int across = r.shape.n / kQuad, count = r.shape.m / kQuad * across, slot = tile.frame.cancelled_slot;
  Code* const all = static_cast<Code*>(tiles.c) + tiles.c_index(tile.at, 0, 0);
#pragma unroll 1
  for (int i = static_cast<int>(tile.lane); i < count; i += kWarp) {
    const int down = recipe.quads.quotient(i), row = down * kQuad, column = (i - down * across) * kQuad;
    const std::uint64_t from_b = tiles.b_index(tile.at, tile.b[slot].row, column);
#pragma unroll 1
    for (int at = 0; at < kQuad; ++at) {
      const auto a =
          static_cast<std::uint32_t>(load_code(tiles.a, tiles.a_index(tile.at, row + at, slot), r.a.storage_bytes()));
      Quad<Code> quad;
      TCNUM_UNROLL for (unsigned e = 0; e < kQuad; ++e) {
        const auto b = static_cast<std::uint32_t>(load_code(tiles.b, from_b + e, r.b.storage_bytes()));
        quad.code[e] = static_cast<Code>(stream::opposite_product(recipe.a, a, recipe.b, b, recipe.c));
      }
      *reinterpret_cast<Quad<Code>*>(all + pieces[i].c + static_cast<unsigned>(at) * pitch) = quad;
    }
  }
}

/// Calls with the type of the codes of A or B, or of c, as suits() wants them.
template <class F, class With>
__device__ void with_operands_of(const F& f, const With& with) {
  if constexpr (Recipe32<F>::kFloating) {
    if (f.format.storage_bytes() == 2) return with.template operator()<std::uint16_t>();
    if (f.format.storage_bytes() == 4) return with.template operator()<std::uint32_t>();
  }
  with.template operator()<std::uint8_t>();
}
template <class F, class With>
__device__ void with_c_of(const F& f, const With& with) {
  if constexpr (Recipe32<F>::kFloating) {
    if (f.format.storage_bytes() == 2) return with.template operator()<std::uint16_t>();
  }
  with.template operator()<std::uint32_t>();
}

/// make_tile() of formats of at most 32 bits, by a warp.
template <class F>
__device__ void make_tile32(const stream::Recipe& r, const Recipe32<F>& recipe, const StreamTiles& tiles,
                            const Tile32& tile, const Draws32::Piece* pieces) {
  const auto make_operands = [&]<bool kPlain>() {
    with_operands_of(recipe.a, [&]<class Code>() { make_a<Code, kPlain>(r.shape, recipe, tiles, tile); });
    with_operands_of(recipe.b, [&]<class Code>() { make_b<Code, kPlain>(r.shape, recipe, tiles, tile); });
  };
  if (stream::has_plain_operands(tile.frame))
    make_operands.template operator()<true>();
  else
    make_operands.template operator()<false>();
  with_c_of(recipe.c, [&]<class Code>() {
    if (tile.frame.cancelled_slot >= 0) {
      __syncwarp();
      place_opposites<Code>(r, recipe, tiles, tile, pieces);
      return;
    }
    if (stream::has_plain_accumulators(tile.frame))
      draw_accumulators<sizeof(Code), true>(r, recipe, tile);
    else
      draw_accumulators<sizeof(Code), false>(r, recipe, tile);
    __syncwarp();
    place_accumulators<Code>(r, tiles, tile, pieces);
  });
}

template <class F>
__global__ void __launch_bounds__(kStreamThreads, 3)
    codes32_kernel(const __grid_constant__ stream::Recipe r, const __grid_constant__ Recipe32<F> recipe,
                   const __grid_constant__ StreamTiles tiles, int frames_at_once) {
  __shared__ Draws32 draws;
  draws.find_pieces(r, recipe.quads, tiles);
  each_draws<Recipe32<F>::kFloating>(r, tiles, frames_at_once, draws, [&](std::uint64_t from, int count) {
    draws.find_slots(r, recipe, tiles, count);
    __syncthreads();
    const int which = static_cast<int>(threadIdx.x / kWarp), first = which * r.shape.k;
    if (which >= count) return;
    const std::uint64_t at = from + static_cast<unsigned>(which);
    const Tile32 tile{at,
                      tiles.first + at,
                      threadIdx.x % kWarp,
                      draws.frames[which].frame,
                      draws.a + first,
                      draws.b + first,
                      draws.accumulators[which]};
    if (tiles.group != 0) {
      fill_sparse(r, recipe.b, tiles, at, draws.places(first), static_cast<int>(tile.lane), kWarp,
                  [&](std::uint32_t index) { return recipe.keys.block(tile.number, Purpose::b, index); });
    }
    make_tile32(r, recipe, tiles, tile, draws.pieces);
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
    return launch_resident(sweep_kernel, {kStreamThreads, 0, tiles.stream}, tiles.count, recipe, tiles);
  }
  const auto launch = [&](const auto& kernel, int at_once, const auto&... arguments) {
    const auto step = static_cast<std::uint64_t>(at_once), steps = (tiles.count + step - 1) / step;
    return launch_resident(kernel, {kStreamThreads, 0, tiles.stream}, steps, recipe, arguments..., tiles, at_once);
  };
  const int at_once = Draws32::tiles_at_once(recipe);
  if (Recipe32<Float32>::suits(recipe)) return launch(codes32_kernel<Float32>, at_once, Recipe32<Float32>(recipe));
  if (Recipe32<stream::IntegerFormat>::suits(recipe))
    return launch(codes32_kernel<stream::IntegerFormat>, at_once, Recipe32<stream::IntegerFormat>(recipe));
  return stream::with_code_formats(recipe, [&]<class F>(const stream::CodeFormats<F>& formats) {
    return launch(codes_kernel<F>, CodesDraws::tiles_at_once(recipe), formats);
  });
}

}  // namespace tcnum
