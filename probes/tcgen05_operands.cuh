// tcgen05.mma without its PTX: what each thread does with operands and results around the instruction, and how they
// reach it. A CPU can run it too, with a tensor core of its own (tests/probes/cuda_tcgen05_test.cpp).
//
// Shapes, formats and layouts are numbers in descriptors, not the instruction's text: a kernel is one for each kind
// (tcgen05_kernel.cuh), and for all M and N.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "device_common.cuh"
#include "isa/tcgen05.hpp"
#include "shared_layout.hpp"

namespace tcnum {

/// How the operands reach the instruction.
enum class Tcgen05Way : std::uint8_t {
  plain,
  swizzle_32,
  swizzle_64,
  swizzle_128,
  from_byte_48,
  into_next_rows,
  a_from_tensor_memory,
  zero_c_left_out,
  negated_a,
  negated_b,
  mn_major,
  later_scales,
  two_sms,
  two_sms_a_from_tensor_memory,
};
struct Tcgen05WayName {
  Tcgen05Way way;
  std::string_view name;
};
inline constexpr std::array kTcgen05Ways = std::to_array<Tcgen05WayName>({
    {Tcgen05Way::plain, "K-major without swizzle"},
    {Tcgen05Way::swizzle_32, "K-major with 32-byte swizzle"},
    {Tcgen05Way::swizzle_64, "K-major with 64-byte swizzle"},
    {Tcgen05Way::swizzle_128, "K-major with 128-byte swizzle"},
    {Tcgen05Way::from_byte_48, "K-major with 128-byte swizzle, from byte 48 on"},
    {Tcgen05Way::into_next_rows, "K-major with 128-byte swizzle, from byte 96 on and in the next rows"},
    {Tcgen05Way::a_from_tensor_memory, "A from tensor memory"},
    {Tcgen05Way::zero_c_left_out, "enable-input-d false where all of C is zero"},
    {Tcgen05Way::negated_a, "A of opposite sign, negated by the instruction"},
    {Tcgen05Way::negated_b, "B of opposite sign, negated by the instruction"},
    {Tcgen05Way::mn_major, "MN-major with 128-byte swizzle"},
    {Tcgen05Way::later_scales, "scales in later bytes of words"},
    {Tcgen05Way::two_sms, "two SMs"},
    {Tcgen05Way::two_sms_a_from_tensor_memory, "two SMs, A from tensor memory"},
});

/// Whether there are kernels for it: of sparse ones with M = 128 and 256 alone, as the metadata of others are described
/// nowhere but in figures.
constexpr bool tcgen05_has_kernel(const Instruction& in) {
  return in.kind == InstructionKind::tcgen05 && (!in.sparse() || in.m >= TensorMemory::kLanes);
}

/// By how many SMs, as in cta_group: M = 256 takes two.
constexpr int tcgen05_sms(const Instruction& in, Tcgen05Way way) {
  const bool by_two = way == Tcgen05Way::two_sms || way == Tcgen05Way::two_sms_a_from_tensor_memory;
  return by_two || in.m > TensorMemory::kLanes ? 2 : 1;
}

constexpr bool tcgen05_has_way(const Instruction& in, Tcgen05Way way) {
  const auto is_whole = [&in](FormatId id) { return format(id).storage_bits == element_bits(in, id); };
  const int sms = tcgen05_sms(in, way);
  // Rows of 48 bytes. CUTLASS has them in rows with the 128-byte swizzle alone, one after the other along K.
  const bool has_k96 = in.k == 96;
  // What fp4 and fp6 look like there is described in figures alone; of .ws it is not said how often A is there. From M
  // = 128 on CUTLASS has it for every other N.
  const bool a_fits_tensor_memory = is_whole(in.a) && format(in.a).storage_bits >= 8 && !in.weight_stationary &&
                                    (in.m < TensorMemory::kLanes || in.n % (16 * sms) == 0);
  // Two SMs have M = 128 too. What tensor memory looks like then is described for D and a dense A, but in figures alone
  // for metadata, and of block scales not which rows an SM has them of.
  const bool fits_two_sms = in.m == TensorMemory::kLanes && !in.weight_stationary && !in.sparse() && !in.scaled() &&
                            in.n % (format(in.a).floating ? 16 : 32) == 0;
  switch (way) {
    case Tcgen05Way::plain:
    case Tcgen05Way::swizzle_32:
    case Tcgen05Way::swizzle_64:
      return !has_k96;
    case Tcgen05Way::from_byte_48:
    case Tcgen05Way::into_next_rows:
      return has_k96;
    case Tcgen05Way::a_from_tensor_memory:
      return a_fits_tensor_memory;
    case Tcgen05Way::negated_a:
    case Tcgen05Way::negated_b:
      return format(in.a).floating;
    case Tcgen05Way::mn_major:  // in whole pieces of 128 bytes
      return element_bits(in, in.a) == 16 && in.m / sms % 64 == 0 && in.n / sms % 64 == 0;
    case Tcgen05Way::later_scales:
      return in.scaled() && (has_k96 || in.scale_blocks() < Tcgen05Scales::kBytes);
    case Tcgen05Way::two_sms:
      return fits_two_sms;
    case Tcgen05Way::two_sms_a_from_tensor_memory:
      return fits_two_sms && a_fits_tensor_memory;
    default:
      return true;
  }
}

/// Those that the instruction has: a kernel's variants are numbers in this list.
inline std::vector<Tcgen05WayName> tcgen05_ways(const Instruction& in) {
  std::vector<Tcgen05WayName> ways;
  for (const Tcgen05WayName& each : kTcgen05Ways) {
    if (tcgen05_has_way(in, each.way)) ways.push_back(each);
  }
  return ways;
}

/// An operand in shared memory, a row for each row of A or column of B. It is cut into chunks of 16 bytes along K, each
/// of which has so many elements from its lowest bit on: less than it could hold, if they are of fp4 or fp6 in kinds
/// that take fp8 too. (Copies that fill such memory call it b4x16_p64 and b6x16_p32 in the PTX ISA.)
struct Tcgen05Operand {
  int rows, depth;
  int bits, chunk_elements;
  std::uint32_t flip;  ///< what codes are exclusive-ored with
  SharedLayout layout;
  int first_byte = 0;  ///< of a swizzled row that has elements. After its last one they go on in other rows

