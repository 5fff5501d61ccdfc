// The CUDA emulator: a block evaluates one tile of a stream at a time, 64 columns after 64, and compares it with what
// the hardware gave. The meaning is emu/gpu/dot_product.hpp's and emu/gpu/patch.hpp's; here is only where operands lie.
#include "cuda/codes.cuh"
#include "cuda/launch.cuh"
#include "emu/gpu/fma_patch.hpp"
#include "emu/gpu/patch.hpp"
#include "emu/gpu/quad_patch.hpp"
#include "emu/gpu/terms.hpp"
#include "src/questions/stream/digest.hpp"
#include "stream_kernels.hpp"

namespace tcnum {
namespace {

constexpr int kSide = 64;  // rows of a tile, and columns at a time
constexpr int kThreads = 256;
/// Blocks of an SM, for which a thread has registers enough.
template <class Nodes>
constexpr int kSumsBlocks = Nodes::kSeveral ? 2 : 3;

using gpu::kPatchColumns, gpu::kPatchRows, gpu::PatchCodes, gpu::PatchPlace;
static_assert(kSide / kPatchRows * (kSide / kPatchColumns) == kThreads);

/// kCount codes side by side.
template <class Code, int kCount>
struct alignas(sizeof(Code) * kCount) CodeRow {
  Code code[kCount];
};
template <class Code, int kCount>
__device__ CodeRow<Code, kCount> load_row(const void* codes, std::uint64_t index) {
  return *reinterpret_cast<const CodeRow<Code, kCount>*>(static_cast<const Code*>(codes) + index);
}

/// What a thread has found, to be added to the result by its block.
class Findings {
 public:
  __device__ Findings(const StreamTiles& tiles, StreamResult* result) : tiles_(tiles), result_(result) {}

  /// Of a problem in the stream.
  __device__ std::uint64_t index(std::uint64_t tile, int row, int column) const {
    return (tiles_.first + tile) * tiles_.shape.problems() + static_cast<unsigned>(row * tiles_.shape.n + column);
  }
  /// To the digest: the hardware's result of a problem, or those of a patch that begins with it.
  __device__ void add(std::uint64_t index, std::uint64_t observed) { digest_ += stream::hash_of(index, observed); }
  __device__ void add(std::uint64_t index, const PatchCodes& observed) {
    stream::IndexHash row(index);
    TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
      TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) digest_ += row.with(j, observed.code[i][j]);
      row.advance(tiles_.shape.n);
    }
  }
  __device__ void disagree(std::uint64_t index) {
    const unsigned long long before = atomicAdd(&result_->mismatches, 1ull);
    if (before < StreamResult::kMostExamples) result_->examples[before] = index;
  }

  /// Of a patch that begins with that problem, as bits.
  __device__ void disagree(std::uint64_t index, std::uint32_t wrong) {
    for (; wrong != 0; wrong &= wrong - 1) {
      const int at = __ffs(static_cast<int>(wrong)) - 1;
      disagree(index + static_cast<unsigned>(at / kPatchColumns * tiles_.shape.n + at % kPatchColumns));
    }
  }

  /// By all threads of a block.
  __device__ void add_digest() {
    for (int lane = 16; lane > 0; lane /= 2) digest_ += __shfl_xor_sync(~0u, digest_, lane);
    if (threadIdx.x % 32 == 0) atomicAdd(&result_->digest, digest_);
  }

 private:
  const StreamTiles& tiles_;
  StreamResult* result_;
  unsigned long long digest_ = 0;
};

TCNUM_SHARED_MEMORY(shared_memory);

/// Calls with the type of codes of so many bytes, at most four.
template <class With>
__device__ void with_code_of(int bytes, const With& with) {
  if (bytes == 1)
    with.template operator()<std::uint8_t>();
  else if (bytes == 2)
    with.template operator()<std::uint16_t>();
  else
    with.template operator()<std::uint32_t>();
}
template <int kCount>
__device__ CodeRow<std::uint32_t, kCount> load_row(const void* codes, std::uint64_t index, int bytes) {
  CodeRow<std::uint32_t, kCount> all;
  with_code_of(bytes, [&]<class Code>() {
    const auto row = load_row<Code, kCount>(codes, index);
    TCNUM_UNROLL for (int i = 0; i < kCount; ++i) all.code[i] = row.code[i];
  });
  return all;
}

