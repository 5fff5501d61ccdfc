// The CUDA emulator: a block evaluates one tile of a stream at a time, 64 columns after 64, and compares it with what
// the hardware gave. The meaning is portable_dot.hpp's; here is only where operands lie.
#include <algorithm>

#include "../probes/stream_kernels.hpp"
#include "portable_dot.hpp"

namespace tcnum {
namespace {

constexpr int kSide = 64;  // rows of a tile, and columns at a time
constexpr int kPatchRows = 4, kPatchColumns = 4;
constexpr int kThreads = kSide / kPatchRows * (kSide / kPatchColumns);
constexpr int kProblems = kSide * kSide / kThreads;  // of a thread
constexpr std::uint64_t kMostBlocks = 132 * 8;

__device__ std::uint64_t load_code(const void* codes, std::uint64_t index, int bytes) {
  switch (bytes) {
    case 1:
      return static_cast<const std::uint8_t*>(codes)[index];
    case 2:
      return static_cast<const std::uint16_t*>(codes)[index];
    case 4:
      return static_cast<const std::uint32_t*>(codes)[index];
    default:
      return static_cast<const std::uint64_t*>(codes)[index];
  }
}

/// kPatchColumns codes side by side.
template <class Code>
struct alignas(sizeof(Code) * kPatchColumns) CodeRow {
  Code code[kPatchColumns];
};
template <class Code>
__device__ CodeRow<Code> load_row(const void* codes, std::uint64_t index) {
  return *reinterpret_cast<const CodeRow<Code>*>(static_cast<const Code*>(codes) + index);
}

/// What a thread has found, to be added to the result by its block.
class Findings {
 public:
  __device__ Findings(const PortableDatapath& d, const StreamTiles& tiles, StreamResult* result)
      : tiles_(tiles), result_(result), bytes_(d.result.storage_bytes()) {}

  __device__ void compare(std::uint64_t tile, int row, int column, std::uint64_t expected) {
    compare(index(tile, row, column), expected, load_code(tiles_.d, tiles_.c_index(tile, row, column), bytes_));
  }
  /// Of a problem in the stream.
  __device__ std::uint64_t index(std::uint64_t tile, int row, int column) const {
    return (tiles_.first + tile) * tiles_.shape.problems() + static_cast<unsigned>(row * tiles_.shape.n + column);
  }
  __device__ void compare(std::uint64_t index, std::uint64_t expected, std::uint64_t observed) {
    digest_ += stream::hash_of(index, observed);
    if (observed == expected) return;
    const unsigned long long before = atomicAdd(&result_->mismatches, 1ull);
    if (before < StreamResult::kMostExamples) result_->examples[before] = index;
  }

  /// By all threads of a block.
  __device__ void add_digest() {
    for (int lane = 16; lane > 0; lane /= 2) digest_ += __shfl_xor_sync(~0u, digest_, lane);
    if (threadIdx.x % 32 == 0) atomicAdd(&result_->digest, digest_);
  }