  constexpr int row_bytes() const { return depth / chunk_elements * kChunkBytes; }
  constexpr bool goes_on() const { return first_byte + row_bytes() > kLongestRowBytes; }
  /// From the first rows to those in which they go on.
  constexpr int next_rows() const { return goes_on() ? rows * layout.pitch : 0; }
  constexpr int offset(int row, int chunk) const {
    const int byte = first_byte + chunk * kChunkBytes;
    return byte / kLongestRowBytes * next_rows() + layout.offset(row, byte % kLongestRowBytes, 1);
  }
  /// Of shared memory. MN-major, each 128 bytes along M or N have memory, filled or not.
  constexpr int bytes() const {
    constexpr int kHalfBytes = 2;
    if (!layout.is_mn_major) return next_rows() + rows * std::max(layout.pitch, row_bytes());
    return (rows * kHalfBytes + 127) / 128 * SharedLayout::mn_major_bytes(depth);
  }
};

/// What of an instruction is in its text, beside the kind.
struct Tcgen05Form {
  bool weight_stationary, sparse, a_from_tensor_memory;
};

/// All that a kernel has to know of an instruction and of the way in which its operands reach it.
struct Tcgen05Work {
  int sms;              ///< with a thread block on each
  Tcgen05Operand a, b;  ///< what one SM has of them: a half each, if there are two
  int m, n;             ///< of D, what one SM has of it: its rows of A, but all columns
  int accumulator_bytes, scale_blocks, element_bits;
  int scale_byte;  ///< the first of a word that has scales
  Tcgen05Form form;
  bool zero_c_left_out;
  std::uint32_t descriptor;
  std::uint32_t unused;  ///< of bits that must not matter: all 0 or all 1