/// Fills shared memory: put(line, place, code) for each of 64 rows of A, or columns of B from first_column on; what is
/// beyond the last column is zero.
template <class Put>
__device__ void load_side(const GpuDatapath& d, const StreamTiles& tiles, std::uint64_t tile, bool is_a,
                          int first_column, const Put& put) {
  const int bytes = (is_a ? d.a : d.b).storage_bytes();
  for (int i = static_cast<int>(threadIdx.x); i < kSide * d.k; i += kThreads) {
    // Neighbouring threads read what lies side by side.
    const int line = is_a ? tiles.k.quotient(i) : i % kSide, k = is_a ? tiles.k.rest(i) : i / kSide;
    const bool beyond = !is_a && first_column + line >= tiles.shape.n;
    const std::uint64_t index =
        is_a ? tiles.a_index(tile, line, k) : tiles.b_index(tile, tiles.row_of_b(tile, k), first_column + line);
    put(line, d.place[k], beyond ? 0 : load_code(is_a ? tiles.a : tiles.b, index, bytes));
  }
}

/// What shared memory has of 64 lines, but for their numbers.
struct Lines {
  std::uint32_t negative[kSide], zero[kSide], special[kSide];
  __device__ void clear() {
    static_assert(kSide <= kThreads);
    if (threadIdx.x < kSide) {
      negative[threadIdx.x] = 0;
      zero[threadIdx.x] = 0;
      special[threadIdx.x] = 0;
    }
  }
  __device__ void add(int line, const gpu::Places& places) {
    atomicOr(&negative[line], places.negative);
    atomicOr(&zero[line], places.zero);
    if (places.special != 0) atomicOr(&special[line], places.special);
  }
};

/// The numbers of 64 rows of A and of 64 columns of B, in shared memory.
struct Sides {
  gpu::SideA a;
  gpu::SideB b;
  Lines (&lines)[2];
  static_assert(gpu::SideA::kLines == kSide);

  static std::size_t bytes(const GpuDatapath& d) {
    constexpr std::size_t kBoth = 2 * sizeof(double) + sizeof(gpu::SideA::Exponent) + sizeof(gpu::SideB::Exponent);
    return static_cast<std::size_t>(d.k) * kSide * kBoth;
  }
  __device__ Sides(const GpuDatapath& d, Lines (&of_both)[2]) : lines(of_both) {
    const int size = d.k * kSide;
    auto* const values = reinterpret_cast<double*>(shared_memory);
    auto* const exponents = reinterpret_cast<gpu::SideA::Exponent*>(values + 2 * size);
    a = {values, exponents, lines[0].negative, lines[0].zero, lines[0].special};
    b = {values + size, reinterpret_cast<gpu::SideB::Exponent*>(exponents + size), lines[1].negative, lines[1].zero,
         lines[1].special};
  }

  __device__ void load_a(const GpuDatapath& d, const StreamTiles& tiles, std::uint64_t tile) const {
    each_adjacent(d, [&]<int kCount>(int line, int k) {
      const auto codes = load_row<kCount>(tiles.a, tiles.a_index(tile, line, k), d.a.storage_bytes());
      lines[0].add(line, a.put(d.a_fields, line, d.place[k], codes.code));
    });
  }
  /// Columns beyond the last are zero.
  __device__ void load_b(const GpuDatapath& d, const StreamTiles& tiles, std::uint64_t tile, int first_column) const {
    const unsigned pitch = tiles.tile_n.divisor;
    const int bytes = d.b.storage_bytes();
    each_adjacent(d, [&]<int kCount>(int line, int k) {
      const int column = first_column + line;
      const std::uint64_t from = tiles.b_index(tile, 0, column);
      std::uint32_t codes[kCount] = {};
      if (column < tiles.shape.n) {
        unsigned at[kCount];
        TCNUM_UNROLL for (int e = 0; e < kCount; ++e) at[e] =
            static_cast<unsigned>(tiles.row_of_b(tile, k + e)) * pitch;
        with_code_of(bytes, [&]<class Code>() {
          TCNUM_UNROLL for (int e = 0; e < kCount; ++e) codes[e] = static_cast<const Code*>(tiles.b)[from + at[e]];
        });
      }
      lines[1].add(line, b.put(d.b_fields, line, d.place[k], codes));
    });
  }