 private:
  const StreamTiles& tiles_;
  StreamResult* result_;
  int bytes_;
  unsigned long long digest_ = 0;
};

extern __shared__ __align__(16) unsigned char shared_memory[];

/// Calls body(row, column in the 64, its problem's c) for the problems of this thread, one at a time.
template <class Body>
__device__ void each_problem(const PortableDatapath& d, const StreamTiles& tiles, std::uint64_t tile, int first_column,
                             const Body& body) {
  for (int i = 0; i < kProblems; ++i) {
    const int at = i * kThreads + static_cast<int>(threadIdx.x), row = at / kSide, column = at % kSide;
    if (first_column + column >= tiles.shape.n) continue;
    body(row, column, load_code(tiles.c, tiles.c_index(tile, row, first_column + column), d.c.storage_bytes()));
  }
}

/// Fills shared memory: put(line, place, code) for each of 64 rows of A, or columns of B from first_column on; what is
/// beyond the last column is zero.
template <class Put>
__device__ void load_side(const PortableDatapath& d, const StreamTiles& tiles, std::uint64_t tile, bool is_a,
                          int first_column, const Put& put) {
  const int bytes = (is_a ? d.a : d.b).storage_bytes();
  for (int i = static_cast<int>(threadIdx.x); i < kSide * d.k; i += kThreads) {
    // Neighbouring threads read what lies side by side.
    const int line = is_a ? tiles.k.quotient(i) : i % kSide, place = is_a ? tiles.k.rest(i) : i / kSide,
              k = d.order[place];
    const bool beyond = !is_a && first_column + line >= tiles.shape.n;
    const std::uint64_t index =
        is_a ? tiles.a_index(tile, line, k) : tiles.b_index(tile, tiles.row_of_b(tile, k), first_column + line);
    put(line, place, beyond ? 0 : load_code(is_a ? tiles.a : tiles.b, index, bytes));
  }
}

template <bool kSeveral, class Code>
__global__ void __launch_bounds__(kThreads, 2)
    sums_kernel(const __grid_constant__ PortableDatapath d, const __grid_constant__ StreamTiles tiles,
                StreamResult* result, bool patches) {
  auto* const numbers = reinterpret_cast<std::int32_t*>(shared_memory);
  __shared__ std::uint8_t special[2][kSide];
  const int size = d.k * kSide;
  const auto side = [&](int which) {
    std::int32_t* const from = numbers + which * 3 * size;
    return portable::Side{from, from + size, from + 2 * size, kSide, special[which]};
  };
  const portable::Side a = side(0), b = side(1);
  const auto put = [&](int which, int line, int place, std::uint64_t code) {
    const portable::Number x = portable::read(which == 0 ? d.a_fields : d.b_fields, which == 0 ? d.a : d.b,
                                              which == 0 ? d.a_rule : d.b_rule, static_cast<std::uint32_t>(code));
    std::int32_t* const to = numbers + which * 3 * size + place * kSide + line;
    to[0] = x.magnitude;
    to[size] = x.sign;
    to[2 * size] = x.special ? portable::Side::kSpecial : x.exponent;
    if (x.special) special[which][line] = 1;
  };

  const auto load = [&](int which, std::uint64_t tile, int first_column) {
    for (int line = static_cast<int>(threadIdx.x); line < kSide; line += kThreads) special[which][line] = 0;
    __syncthreads();
    load_side(d, tiles, tile, which == 0, first_column,
              [&](int line, int place, std::uint64_t code) { put(which, line, place, code); });
  };

  Findings findings(d, tiles, result);
  for (std::uint64_t tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
    for (int first_column = 0; first_column < tiles.shape.n; first_column += kSide) {
      __syncthreads();  // all are done with what was there
      if (first_column == 0) load(0, tile, 0);
      load(1, tile, first_column);
      __syncthreads();

      if (!patches) {
        each_problem(d, tiles, tile, first_column, [&](int row, int column, std::uint64_t c) {
          findings.compare(tile, row, first_column + column,
                           portable::dot(d, a, row, b, column, static_cast<std::uint32_t>(c)));
        });
        continue;
      }
      const int row = static_cast<int>(threadIdx.x) / (kSide / kPatchColumns) * kPatchRows;
      const int column = static_cast<int>(threadIdx.x) % (kSide / kPatchColumns) * kPatchColumns;
      if (first_column + column >= tiles.shape.n) continue;  // n is a multiple of 8
      std::uint32_t c[kPatchRows][kPatchColumns], results[kPatchRows][kPatchColumns];
      std::uint32_t extraordinary = 0;
      // The patch lies in one instruction tile.
      const std::uint64_t from = tiles.c_index(tile, row, first_column + column);
      TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
        const auto codes = load_row<Code>(tiles.c, from + static_cast<unsigned>(i) * tiles.tile_n.divisor);
        TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
          c[i][j] = codes.code[j];
          if (special[0][row + i] != 0 || special[1][column + j] != 0) extraordinary |= 1u << (i * kPatchColumns + j);
        }
      }
      constexpr std::uint32_t kAll = (1u << (kPatchRows * kPatchColumns)) - 1;
      if (extraordinary != kAll) {
        extraordinary |= portable::patch<kPatchRows, kPatchColumns, kSeveral>(d, a, row, b, column, c, results);
      }
      const std::uint64_t first_index = findings.index(tile, row, first_column + column);
      TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
        const auto codes = load_row<Code>(tiles.d, from + static_cast<unsigned>(i) * tiles.tile_n.divisor);
        TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
          if ((extraordinary >> (i * kPatchColumns + j) & 1) != 0) continue;
          findings.compare(first_index + static_cast<unsigned>(i * tiles.shape.n + j), results[i][j], codes.code[j]);
        }
      }
      for (; extraordinary != 0; extraordinary &= extraordinary - 1) {
        const int at = __ffs(static_cast<int>(extraordinary)) - 1;
        const int i = row + at / kPatchColumns, j = column + at % kPatchColumns;
        const std::uint64_t code = load_code(tiles.c, tiles.c_index(tile, i, first_column + j), d.c.storage_bytes());
        findings.compare(tile, i, first_column + j, portable::dot(d, a, i, b, j, static_cast<std::uint32_t>(code)));
      }
    }
  }
  findings.add_digest();
}