  constexpr Tcgen05Lane lane(int number) const {
    return Tcgen05Lane::of(m, n, form.weight_stationary || sms == 2, number);
  }
  // Columns of tensor memory. C and D are the first.
  constexpr int a_column() const { return lane(0).columns; }
  constexpr int a_scale_column() const { return a_column() + a.row_bytes() / 4; }
  constexpr int scale_bytes() const { return std::max(1, scale_byte + scale_blocks); }
  constexpr int b_scale_column() const {
    return a_scale_column() + Tcgen05Scales::columns(TensorMemory::kLanes, scale_bytes());
  }
  constexpr int metadata_column() const { return b_scale_column() + Tcgen05Scales::columns(n, scale_bytes()); }
  /// As many as can be allocated: a power of two.
  constexpr int columns() const {
    constexpr unsigned kLeast = 32;
    return static_cast<int>(std::bit_ceil(std::max(kLeast, static_cast<unsigned>(metadata_column()) + 4)));
  }
  /// Each operand begins where a swizzle's pattern does.
  constexpr int b_offset() const { return (a.bytes() + kSwizzlePeriod - 1) / kSwizzlePeriod * kSwizzlePeriod; }
  constexpr int shared_bytes() const { return b_offset() + b.bytes(); }
};

/// Of an instruction that has a kernel, and the way.
constexpr Tcgen05Work tcgen05_work(const Instruction& in, Tcgen05Way way) {
  const auto operand = [&in, way](FormatId id, int rows, int depth, bool negated) {
    const int bits = format(id).storage_bits, chunk_elements = 8 * kChunkBytes / element_bits(in, id);
    const int row_bytes = depth / chunk_elements * kChunkBytes;
    SharedLayout layout = SharedLayout::plain(row_bytes);
    if (way == Tcgen05Way::swizzle_32) layout = SharedLayout::swizzled(std::max(32, row_bytes));
    if (way == Tcgen05Way::swizzle_64) layout = SharedLayout::swizzled(64);
    if (way == Tcgen05Way::swizzle_128 || in.k == 96) layout = SharedLayout::swizzled(128);
    if (way == Tcgen05Way::mn_major) layout = SharedLayout::mn_major(depth);
    const int first_byte = way == Tcgen05Way::from_byte_48 ? 48 : way == Tcgen05Way::into_next_rows ? 96 : 0;
    return Tcgen05Operand{rows, depth, bits, chunk_elements, negated ? 1u << (bits - 1) : 0, layout, first_byte};
  };
  const bool negates_a = way == Tcgen05Way::negated_a, negates_b = way == Tcgen05Way::negated_b;
  const bool a_in_tensor_memory =
      way == Tcgen05Way::a_from_tensor_memory || way == Tcgen05Way::two_sms_a_from_tensor_memory;
  const int sms = tcgen05_sms(in, way);
  // With K = 96, the last byte that three or six scales may begin at, so that some are in the next word.
  const int later_byte = in.k != 96 ? Tcgen05Scales::kBytes - in.scale_blocks() : in.scale_blocks() == 3 ? 3 : 2;
  const int scale_byte = way == Tcgen05Way::later_scales ? later_byte : 0;
  Tcgen05Instruction descriptor = tcgen05_instruction(in);
  descriptor.negates_a = negates_a;
  descriptor.negates_b = negates_b;
  descriptor.a_is_m_major = descriptor.b_is_n_major = way == Tcgen05Way::mn_major;
  descriptor.a_scale_id = descriptor.b_scale_id = static_cast<unsigned>(scale_byte);
  return {.sms = sms,
          .a = operand(in.a, in.m / sms, in.products(), negates_a),
          .b = operand(in.b, in.n / sms, in.k, negates_b),
          .m = in.m / sms,
          .n = in.n,
          .accumulator_bytes = format(in.d).storage_bytes(),
          .scale_blocks = in.scale_blocks(),
          .element_bits = element_bits(in, in.a),
          .scale_byte = scale_byte,
          .form = {in.weight_stationary, in.sparse(), a_in_tensor_memory},
          .zero_c_left_out = way == Tcgen05Way::zero_c_left_out,
          .descriptor = descriptor.bits(),
          .unused = way == Tcgen05Way::plain ? 0 : ~std::uint32_t{0}};
}

/// The kinds, each of which is a text of its own, as are those with a scale for 32 and for 16 elements of A.
enum class Tcgen05Kind : std::uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4_block32, mxf4nvf4_block16 };
constexpr Tcgen05Kind tcgen05_kind(const Instruction& in) {
  using enum Tcgen05Kind;
  switch (in.scales.kind) {
    case ScaleKind::mxf8f6f4:
      return mxf8f6f4;
    case ScaleKind::mxf4:
      return mxf4;
    case ScaleKind::mxf4nvf4:
      return in.products_per_scale() == 16 ? mxf4nvf4_block16 : mxf4nvf4_block32;
    default:
      break;
  }
  const Format& a = format(in.a);
  return !a.floating ? i8 : a.storage_bits == 32 ? tf32 : a.storage_bits == 16 ? f16 : f8f6f4;
}