 private:
  /// Calls with this thread's line and each k from which on it takes kCount codes apart together.
  template <class With>
  __device__ static void each_adjacent(const GpuDatapath& d, const With& with) {
    const int thread = static_cast<int>(threadIdx.x);
    gpu::with_adjacent(d, [&]<int kCount>() {
#pragma unroll 1
      for (int k = thread / kSide * kCount; k < d.k; k += kThreads / kSide * kCount) {
        with.template operator()<kCount>(thread % kSide, k);
      }
    });
  }
};

/// The codes of a patch, of which the rows lie `pitch` apart.
template <class Code>
__device__ PatchCodes load_patch(const void* codes, std::uint64_t first, unsigned pitch) {
  PatchCodes all;
  TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
    const auto row = load_row<Code, kPatchColumns>(codes, first + static_cast<unsigned>(i) * pitch);
    TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) all.code[i][j] = row.code[j];
  }
  return all;
}

/// The elements that patches left over, for all threads to share.
struct Leftovers {
  int count;
  std::uint16_t element[kSide * kSide];
  __device__ void add(int row, int column, std::uint32_t elements) {
    int at = atomicAdd(&count, __popc(elements));
    for (; elements != 0; elements &= elements - 1) {
      const int which = __ffs(static_cast<int>(elements)) - 1;
      element[at++] =
          static_cast<std::uint16_t>((row + which / kPatchColumns) * kSide + column + which % kPatchColumns);
    }
  }
};

/// A tile's codes in memory, to be brought near: memory is far.
struct TileBytes {
  static constexpr int kMatrices = 4;
  const char* matrix[kMatrices];
  unsigned bytes[kMatrices];           ///< of a tile
  unsigned first[kMatrices], all = 0;  ///< bytes of the matrices before, and of all

  TileBytes(const StreamTiles& tiles, const GpuDatapath& d) {
    const void* const codes[] = {tiles.a, tiles.b, tiles.c, tiles.d};
    const unsigned elements[] = {tiles.a_elements(), tiles.b_elements(), tiles.c_elements(), tiles.c_elements()};
    const Format formats[] = {d.a, d.b, d.c, d.result};
    for (int i = 0; i < kMatrices; ++i) {
      matrix[i] = static_cast<const char*>(codes[i]);
      bytes[i] = elements[i] * static_cast<unsigned>(formats[i].storage_bytes());
      first[i] = all;
      all += bytes[i];
    }
  }
  /// By all threads of a block.
  __device__ void prefetch(std::uint64_t tile) const {
    constexpr unsigned kLine = 128;  // bytes
#pragma unroll 1
    for (unsigned at = threadIdx.x * kLine; at < all; at += kThreads * kLine) {
      int which = 0;
      TCNUM_UNROLL for (int i = 1; i < kMatrices; ++i) which += at >= first[i] ? 1 : 0;
      [[maybe_unused]] const char* const line = matrix[which] + tile * bytes[which] + (at - first[which]);
#ifdef __CUDA_ARCH__
      asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
#endif
    }
  }
};

