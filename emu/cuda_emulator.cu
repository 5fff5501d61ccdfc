// The CUDA emulator: a block evaluates one tile of a stream at a time, 64 columns after 64, and compares it with what
// the hardware gave. The meaning is portable_dot.hpp's and portable_patch.hpp's; here is only where operands lie.
#include <algorithm>

#include "../probes/stream_kernels.hpp"
#include "../probes/stream_memory.cuh"
#include "portable_patch.hpp"

namespace tcnum {
namespace {

constexpr int kSide = 64;  // rows of a tile, and columns at a time
constexpr int kThreads = 256;
constexpr int kProblems = kSide * kSide / kThreads;  // of a thread
constexpr std::uint64_t kMostBlocks = 132 * 8;

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
    add(stream::IndexHash(index), 0, observed, true);
    if (observed != expected) disagree(index);
  }
  /// To the digest, if it counts: the result of the problem that is `further` on in the stream.
  __device__ void add(const stream::IndexHash& from, int further, std::uint64_t observed, bool counts) {
    const std::uint64_t hash = from.with(further, observed);
    digest_ += counts ? hash : 0;
  }
  __device__ void disagree(std::uint64_t index) {
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

/// The same of so many bytes each, at most four.
template <int kCount>
__device__ CodeRow<std::uint32_t, kCount> load_row(const void* codes, std::uint64_t index, int bytes) {
  CodeRow<std::uint32_t, kCount> all;
  const auto read = [&]<class Code>() {
    const auto row = load_row<Code, kCount>(codes, index);
    TCNUM_UNROLL for (int i = 0; i < kCount; ++i) all.code[i] = row.code[i];
  };
  if (bytes == 1)
    read.template operator()<std::uint8_t>();
  else if (bytes == 2)
    read.template operator()<std::uint16_t>();
  else
    read.template operator()<std::uint32_t>();
  return all;
}

/// Fills shared memory: put(line, place, code) for each of 64 rows of A, or columns of B from first_column on; what is
/// beyond the last column is zero.
template <class Put>
__device__ void load_side(const PortableDatapath& d, const StreamTiles& tiles, std::uint64_t tile, bool is_a,
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

/// The numbers of 64 rows of A, or columns of B, in shared memory.
struct SideMemory {
  double* value;
  std::uint32_t* sign;
  std::int16_t* exponent;
  std::uint32_t* signs;
  std::uint8_t* special;

  __device__ portable::Side side(const Format& f, int copies) const {
    return {value, sign, exponent, signs, special, kSide, copies, f.fraction_bits};
  }
  template <int kCopies>
  __device__ void put(int line, int place, const portable::SideNumber& number) const {
    const int at = place * kSide + line;
    value[at] = number.value;
    sign[at] = number.sign;
    TCNUM_UNROLL for (int c = 0; c < kCopies; ++c) exponent[at * kCopies + c] = number.exponent;
    if (number.special()) special[line] = 1;
  }
};
struct SumsMemory {
  static constexpr int kACopies = 2, kBCopies = 1;  // of exponents, as patches want them
  static constexpr int kAtOnce = 4;                 // codes that a thread loads together: k and n are multiples

  static std::size_t bytes(const PortableDatapath& d) {
    constexpr std::size_t kBoth =
        2 * (sizeof(double) + sizeof(std::uint32_t)) + (kACopies + kBCopies) * sizeof(std::int16_t);
    return static_cast<std::size_t>(d.k) * kSide * kBoth;
  }
  SideMemory a, b;
  __device__ SumsMemory(int k, std::uint32_t (&signs)[2][kSide], std::uint8_t (&special)[2][kSide]) {
    const int size = k * kSide;
    auto* const values = reinterpret_cast<double*>(shared_memory);
    auto* const words = reinterpret_cast<std::uint32_t*>(values + 2 * size);
    auto* const exponents = reinterpret_cast<std::int16_t*>(words + 2 * size);
    a = {values, words, exponents, signs[0], special[0]};
    b = {values + size, words + size, exponents + kACopies * size, signs[1], special[1]};
  }

  /// Four places of a row, or of four columns, to a thread. Neighbouring threads write to neighbouring memory.
  __device__ void load_a(const PortableDatapath& d, const StreamTiles& tiles, std::uint64_t tile) const {
    for (int i = static_cast<int>(threadIdx.x); i < kSide * d.k / kAtOnce; i += kThreads) {
      const int line = i % kSide, k = i / kSide * kAtOnce;
      const auto codes = load_row<kAtOnce>(tiles.a, tiles.a_index(tile, line, k), d.a.storage_bytes());
      std::uint32_t negative = 0;
      TCNUM_UNROLL for (int e = 0; e < kAtOnce; ++e) {
        const portable::SideNumber number = portable::read(d.a_fields, codes.code[e]);
        const int place = d.place[k + e];
        a.put<kACopies>(line, place, number);
        negative |= number.sign & 1u << place % 32;  // only patches, of at most 32 places, take these
      }
      atomicOr(&a.signs[line], negative);
    }
  }
  __device__ void load_b(const PortableDatapath& d, const StreamTiles& tiles, std::uint64_t tile,
                         int first_column) const {
    constexpr int kGroups = kSide / kAtOnce;
    for (int i = static_cast<int>(threadIdx.x); i < kGroups * d.k; i += kThreads) {
      const int line = i % kGroups * kAtOnce, k = i / kGroups, place = d.place[k];
      CodeRow<std::uint32_t, kAtOnce> codes{};
      if (first_column + line < tiles.shape.n) {  // n is a multiple of 8
        codes = load_row<kAtOnce>(tiles.b, tiles.b_index(tile, tiles.row_of_b(tile, k), first_column + line),
                                  d.b.storage_bytes());
      }
      TCNUM_UNROLL for (int e = 0; e < kAtOnce; ++e) {
        const portable::SideNumber number = portable::read(d.b_fields, codes.code[e]);
        b.put<kBCopies>(line + e, place, number);
        if (number.sign != 0) atomicOr(&b.signs[line + e], 1u << place % 32);
      }
    }
  }
  __device__ static void clear(const SideMemory& side) {
    for (int line = static_cast<int>(threadIdx.x); line < kSide; line += kThreads) {
      side.special[line] = 0;
      side.signs[line] = 0;
    }
  }
};

/// Which elements of a patch have an infinity or a NaN among their operands, as bits. `rows` and `columns` say of each
/// line whether it has one.
template <int kRows, int kColumns>
__device__ std::uint32_t special_elements(const std::uint8_t* rows, const std::uint8_t* columns) {
  const portable::Pack<std::uint8_t, kRows> of_row(rows);
  const portable::Pack<std::uint8_t, kColumns> of_column(columns);
  std::uint32_t any = 0;
  TCNUM_UNROLL for (int i = 0; i < kRows; ++i) any |= of_row.x[i];
  TCNUM_UNROLL for (int j = 0; j < kColumns; ++j) any |= of_column.x[j];
  if (any == 0) return 0;
  std::uint32_t elements = 0;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      if ((rows[i] | columns[j]) != 0) elements |= 1u << (i * kColumns + j);
    }
  }
  return elements;
}

template <bool kSeveral, class Code>
__global__ void __launch_bounds__(kThreads, 2)
    sums_kernel(const __grid_constant__ PortableDatapath d, const __grid_constant__ StreamTiles tiles,
                StreamResult* result) {
  constexpr int kRows = 4, kColumns = kSeveral ? 2 : 4;  // of a patch: what a thread has registers for
  __shared__ std::uint32_t signs[2][kSide];
  alignas(4) __shared__ std::uint8_t special[2][kSide];
  const SumsMemory memory(d.k, signs, special);
  const portable::Side a = memory.a.side(d.a, SumsMemory::kACopies);
  const portable::Side b = memory.b.side(d.b, SumsMemory::kBCopies);
  Findings findings(d, tiles, result);
  for (std::uint64_t tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
    for (int first_column = 0; first_column < tiles.shape.n; first_column += kSide) {
      __syncthreads();  // all are done with what was there
      if (first_column == 0) SumsMemory::clear(memory.a);
      SumsMemory::clear(memory.b);
      __syncthreads();
      if (first_column == 0) memory.load_a(d, tiles, tile);
      memory.load_b(d, tiles, tile, first_column);
      __syncthreads();

      if (!d.takes_patches) {
        each_problem(d, tiles, tile, first_column, [&](int row, int column, std::uint64_t c) {
          findings.compare(tile, row, first_column + column,
                           portable::dot(d, a, row, b, column, static_cast<std::uint32_t>(c)));
        });
        continue;
      }
      for (int number = static_cast<int>(threadIdx.x); number < kSide / kRows * (kSide / kColumns);
           number += kThreads) {
        const int row = number / (kSide / kColumns) * kRows, column = number % (kSide / kColumns) * kColumns;
        if (first_column + column >= tiles.shape.n) continue;  // n is a multiple of 8
        // The patch lies in one instruction tile.
        const std::uint64_t from = tiles.c_index(tile, row, first_column + column);
        const auto row_index = [&](int i) { return from + static_cast<unsigned>(i) * tiles.tile_n.divisor; };
        std::uint32_t results[kRows][kColumns];
        std::uint32_t extraordinary = special_elements<kRows, kColumns>(special[0] + row, special[1] + column);
        constexpr std::uint32_t kAll = (1u << (kRows * kColumns)) - 1;
        if (extraordinary != kAll) {
          extraordinary |= portable::patch<Code, kRows, kColumns, kSeveral>(
              d, a, row, b, column, [&](int i) { return load_row<Code, kColumns>(tiles.c, row_index(i)); }, results);
        }
        const stream::IndexHash first(findings.index(tile, row, first_column + column));
        std::uint32_t wrong = 0;
        const auto compare = [&](std::uint32_t without) {
          TCNUM_UNROLL for (int i = 0; i < kRows; ++i) {
            const auto observed = load_row<kColumns>(tiles.d, row_index(i), d.result.storage_bytes());
            TCNUM_UNROLL for (int j = 0; j < kColumns; ++j) {
              const std::uint32_t here = 1u << (i * kColumns + j);
              const bool counts = (without & here) == 0;
              findings.add(first, i * tiles.shape.n + j, observed.code[j], counts);
              if (counts && results[i][j] != observed.code[j]) wrong |= here;
            }
          }
        };
        if (extraordinary == 0)
          compare(0);
        else
          compare(extraordinary);
        for (; wrong != 0; wrong &= wrong - 1) {
          const int at = __ffs(static_cast<int>(wrong)) - 1;
          findings.disagree(findings.index(tile, row + at / kColumns, first_column + column + at % kColumns));
        }
        for (; extraordinary != 0; extraordinary &= extraordinary - 1) {
          const int at = __ffs(static_cast<int>(extraordinary)) - 1;
          const int i = row + at / kColumns, j = column + at % kColumns;
          const std::uint64_t code = load_code(tiles.c, tiles.c_index(tile, i, first_column + j), d.c.storage_bytes());
          findings.compare(tile, i, first_column + j, portable::dot(d, a, i, b, j, static_cast<std::uint32_t>(code)));
        }
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
  return launch(kernel, tiles.count, SumsMemory::bytes(d), d, tiles, result);
}

}  // namespace tcnum