/// The descriptor of an operand whose memory begins at an address of shared memory.
constexpr std::uint64_t tcgen05_descriptor(const Tcgen05Operand& operand, std::uint64_t address) {
  using enum Tcgen05Shared::Swizzle;
  const SharedLayout& layout = operand.layout;
  const bool may_go_on = layout.pitch == kLongestRowBytes && kLongestRowBytes % operand.row_bytes() != 0;
  const std::uint64_t next = address + static_cast<unsigned>(operand.next_rows());
  const Tcgen05Shared descriptor{.address = address + static_cast<unsigned>(operand.first_byte),
                                 .leading = may_go_on ? next : static_cast<std::uint64_t>(layout.leading_bytes),
                                 .stride = static_cast<std::uint64_t>(layout.stride_bytes),
                                 .leading_is_address = may_go_on,
                                 .swizzle = layout.pitch == 0    ? none
                                            : layout.pitch == 32 ? bytes_32
                                            : layout.pitch == 64 ? bytes_64
                                                                 : bytes_128};
  return descriptor.bits();
}

/// Words of 32 bits, some at a time, as threads put them into tensor memory.
inline constexpr int kTensorWords = 8;
using TensorWords = std::uint32_t[kTensorWords];

/// The word that begins with an element of a row, whose codes follow each other in memory.
template <class Code>
__device__ std::uint32_t packed_word(const Code* row, int element, int bits) {
  std::uint32_t word = 0;
  for (int e = 0; e < 32 / bits; ++e) word |= std::uint32_t{row[element + e]} << (e * bits);
  return word;
}

/// Fills an operand's shared memory. code_at(row, k) is its code.
template <class Code, class CodeAt>
__device__ void fill_operand(std::uint8_t* shared, const Tcgen05Operand& operand, std::uint32_t unused,
                             const CodeAt& code_at) {
  const int thread = static_cast<int>(threadIdx.x);
  if (operand.layout.is_mn_major) {  // its rows lie across
    for (int i = thread; i < operand.rows * operand.depth; i += kThreads) {
      const int row = i % operand.rows, k = i / operand.rows;
      const int at = operand.layout.offset(row, k * static_cast<int>(sizeof(Code)), sizeof(Code));
      *reinterpret_cast<Code*>(shared + at) = static_cast<Code>(code_at(row, k) ^ operand.flip);
    }
    return;
  }
  for (int i = thread; i < operand.rows * (operand.depth / operand.chunk_elements); i += kThreads) {
    const int row = i % operand.rows, chunk = i / operand.rows;
    std::uint64_t halves[2] = {};
    int bit = 0;
    for (int e = 0; e < operand.chunk_elements; ++e, bit += operand.bits) {
      const std::uint64_t code = code_at(row, chunk * operand.chunk_elements + e) ^ operand.flip;
      const int in_half = bit % 64;
      halves[bit / 64] |= code << in_half;
      if (in_half + operand.bits > 64) halves[1] |= code >> (64 - in_half);
    }
    const std::uint64_t padding = unused == 0 ? 0 : ~std::uint64_t{0};
    if (bit <= 64) halves[1] = padding;
    if (bit > 64 && bit < 128) halves[1] |= padding << (bit - 64);
    auto* const to = reinterpret_cast<std::uint64_t*>(shared + operand.offset(row, chunk));
    to[0] = halves[0];
    to[1] = halves[1];
  }
}

/// The code of an accumulator, as tensor memory has it.
__device__ inline std::uint32_t accumulator_at(const void* from, std::size_t at, const Tcgen05Work& work) {
  if (work.accumulator_bytes == 4) return static_cast<const std::uint32_t*>(from)[at];
  return work.unused << 16 | static_cast<const std::uint16_t*>(from)[at];
}

