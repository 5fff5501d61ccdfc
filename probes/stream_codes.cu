// A block makes some tiles of a stream at a time: their frames first, a thread each, since a frame is one long chain of
// random numbers; then their slots; then one tile after the other, a thread two elements, which share their random
// numbers.
#include <algorithm>
#include <type_traits>

#include "stream_kernels.hpp"
#include "stream_memory.cuh"

namespace tcnum {
namespace {

using stream::Role;

constexpr int kStreamThreads = 256;
constexpr int kMostFrames = 8, kMostSlotsAtOnce = 512;
constexpr int kSideBySide = 8;  // columns of every instruction tile that lie side by side, at least
constexpr std::uint64_t kMostBlocks = 132 * 16;

template <class Code>
__device__ void store8(void* codes, std::uint64_t index, const std::uint64_t (&code)[kSideBySide]) {
  struct alignas(sizeof(Code) * kSideBySide > 16 ? 16 : sizeof(Code) * kSideBySide) Row {
    Code code[kSideBySide];
  } row;
  TCNUM_UNROLL for (int e = 0; e < kSideBySide; ++e) row.code[e] = static_cast<Code>(code[e]);
  *reinterpret_cast<Row*>(static_cast<Code*>(codes) + index) = row;
}
/// Eight codes side by side, from a multiple of eight on.
__device__ void store(void* codes, std::uint64_t index, int bytes, const std::uint64_t (&code)[kSideBySide]) {
  switch (bytes) {
    case 2:
      return store8<std::uint16_t>(codes, index, code);
    case 4:
      return store8<std::uint32_t>(codes, index, code);
    default:
      return store8<std::uint64_t>(codes, index, code);
  }
}

__device__ void store(void* codes, std::uint64_t index, int bytes, std::uint64_t code) {
  switch (bytes) {
    case 1:
      static_cast<std::uint8_t*>(codes)[index] = static_cast<std::uint8_t>(code);
      break;
    case 2:
      static_cast<std::uint16_t*>(codes)[index] = static_cast<std::uint16_t>(code);
      break;
    case 4:
      static_cast<std::uint32_t*>(codes)[index] = static_cast<std::uint32_t>(code);
      break;
    default:
      static_cast<std::uint64_t*>(codes)[index] = code;
      break;
  }
}

/// A pattern that the instruction may have, for one group of a tile.
__device__ SparseGroup::Pattern draw_pattern(const stream::Recipe& r, const StreamTiles& tiles, std::uint64_t tile,
                                             int group) {
  constexpr std::uint32_t kFirstBlock = 1u << 20;  // beyond those of slots
  const SparseGroup rule{tiles.group};
  std::uint32_t legal = 0;
  for (int number = 0; number < SparseGroup::kPatterns; ++number) {
    legal += rule.legal(SparseGroup::pattern(number), tiles.ascending) ? 1 : 0;
  }
  std::uint32_t skip =
      stream::random_block(r, tile, Role::frame, kFirstBlock + static_cast<unsigned>(group)).word[0] % legal;
  int number = 0;
  while (!rule.legal(SparseGroup::pattern(number), tiles.ascending) || skip-- != 0) ++number;
  return SparseGroup::pattern(number);
}

/// What must not matter: infinities, NaNs, the largest numbers, anything.
__device__ std::uint64_t garbage(const Format& f, const stream::Words& w) {
  return f.floating && w.chance() < stream::percent(80) ? stream::special(f, w) : w.mixed() >> 32 & f.code_mask();
}

/// Where the elements of a sparse A stand, and what B has where none does.
__device__ void fill_sparse(const stream::Recipe& r, const StreamTiles& tiles, std::uint64_t t, int thread) {
  const SparseGroup rule{tiles.group};
  const int stored = rule.stored(), groups = tiles.depth / tiles.group;
  const std::uint64_t tile = tiles.first + t;
  for (int i = thread; i < r.shape.m * groups; i += kStreamThreads) {
    const int row = i / groups, group = i % groups;
    const SparseGroup::Pattern pattern = draw_pattern(r, tiles, tile, group);
    for (int s = 0; s < stored; ++s) {
      tiles.e[tiles.a_index(t, row, group * stored + s)] = static_cast<std::uint8_t>(rule.position(pattern, s));
    }
  }
  constexpr std::uint32_t kFirstBlock = 1u << 21;
  for (int i = thread; i < r.shape.n * groups; i += kStreamThreads) {
    const int column = i / groups, group = i % groups;
    const SparseGroup::Pattern pattern = draw_pattern(r, tiles, tile, group);
    unsigned selected = 0;
    for (int s = 0; s < stored; ++s) selected |= 1u << rule.position(pattern, s);
    for (int position = 0; position < tiles.group; ++position) {
      if ((selected >> position & 1) != 0) continue;
      const int row = group * tiles.group + position;
      const auto element = static_cast<std::uint32_t>(column * tiles.depth + row);
      const stream::Words w =
          stream::words_of(stream::random_block(r, tile, Role::b, kFirstBlock + element / 2), element);
      store(tiles.b, tiles.b_index(t, row, column), r.b.storage_bytes(), garbage(r.b, w));
    }
  }
}

/// Where accumulator `i` lies in shared memory: threads that read eight of them each, side by side, meet in no bank.
__device__ constexpr int accumulator_place(int i) { return i + i / kSideBySide; }
constexpr int kAccumulatorPlaces = stream::kAccumulators + stream::kAccumulators / kSideBySide;

/// A code in shared memory.
template <bool kNarrow>
using StreamCode = std::conditional_t<kNarrow, std::uint32_t, std::uint64_t>;

/// Tile `t` of a frame and its slots. `accumulators` is for this tile alone; all threads have left the one before.
/// Loops are not unrolled: what they call is long, and code that does not fit the instruction caches costs more.
template <bool kNarrow>
__device__ void make_tile(const stream::Recipe& r, const StreamTiles& tiles, std::uint64_t t,
                          const stream::FrameDraw& frame, const stream::Slot* slots,
                          StreamCode<kNarrow>* accumulators) {
  const int thread = static_cast<int>(threadIdx.x);
  const auto [m, n, k] = r.shape;
  const int a_bytes = r.a.storage_bytes(), b_bytes = r.b.storage_bytes(), c_bytes = r.c.storage_bytes();
  const std::uint64_t tile = tiles.first + t;
  const int cancelled = frame.frame.cancelled_slot;
  if (tiles.group != 0) {
    fill_sparse(r, tiles, t, thread);
    __syncthreads();
  }
#pragma unroll 1
  for (int i = 2 * thread; i < (m + n) * k; i += 2 * kStreamThreads) {
    const Role role = i < m * k ? Role::a : Role::b;
    const int at = role == Role::a ? i : i - m * k;
    const int line = tiles.k.quotient(at);  // k is even: two neighbours are of one line
    stream::Block block;
    std::uint32_t drawn = ~0u;  // which block
#pragma unroll 1
    for (int kk = tiles.k.rest(at), end = kk + 2; kk < end; ++kk) {
      const std::uint32_t element = stream::element_of(r, slots, line, kk);
      if (element / 2 != drawn) {
        drawn = element / 2;
        block = stream::random_block(r, tile, role, drawn);
      }
      const std::uint64_t code =
          stream::operand_code<kNarrow>(r, frame, slots, role, kk, stream::words_of(block, element));
      if (role == Role::a)
        store(tiles.a, tiles.a_index(t, line, kk), a_bytes, code);
      else
        store(tiles.b, tiles.b_index(t, tiles.row_of_b(t, kk), line), b_bytes, code);
    }
  }
#pragma unroll 1
  for (int i = 2 * thread; i < stream::kAccumulators && cancelled < 0; i += 2 * kStreamThreads) {
    const stream::Block block = stream::random_block(r, tile, Role::c, static_cast<std::uint32_t>(i) / 2);
#pragma unroll 1
    for (int e = 0; e < 2; ++e) {
      accumulators[accumulator_place(i + e)] = static_cast<StreamCode<kNarrow>>(
          stream::accumulator_code<kNarrow>(r, frame, stream::words_of(block, static_cast<std::uint32_t>(e))));
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
        codes[e] = stream::opposite_product<kNarrow>(
            r, a, load_code(tiles.b, tiles.b_index(t, row_of_b, column + e), b_bytes));
      }
    } else {
      TCNUM_UNROLL for (int e = 0; e < kSideBySide; ++e) codes[e] =
          accumulators[accumulator_place(stream::accumulator_at(row, column + e))];
    }
    store(tiles.c, tiles.c_index(t, row, column), c_bytes, codes);
  }
}

/// kNarrow: all formats are floating-point ones of at most 32 bits, which takes a fraction of the code.
template <bool kNarrow>
__global__ void __launch_bounds__(kStreamThreads, 3)
    codes_kernel(const __grid_constant__ stream::Recipe r, const __grid_constant__ StreamTiles tiles,
                 int frames_at_once) {
  __shared__ stream::FrameDraw frames[kMostFrames];
  __shared__ stream::Slot slots[kMostSlotsAtOnce];
  __shared__ StreamCode<kNarrow> accumulators[kAccumulatorPlaces];
  const int thread = static_cast<int>(threadIdx.x), k = r.shape.k;
  const auto at_once = static_cast<std::uint64_t>(frames_at_once);
  for (std::uint64_t from = blockIdx.x * at_once; from < tiles.count; from += gridDim.x * at_once) {
    const int count = static_cast<int>(tiles.count - from < at_once ? tiles.count - from : at_once);
    __syncthreads();
    constexpr int kWarp = 32;
    if (thread % kWarp == 0 && thread / kWarp < count) {
      frames[thread / kWarp] =
          stream::make_frame<kNarrow>(r, tiles.first + from + static_cast<unsigned>(thread / kWarp));
    }
    __syncthreads();
    for (int i = thread; i < count * k; i += kStreamThreads) {
      const int which = tiles.k.quotient(i);
      slots[i] = stream::make_slot<kNarrow>(r, tiles.first + from + static_cast<unsigned>(which), frames[which],
                                            tiles.k.rest(i));
    }
    for (int which = 0; which < count; ++which) {
      __syncthreads();
      make_tile<kNarrow>(r, tiles, from + static_cast<unsigned>(which), frames[which], slots + which * k, accumulators);
    }
  }
}

__global__ void __launch_bounds__(kStreamThreads)
    sweep_kernel(const __grid_constant__ stream::Recipe r, const __grid_constant__ StreamTiles tiles) {
  const int thread = static_cast<int>(threadIdx.x);
  const auto [m, n, k] = r.shape;
  for (std::uint64_t t = blockIdx.x; t < tiles.count; t += gridDim.x) {
    const std::uint64_t tile = tiles.first + t;
    for (int i = thread; i < m * k; i += kStreamThreads) {
      const int row = tiles.k.quotient(i), kk = tiles.k.rest(i);
      store(tiles.a, tiles.a_index(t, row, kk), r.a.storage_bytes(), stream::sweep_operand(r, tile, Role::a, row, kk));
    }
    for (int i = thread; i < n * k; i += kStreamThreads) {
      const int column = tiles.k.quotient(i), kk = tiles.k.rest(i);
      store(tiles.b, tiles.b_index(t, kk, column), r.b.storage_bytes(),
            stream::sweep_operand(r, tile, Role::b, column, kk));
    }
    const std::uint64_t c = stream::sweep_accumulator(r, tile);
    for (int i = thread; i < m * n; i += kStreamThreads) {
      store(tiles.c, tiles.c_index(t, tiles.n.quotient(i), tiles.n.rest(i)), r.c.storage_bytes(), c);
    }
  }
}

}  // namespace

cudaError_t launch_stream_codes(const stream::Recipe& recipe, const StreamTiles& tiles) {
  const auto blocks = [&](std::uint64_t at_once) {
    return static_cast<unsigned>(std::min(kMostBlocks, (tiles.count + at_once - 1) / at_once));
  };
  if (is_sweep(recipe.distribution)) {
    sweep_kernel<<<blocks(1), kStreamThreads>>>(recipe, tiles);
  } else {
    const int frames = std::min(kMostFrames, kMostSlotsAtOnce / recipe.shape.k);
    bool narrow = true;
    for (const Format& f : {recipe.a, recipe.b, recipe.c, recipe.d}) {
      narrow = narrow && f.floating && f.storage_bits <= 32;
    }
    const auto kernel = narrow ? codes_kernel<true> : codes_kernel<false>;
    kernel<<<blocks(static_cast<unsigned>(frames)), kStreamThreads>>>(recipe, tiles, frames);
  }
  return cudaGetLastError();
}

}  // namespace tcnum