/// CodeC and CodeD are as wide as the formats; Nodes is as of gpu::patch().
template <class Nodes, class CodeC, class CodeD>
__global__ void __launch_bounds__(kThreads, kSumsBlocks<Nodes>)
    sums_kernel(const __grid_constant__ GpuDatapath d, const __grid_constant__ StreamTiles tiles,
                const __grid_constant__ TileBytes bytes, StreamResult* result) {
  __shared__ Lines lines[2];
  __shared__ Leftovers leftovers;
  const Sides sides(d, lines);
  Findings findings(tiles, result);
  const auto [row, column] = PatchPlace::of_thread(threadIdx.x);
  for (std::uint64_t tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
    for (int first_column = 0; first_column < tiles.shape.n; first_column += kSide) {
      if (first_column == 0) lines[0].clear();
      lines[1].clear();
      if (threadIdx.x == 0) leftovers.count = 0;
      __syncthreads();
      if (first_column == 0) sides.load_a(d, tiles, tile);
      sides.load_b(d, tiles, tile, first_column);
      __syncthreads();
      if (first_column == 0 && tile + gridDim.x < tiles.count) bytes.prefetch(tile + gridDim.x);

      std::uint32_t left = 0;
      if (first_column + column < tiles.shape.n) {  // n is a multiple of 8
        // The patch lies in one instruction tile.
        const std::uint64_t from = tiles.c_index(tile, row, first_column + column);
        const std::uint64_t index = findings.index(tile, row, first_column + column);
        const unsigned pitch = tiles.tile_n.divisor;
        PatchCodes codes;
        const gpu::PatchRest rest = gpu::patch<CodeC, Nodes>(
            d, sides.a, row, sides.b, column, [&] { return load_patch<CodeC>(tiles.c, from, pitch); }, codes);
        const PatchCodes observed = load_patch<CodeD>(tiles.d, from, pitch);
        findings.add(index, observed);
        std::uint32_t wrong = codes.differ(observed);
        left = rest.overflowed;
        wrong &= ~(rest.special | left);
        for (std::uint32_t special = rest.special & ~left; special != 0; special &= special - 1) {
          const int at = __ffs(static_cast<int>(special)) - 1, i = at / kPatchColumns, j = at % kPatchColumns;
          const std::uint64_t place = from + static_cast<unsigned>(i) * pitch + static_cast<unsigned>(j);
          const std::uint32_t c = static_cast<const CodeC*>(tiles.c)[place];
          const std::uint32_t code = gpu::special_code<CodeC>(d, sides.a, row + i, sides.b, column + j, c);
          if (code != static_cast<const CodeD*>(tiles.d)[place]) wrong |= PatchCodes::bit(i, j);
        }
        findings.disagree(index, wrong);
        if (left != 0) leftovers.add(row, column, left);
      }
      // All are done with what is in shared memory then, but for the leftovers.
      if (__syncthreads_or(left != 0) == 0) continue;
      for (int i = static_cast<int>(threadIdx.x); i < leftovers.count; i += kThreads) {
        const int at = leftovers.element[i], in_row = at / kSide, in_column = at % kSide;
        const std::uint64_t place = tiles.c_index(tile, in_row, first_column + in_column);
        const std::uint32_t c = static_cast<const CodeC*>(tiles.c)[place];
        const std::uint64_t observed = static_cast<const CodeD*>(tiles.d)[place];
        const std::uint64_t index = findings.index(tile, in_row, first_column + in_column);
        if (gpu::terms_dot(d, sides.a, in_row, sides.b, in_column, c) != observed) findings.disagree(index);
      }
      __syncthreads();
    }
  }
  findings.add_digest();
}

/// Words of four integers of at most 8 bits, as gpu::quad_patch() wants them, in shared memory.
struct Quads {
  static constexpr int kBytes = 4;  // of a word, each an integer's code in memory
  std::uint32_t *a, *b;
  int words;

  __device__ explicit Quads(const GpuChain& chain)
      : a(reinterpret_cast<std::uint32_t*>(shared_memory)), b(a + chain.words * kSide), words(chain.words) {}
  static std::size_t bytes(const GpuChain& chain) {
    return 2 * static_cast<std::size_t>(chain.words) * kSide * sizeof(std::uint32_t);
  }
  __device__ void load_a(const GpuDatapath& d, const GpuChain& chain, const StreamTiles& tiles,
                         std::uint64_t tile) const {
    const auto* const codes = static_cast<const std::uint8_t*>(tiles.a) + tiles.a_index(tile, 0, 0);
    for (int i = static_cast<int>(threadIdx.x); i < words * kSide; i += kThreads) {
      const int line = i % kSide, k = chain.product[i / kSide * kBytes];
      a[i] = extended(d.a, *reinterpret_cast<const std::uint32_t*>(codes + (line * d.k + k)));
    }
  }
  /// Columns beyond the last are zero. A thread turns four rows of four columns.
  __device__ void load_b(const GpuDatapath& d, const GpuChain& chain, const StreamTiles& tiles, std::uint64_t tile,
                         int first_column) const {
    constexpr int kAcross = kSide / kBytes;
    const auto* const codes = static_cast<const std::uint8_t*>(tiles.b) + tiles.b_index(tile, 0, 0);
    for (int i = static_cast<int>(threadIdx.x); i < words * kAcross; i += kThreads) {
      const int line = i % kAcross * kBytes, k = chain.product[i / kAcross * kBytes], column = first_column + line;
      std::uint32_t turned[kBytes] = {};
      if (column < tiles.shape.n) {
        const unsigned further = tiles.column_of_b(column);
        TCNUM_UNROLL for (int e = 0; e < kBytes; ++e) {
          const auto at = static_cast<unsigned>(tiles.row_of_b(tile, k + e)) * tiles.tile_n.divisor + further;
          const std::uint32_t row = *reinterpret_cast<const std::uint32_t*>(codes + at);
          TCNUM_UNROLL for (int c = 0; c < kBytes; ++c) turned[c] |= (row >> (8 * c) & 0xff) << (8 * e);
        }
      }
      TCNUM_UNROLL for (int c = 0; c < kBytes; ++c) b[i / kAcross * kSide + line + c] = extended(d.b, turned[c]);
    }
  }