/// C of one tile to tensor memory. A lane that has none of it stores what must not matter.
template <class Core>
__device__ void store_c(std::uint32_t memory, const void* c, std::size_t first, const Tcgen05Work& work,
                        bool left_out) {
  const int thread = static_cast<int>(threadIdx.x);
  const Tcgen05Lane lane = work.lane(thread);
  for (int column = 0; column < work.a_column(); column += kTensorWords) {
    TensorWords words;
#pragma unroll
    for (int i = 0; i < kTensorWords; ++i) {
      const std::size_t at = first + static_cast<std::size_t>(lane.row * work.n + lane.first_column + column + i);
      words[i] = column < lane.columns && !left_out ? accumulator_at(c, at, work) : ~0u;  // of floating point, NaNs
    }
    Core::store(memory + TensorMemory::address(thread / 32 * 32, column), words);
  }
}
template <class Core>
__device__ void load_d(std::uint32_t memory, void* d, std::size_t first, const Tcgen05Work& work) {
  const int thread = static_cast<int>(threadIdx.x);
  const Tcgen05Lane lane = work.lane(thread);
  for (int column = 0; column < work.a_column(); column += kTensorWords) {
    TensorWords words;
    Core::load(words, memory + TensorMemory::address(thread / 32 * 32, column));
    if (column >= lane.columns) continue;
#pragma unroll
    for (int i = 0; i < kTensorWords; ++i) {
      const std::size_t at = first + static_cast<std::size_t>(lane.row * work.n + lane.first_column + column + i);
      if (work.accumulator_bytes == 4) {
        static_cast<std::uint32_t*>(d)[at] = words[i];
      } else {
        static_cast<std::uint16_t*>(d)[at] = static_cast<std::uint16_t>(words[i]);
      }
    }
  }
}

/// The part-th word with a row's scales, `stride` after the other in memory.
__device__ inline std::uint32_t scale_word(const std::uint8_t* from, int stride, int part, const Tcgen05Work& work) {
  std::uint32_t word = work.unused;
  for (int s = 0; s < work.scale_blocks; ++s) {
    const int byte = work.scale_byte + s - part * Tcgen05Scales::kBytes, bit = 8 * byte;
    if (byte < 0 || byte >= Tcgen05Scales::kBytes) continue;
    word = (word & ~(std::uint32_t{0xff} << bit)) | std::uint32_t{from[s * stride]} << bit;
  }
  return word;
}
/// Scales of so many rows, each of which has its first at `row_stride` after the row before.
template <class Core>
__device__ void store_scales(std::uint32_t memory, int column, const std::uint8_t* from, int rows, int row_stride,
                             int stride, const Tcgen05Work& work) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int part = 0; part * Tcgen05Scales::kBytes < work.scale_bytes(); ++part) {
    for (int first = 0; first < Tcgen05Scales::words(rows); first += 4) {
      std::uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = Tcgen05Scales::row(thread, first + i);
        words[i] = row < rows ? scale_word(from + row * row_stride, stride, part, work) : work.unused;
      }
      const int at = column + part * Tcgen05Scales::stride(rows) + first;
      Core::store(memory + TensorMemory::address(thread / 32 * 32, at), words);
    }
  }
}

/// A of one tile to tensor memory.
template <class Core, class Code>
__device__ void store_a(std::uint32_t memory, const Code* a, const Tcgen05Work& work) {
  const int thread = static_cast<int>(threadIdx.x), per_word = 32 / work.a.bits;
  const Tcgen05Lane lane = work.lane(thread);
  TensorWords words;  // a row
#pragma unroll
  for (int i = 0; i < kTensorWords; ++i) {
    words[i] = lane.columns == 0 ? ~0u : packed_word(a + lane.row * work.a.depth, i * per_word, work.a.bits);
  }
  Core::store(memory + TensorMemory::address(thread / 32 * 32, work.a_column()), words);
}

/// The metadata of a sparse A, from where its stored elements stand.
template <class Core>
__device__ void store_metadata(std::uint32_t memory, const std::uint8_t* positions, const Tcgen05Work& work) {
  const int thread = static_cast<int>(threadIdx.x);
  const SparseGroup group = sparse_group(work.element_bits);
  std::uint32_t words[4] = {work.unused, work.unused, work.unused, work.unused};
  for (int word = 0; word < Tcgen05Metadata::words(work.element_bits); ++word) {
    words[word] = 0;
    for (int place = 0; place < Tcgen05Metadata::kGroups; ++place) {
      const Element at = Tcgen05Metadata::group(work.element_bits, thread, word, place);
      const std::uint8_t* const stored = positions + at.row * work.a.depth + at.column * group.stored();
      words[word] |= SparseGroup::metadata(group.pattern_of(stored)) << (SparseGroup::kMetadataBits * place);
    }
  }
  Core::store(memory + TensorMemory::address(thread / 32 * 32, work.metadata_column()), words);
}

/// What the instruction is given.
struct Tcgen05Operands {
  std::uint32_t d;  ///< an address of tensor memory, as A's is, if it is there, and as the next three are
  std::uint32_t a_in_tensor_memory;
  std::uint32_t a_scales, b_scales, metadata;
  std::uint64_t a, b;  ///< descriptors
  std::uint32_t descriptor;
  bool has_c;
};