/// Kinds that are evaluated one problem at a time: what an operand is, and how a dot product is computed.
struct Integers {
  using Number = std::int32_t;
  __device__ static Number read(const Format& f, std::uint64_t code) {
    return static_cast<Number>(integer_of(f, code));
  }
  __device__ static std::uint64_t dot(const PortableDatapath& d, const Number* a, const Number* b, std::uint64_t c) {
    return portable::integer_dot(d, a, kSide, b, kSide, c);
  }
};
struct FmaChain {
  using Number = std::uint64_t;
  __device__ static Number read(const Format&, std::uint64_t code) { return code; }
  __device__ static std::uint64_t dot(const PortableDatapath& d, const Number* a, const Number* b, std::uint64_t c) {
    return portable::fma_chain_dot(d, a, kSide, b, kSide, c);
  }
};

template <class Kind>
__global__ void __launch_bounds__(kThreads)
    one_by_one_kernel(const __grid_constant__ PortableDatapath d, const __grid_constant__ StreamTiles tiles,
                      StreamResult* result) {
  using Number = typename Kind::Number;
  auto* const a = reinterpret_cast<Number*>(shared_memory);
  auto* const b = a + d.k * kSide;
  Findings findings(d, tiles, result);
  for (std::uint64_t tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
    for (int first_column = 0; first_column < tiles.shape.n; first_column += kSide) {
      __syncthreads();  // all are done with what was there
      load_side(d, tiles, tile, true, 0,
                [&](int line, int place, std::uint64_t code) { a[place * kSide + line] = Kind::read(d.a, code); });
      load_side(d, tiles, tile, false, first_column,
                [&](int line, int place, std::uint64_t code) { b[place * kSide + line] = Kind::read(d.b, code); });
      __syncthreads();
      each_problem(d, tiles, tile, first_column, [&](int row, int column, std::uint64_t c) {
        findings.compare(tile, row, first_column + column, Kind::dot(d, a + row, b + column, c));
      });
    }
  }
  findings.add_digest();
}

/// Allows a kernel so much dynamic shared memory, and launches it.
template <class Kernel, class... Arguments>
cudaError_t launch(Kernel kernel, std::uint64_t tiles, std::size_t bytes, const Arguments&... arguments) {
  if (const cudaError_t error = cudaFuncSetAttribute(
          reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
      error != cudaSuccess) {
    return error;
  }
  kernel<<<static_cast<unsigned>(std::min(kMostBlocks, tiles)), kThreads, bytes>>>(arguments...);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_comparison(const PortableDatapath& d, const StreamTiles& tiles, StreamResult* result) {
  const std::size_t line = static_cast<std::size_t>(d.k) * kSide;  // numbers of a side
  switch (d.kind) {
    case PortableDatapath::Kind::integers:
      return launch(one_by_one_kernel<Integers>, tiles.count, 2 * line * sizeof(Integers::Number), d, tiles, result);
    case PortableDatapath::Kind::fma_chain:
      return launch(one_by_one_kernel<FmaChain>, tiles.count, 2 * line * sizeof(FmaChain::Number), d, tiles, result);
    case PortableDatapath::Kind::sums:
      break;
  }
  const bool narrow = d.c.storage_bytes() == 2;
  const auto kernel = d.nodes > 1 ? (narrow ? sums_kernel<true, std::uint16_t> : sums_kernel<true, std::uint32_t>)
                                  : (narrow ? sums_kernel<false, std::uint16_t> : sums_kernel<false, std::uint32_t>);
  return launch(kernel, tiles.count, 6 * line * sizeof(std::int32_t), d, tiles, result, portable::takes_patches(d));
}

}  // namespace tcnum