 private:
  /// Four codes, as integers of 8 bits.
  __device__ static std::uint32_t extended(const Format& f, std::uint32_t codes) {
    if (!f.has_sign || f.storage_bits == 8) return codes;
    const std::uint32_t sign = 0x01010101u << (f.storage_bits - 1), top = 0x80808080u;
    return (((codes ^ sign) | top) - sign) ^ top;  // x ^ 2^n − 2^n, byte by byte: top bits keep them apart
  }
};

__global__ void __launch_bounds__(kThreads, 3)
    quads_kernel(const __grid_constant__ GpuDatapath d, const __grid_constant__ StreamTiles tiles,
                 const __grid_constant__ TileBytes bytes, const __grid_constant__ GpuChain chain,
                 StreamResult* result) {
  const Quads quads(chain);
  Findings findings(tiles, result);
  const auto [row, column] = PatchPlace::of_thread(threadIdx.x);
  for (std::uint64_t tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
    for (int first_column = 0; first_column < tiles.shape.n; first_column += kSide) {
      __syncthreads();  // all are done with what was there
      if (first_column == 0) quads.load_a(d, chain, tiles, tile);
      quads.load_b(d, chain, tiles, tile, first_column);
      __syncthreads();
      if (first_column == 0 && tile + gridDim.x < tiles.count) bytes.prefetch(tile + gridDim.x);
      if (first_column + column >= tiles.shape.n) continue;  // n is a multiple of 8
      // The patch lies in one instruction tile.
      const std::uint64_t from = tiles.c_index(tile, row, first_column + column);
      const std::uint64_t index = findings.index(tile, row, first_column + column);
      const unsigned pitch = tiles.tile_n.divisor;
      PatchCodes codes = load_patch<std::uint32_t>(tiles.c, from, pitch);
      std::int32_t sums[kPatchRows][kPatchColumns];
      gpu::each_of_patch([&](int i, int j) { sums[i][j] = static_cast<std::int32_t>(codes.code[i][j]); });
      const std::uint32_t *a = quads.a + row, *b = quads.b + column;
      gpu::quad_patch(d, chain, a, b, sums);
      gpu::each_of_patch([&](int i, int j) { codes.code[i][j] = static_cast<std::uint32_t>(sums[i][j]); });
      const PatchCodes observed = load_patch<std::uint32_t>(tiles.d, from, pitch);
      findings.add(index, observed);
      findings.disagree(index, codes.differ(observed));
    }
  }
  findings.add_digest();
}

/// Chains of fused multiply-adds, sixteen to a thread.
__global__ void __launch_bounds__(kThreads, 2)
    chains_kernel(const __grid_constant__ GpuDatapath d, const __grid_constant__ StreamTiles tiles,
                  const __grid_constant__ TileBytes bytes, StreamResult* result) {
  auto* const a = reinterpret_cast<double*>(shared_memory);
  auto* const b = a + d.k * kSide;
  Findings findings(tiles, result);
  const PatchPlace at = PatchPlace::of_thread(threadIdx.x);
  for (std::uint64_t tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
    for (int first_column = 0; first_column < tiles.shape.n; first_column += kSide) {
      __syncthreads();  // all are done with what was there
      load_side(d, tiles, tile, true, 0, [&](int line, int place, std::uint64_t code) {
        a[gpu::SideA::value_at(place, line)] = gpu::double_of(code);
      });
      load_side(d, tiles, tile, false, first_column, [&](int line, int place, std::uint64_t code) {
        b[gpu::SideB::value_at(place, line)] = gpu::double_of(code);
      });
      __syncthreads();
      if (first_column == 0 && tile + gridDim.x < tiles.count) bytes.prefetch(tile + gridDim.x);
      if (first_column + at.column >= tiles.shape.n) continue;  // n is a multiple of 8
      // The patch lies in one instruction tile.
      const std::uint64_t from = tiles.c_index(tile, at.row, first_column + at.column);
      const std::uint64_t index = findings.index(tile, at.row, first_column + at.column);
      const auto code = [&](const void* codes, int i, int j) {
        const auto further = static_cast<unsigned>(i) * tiles.tile_n.divisor + static_cast<unsigned>(j);
        return static_cast<const std::uint64_t*>(codes)[from + further];
      };
      gpu::PatchSums sums;
      gpu::each_of_patch([&](int i, int j) { sums[i][j] = gpu::double_of(code(tiles.c, i, j)); });
      gpu::fma_patch(d, a, b, d.k, at, sums);
      gpu::each_of_patch([&](int i, int j) {
        const std::uint64_t observed = code(tiles.d, i, j);
        const std::uint64_t problem = index + static_cast<unsigned>(i * tiles.shape.n + j);
        findings.add(problem, observed);
        if (gpu::code_of(sums[i][j]) != observed) findings.disagree(problem);
      });
    }
  }
  findings.add_digest();
}