/// Puts one tile after the other through the instruction, exactly once, with C as the accumulator. `Core` issues it and
/// what else only a device has. By a thread block of four warps, which reach all lanes of tensor memory, on each SM: if
/// there are two, blocks of even numbers share tiles with the next ones, and issue what both need once.
template <class Core, class Code>
__device__ void multiply_tiles(const DeviceTiles& tiles, const Tcgen05Work& work, std::uint8_t* shared) {
  const unsigned sms = static_cast<unsigned>(work.sms), rank = blockIdx.x % sms;
  const bool issues = threadIdx.x == 0 && rank == 0;
  const std::uint32_t memory = Core::begin(work.columns());
  // What one SM has of a tile.
  const std::size_t a_elements = static_cast<std::size_t>(work.m * work.a.depth),
                    c_elements = static_cast<std::size_t>(work.m * work.n);
  const int first_b = static_cast<int>(rank) * work.b.rows;
  unsigned phase = 0;
  for (std::size_t tile = blockIdx.x / sms; tile < tiles.count; tile += gridDim.x / sms, phase ^= 1) {
    const std::size_t b_tile = tiles.b_tile(tile), a_part = tiles.a_tile(tile) * sms + rank,
                      c_first = (tile * sms + rank) * c_elements;
    const Code* const from_a = static_cast<const Code*>(tiles.a) + a_part * a_elements;
    const Code* const from_b =
        static_cast<const Code*>(tiles.b) + b_tile * static_cast<std::size_t>(work.n * work.b.depth);
    fill_operand<Code>(shared, work.a, work.unused, [&](int row, int k) { return from_a[row * work.a.depth + k]; });
    // B is K × N in global memory; its columns are the rows here.
    fill_operand<Code>(shared + work.b_offset(), work.b, work.unused,
                       [&](int row, int k) { return from_b[k * work.n + first_b + row]; });

    bool has_c = true;
    if (work.zero_c_left_out) {  // of the other SM's part, too
      bool any = false;
      for (std::size_t i = threadIdx.x; i < sms * c_elements; i += kThreads) {
        const std::size_t at = tile * sms * c_elements + i;
        any = any || (work.accumulator_bytes == 4 ? static_cast<const std::uint32_t*>(tiles.c)[at]
                                                  : static_cast<const std::uint16_t*>(tiles.c)[at]) != 0;
      }
      has_c = __syncthreads_or(any) != 0;
    }
    store_c<Core>(memory, tiles.c, c_first, work, !has_c);
    if (work.form.a_from_tensor_memory) store_a<Core>(memory, from_a, work);
    if (work.scale_blocks != 0) {
      const std::size_t blocks = static_cast<std::size_t>(work.scale_blocks);
      store_scales<Core>(memory, work.a_scale_column(),
                         static_cast<const std::uint8_t*>(tiles.sa) + a_part * (blocks * static_cast<unsigned>(work.m)),
                         work.m, work.scale_blocks, 1, work);
      store_scales<Core>(memory, work.b_scale_column(),
                         static_cast<const std::uint8_t*>(tiles.sb) + b_tile * (blocks * static_cast<unsigned>(work.n)),
                         work.n, 1, work.n, work);
    }
    if (work.form.sparse) {
      store_metadata<Core>(memory, static_cast<const std::uint8_t*>(tiles.e) + a_part * a_elements, work);
    }
    Core::publish();
    Core::meet();

    if (issues) {  // what lies at these places on both SMs
      const std::uint64_t address = __cvta_generic_to_shared(shared);
      const auto column = [memory](int at) { return memory + TensorMemory::address(0, at); };
      Core::multiply({.d = memory,
                      .a_in_tensor_memory = column(work.a_column()),
                      .a_scales = column(work.a_scale_column()),
                      .b_scales = column(work.b_scale_column()),
                      .metadata = column(work.metadata_column()),
                      .a = tcgen05_descriptor(work.a, address),
                      .b = tcgen05_descriptor(work.b, address + static_cast<unsigned>(work.b_offset())),
                      .descriptor = work.descriptor,
                      .has_c = has_c},
                     work.form);
    }
    Core::wait(phase);
    load_d<Core>(memory, tiles.d, c_first, work);
    Core::settle();
    Core::meet();  // all warps have read tensor memory before it is filled again, or given back
  }
  Core::end(memory, work.columns());
}

}  // namespace tcnum
