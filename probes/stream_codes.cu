// A block makes one tile of a stream at a time; a thread two elements, which share their random numbers.
#include <algorithm>

#include "stream_kernels.hpp"

namespace tcnum {
namespace {

using stream::Role;

constexpr int kStreamThreads = 256;
constexpr int kMostSlots = 256;
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

__global__ void __launch_bounds__(kStreamThreads, 3)
    codes_kernel(const __grid_constant__ stream::Recipe r, const __grid_constant__ StreamTiles tiles) {
  __shared__ stream::FrameDraw frame;
  __shared__ stream::Slot slots[kMostSlots];
  __shared__ std::uint64_t accumulators[stream::kAccumulators];
  const int thread = static_cast<int>(threadIdx.x);
  const auto [m, n, k] = r.shape;
  const int a_bytes = r.a.storage_bytes(), b_bytes = r.b.storage_bytes(), c_bytes = r.c.storage_bytes();
  for (std::uint64_t t = blockIdx.x; t < tiles.count; t += gridDim.x) {
    const std::uint64_t tile = tiles.first + t;
    __syncthreads();
    if (thread == 0) frame = stream::make_frame(r, tile);
    __syncthreads();
    for (int kk = thread; kk < k; kk += kStreamThreads) slots[kk] = stream::make_slot(r, tile, frame, kk);
    __syncthreads();

    const auto operands = [&](Role role, int lines, const auto& put) {
      for (int i = 2 * thread; i < lines * k; i += 2 * kStreamThreads) {
        const int line = tiles.k.quotient(i), kk = tiles.k.rest(i);  // k is even: both are of one line
        const std::uint32_t element = stream::element_of(r, slots, line, kk),
                            next = stream::element_of(r, slots, line, kk + 1);
        const stream::Block block = stream::random_block(r, tile, role, element / 2);
        put(line, kk, stream::operand_code(r, frame, slots, role, kk, stream::words_of(block, element)));
        const stream::Block other = next / 2 == element / 2 ? block : stream::random_block(r, tile, role, next / 2);
        put(line, kk + 1, stream::operand_code(r, frame, slots, role, kk + 1, stream::words_of(other, next)));
      }
    };
    operands(Role::a, m,
             [&](int row, int kk, std::uint64_t code) { store(tiles.a, tiles.a_index(t, row, kk), a_bytes, code); });
    if (tiles.group != 0) {
      fill_sparse(r, tiles, t, thread);
      __syncthreads();
    }
    operands(Role::b, n, [&](int column, int kk, std::uint64_t code) {
      store(tiles.b, tiles.b_index(t, tiles.row_of_b(t, kk), column), b_bytes, code);
    });
    for (int i = thread; i < stream::kAccumulators && frame.frame.cancelled_slot < 0; i += kStreamThreads) {
      accumulators[i] = stream::accumulator_code(r, tile, frame, i);
    }
    __syncthreads();
    for (int i = kSideBySide * thread; i < m * n; i += kSideBySide * kStreamThreads) {
      const int row = tiles.n.quotient(i), column = tiles.n.rest(i);
      const std::uint64_t at = tiles.c_index(t, row, column);
      std::uint64_t codes[kSideBySide];
      if (frame.frame.cancelled_slot >= 0) {
        for (int e = 0; e < kSideBySide; ++e)
          codes[e] = stream::cancelling_code(r, tile, frame, slots, row, column + e);
      } else {
        TCNUM_UNROLL for (int e = 0; e < kSideBySide; ++e) codes[e] =
            accumulators[stream::accumulator_at(row, column + e)];
      }
      store(tiles.c, at, c_bytes, codes);
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
  const auto blocks = static_cast<unsigned>(std::min(kMostBlocks, tiles.count));
  if (is_sweep(recipe.distribution))
    sweep_kernel<<<blocks, kStreamThreads>>>(recipe, tiles);
  else
    codes_kernel<<<blocks, kStreamThreads>>>(recipe, tiles);
  return cudaGetLastError();
}

}  // namespace tcnum