/// The machine's own operations in single precision, one problem at a time.
__global__ void __launch_bounds__(kThreads)
    singles_kernel(const __grid_constant__ GpuDatapath d, const __grid_constant__ StreamTiles tiles,
                   StreamResult* result) {
  auto* const a = reinterpret_cast<float*>(shared_memory);
  auto* const b = a + d.k * kSide;
  Findings findings(tiles, result);
  for (std::uint64_t tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
    for (int first_column = 0; first_column < tiles.shape.n; first_column += kSide) {
      __syncthreads();  // all are done with what was there
      load_side(d, tiles, tile, true, 0, [&](int line, int place, std::uint64_t code) {
        a[place * kSide + line] = gpu::single_of(d.a, d.a_fields, static_cast<std::uint32_t>(code));
      });
      load_side(d, tiles, tile, false, first_column, [&](int line, int place, std::uint64_t code) {
        b[place * kSide + line] = gpu::single_of(d.b, d.b_fields, static_cast<std::uint32_t>(code));
      });
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < kSide * kSide; i += kThreads) {
        const int row = i / kSide, column = i % kSide;
        if (first_column + column >= tiles.shape.n) continue;
        const std::uint64_t place = tiles.c_index(tile, row, first_column + column);
        const std::uint64_t c = load_code(tiles.c, place, d.c.storage_bytes());
        const std::uint64_t observed = load_code(tiles.d, place, d.result.storage_bytes());
        const std::uint64_t index = findings.index(tile, row, first_column + column);
        findings.add(index, observed);
        if (gpu::single_precision_dot(d, a + row, kSide, b + column, kSide, c) != observed) findings.disagree(index);
      }
    }
  }
  findings.add_digest();
}

}  // namespace

cudaError_t launch_comparison(const GpuDatapath& d, const StreamTiles& tiles, StreamResult* result) {
  const auto launch = [&](auto* kernel, std::size_t shared_bytes, const auto&... more) {
    return launch_resident(kernel, {kThreads, shared_bytes, tiles.stream}, tiles.count, d, tiles, more..., result);
  };
  const std::size_t numbers = 2 * static_cast<std::size_t>(d.k) * kSide;  // of both sides
  switch (d.evaluator) {
    case GpuEvaluator::integers: {
      const GpuChain chain(d, static_cast<std::uint64_t>(d.k));
      return launch(quads_kernel, Quads::bytes(chain), TileBytes(tiles, d), chain);
    }
    case GpuEvaluator::single_precision:
      return launch(singles_kernel, numbers * sizeof(float));
    case GpuEvaluator::fma_chain:
      return launch(chains_kernel, numbers * sizeof(double), TileBytes(tiles, d));
    case GpuEvaluator::scaled_patches:  // these are of matrices alone
    case GpuEvaluator::scaled_sums:
    case GpuEvaluator::accumulations:
    case GpuEvaluator::brackets:
    case GpuEvaluator::patches:
      break;
  }
  constexpr int kHalf = 2;  // bytes
  const auto kernel = gpu::with_nodes_of(d, [&]<class Nodes>() {
    const auto with_result = [&]<class CodeD>() {
      return d.c.storage_bytes() == kHalf ? sums_kernel<Nodes, std::uint16_t, CodeD>
                                          : sums_kernel<Nodes, std::uint32_t, CodeD>;
    };
    if constexpr (Nodes::kSeveral) {
      return d.result.storage_bytes() == kHalf ? with_result.template operator()<std::uint16_t>()
                                               : with_result.template operator()<std::uint32_t>();
    } else {
      return with_result.template operator()<typename Nodes::Code>();
    }
  });
  return launch(kernel, Sides::bytes(d), TileBytes(tiles, d));
}

}  // namespace tcnum
