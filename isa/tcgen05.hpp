// What tcgen05.mma is told in descriptors, and where its operands and results lie in tensor memory.
//
// Tensor memory has 128 lanes of 512 columns of 32 bits; a warp reaches the 32 lanes that its number within its
// warpgroup says. With cta_group::2, two thread blocks on two SMs share the work: each has half of A's rows, with their
// scales, their metadata and their rows of D, and half of B's columns, but the scales of all of them. Sources: PTX ISA,
// "TensorCore 5th Generation Family Instructions": "Instruction descriptor", "Shared memory descriptor", "Data Path
// Layout Organization", "Packing formats of elements in Tensor and Shared memory", "Block Scaling" and "Sparse
// Matrices". What its figures show and its words do not is as CUTLASS has it: cute/atom/mma_traits_sm100_frag.hpp; of
// halves, mma_traits_sm100.hpp; of K = 96, cutlass/gemm/collective/sm103_blockscaled_mma_warpspecialized.hpp.
#pragma once

#include "fragment.hpp"

namespace tcnum {

/// The instruction descriptor. Those of kinds with block scales have some fields that the others lack, and lack some.
struct Tcgen05Instruction {
  bool has_block_scales = false;
  bool is_sparse = false;
  bool saturates = false;  ///< of integers
  unsigned d_type = 0;     ///< not with block scales: there D is fp32
  unsigned a_type = 0, b_type = 0;
  bool negates_a = false, negates_b = false;  ///< of floating-point numbers
  bool a_is_m_major = false, b_is_n_major = false;
  int m = 0, n = 0;
  // With block scales.
  unsigned scale_type = 0;
  unsigned a_scale_id = 0, b_scale_id = 0;  ///< the first byte of a word that has scales
  bool has_k96 = false;

  constexpr std::uint32_t bits() const {
    const auto at = [](auto value, int bit) { return static_cast<std::uint32_t>(value) << bit; };
    const std::uint32_t both = at(is_sparse, 2) | at(a_type, 7) | at(b_type, 10) | at(negates_a, 13) |
                               at(negates_b, 14) | at(a_is_m_major, 15) | at(b_is_n_major, 16) | at(n / 8, 17);
    if (has_block_scales) {
      return both | at(b_scale_id, 4) | at(scale_type, 23) | at(m / 128, 27) | at(a_scale_id, 29) | at(has_k96, 31);
    }
    return both | at(saturates, 3) | at(d_type, 4) | at(m / 16, 24);
  }
};

/// How the instruction descriptor of a kind has the formats of A and B, of D, and of block scales.
constexpr unsigned tcgen05_operand_type(ScaleKind scales, FormatId id) {
  switch (id) {
    case FormatId::bf16:
    case FormatId::fp8e5m2:
    case FormatId::s8:
      return 1;
    case FormatId::tf32:
      return 2;
    case FormatId::fp6e2m3:
      return 3;
    case FormatId::fp6e3m2:
      return 4;
    case FormatId::fp4e2m1:
      return scales == ScaleKind::mxf4 || scales == ScaleKind::mxf4nvf4 ? 1 : 5;
    default:  // fp16, fp8e4m3, u8
      return 0;
  }
}
constexpr unsigned tcgen05_result_type(FormatId id) { return id == FormatId::fp16 ? 0 : id == FormatId::fp32 ? 1 : 2; }
constexpr unsigned tcgen05_scale_type(FormatId id) { return id == FormatId::ue8m0 ? 1 : 0; }

/// Of operands that are K-major and not negated, with scales from the first byte on.
constexpr Tcgen05Instruction tcgen05_instruction(const Instruction& in) {
  return {.has_block_scales = in.scaled(),
          .is_sparse = in.sparse(),
          .saturates = in.modifier == Modifier::satfinite,
          .d_type = tcgen05_result_type(in.d),
          .a_type = tcgen05_operand_type(in.scales.kind, in.a),
          .b_type = tcgen05_operand_type(in.scales.kind, in.b),
          .m = in.m,
          .n = in.n,
          .scale_type = tcgen05_scale_type(in.scales.format),
          .has_k96 = in.k == 96};
}

/// The descriptor of an operand in shared memory, in bytes.
struct Tcgen05Shared {
  /// The numbers of bits 61 to 63.
  enum class Swizzle : std::uint8_t { none = 0, bytes_128 = 2, bytes_64 = 4, bytes_32 = 6 };

  /// A multiple of 16, in rows that begin where the swizzle's pattern does: the base offset is 0.
  std::uint64_t address = 0;
  std::uint64_t leading = 0, stride = 0;  ///< relative offsets
  bool leading_is_address = false;        ///< of the rows in which they go on after 128 bytes; only of K = 96
  Swizzle swizzle = Swizzle::none;

  constexpr std::uint64_t bits() const {
    const auto encoded = [](std::uint64_t bytes) { return (bytes & 0x3ffff) >> 4; };
    constexpr std::uint64_t kConstant = 0b001;  // of bits 46 to 48
    return encoded(address) | encoded(leading) << 16 | encoded(stride) << 32 | kConstant << 46 |
           std::uint64_t{leading_is_address} << 52 | static_cast<std::uint64_t>(swizzle) << 61;
  }
};

/// Addresses in tensor memory: the lane in the upper half, the column in the lower.
struct TensorMemory {
  static constexpr int kLanes = 128, kColumns = 512, kWarpLanes = 32;
  static constexpr std::uint32_t address(int lane, int column) {
    return static_cast<std::uint32_t>(lane) << 16 | static_cast<std::uint32_t>(column);
  }
};

/// The part of D that a lane of tensor memory has: so many columns of one row, from `first_column` on, side by side in
/// columns of tensor memory, of which fp16 takes the low half. A row of A has its row of D's lanes, and its bytes along
/// K side by side, in each of them.
struct Tcgen05Lane {
  int row, first_column, columns;

  /// Of an SM that has m rows. With 64, half of each warp's lanes have nothing (`columns` is 0); but .ws and a dense A
  /// on two SMs use all of them, for columns far apart.
  static constexpr Tcgen05Lane of(int m, int n, bool uses_all, int lane) {
    constexpr int kHalf = TensorMemory::kWarpLanes / 2;
    if (uses_all) {
      const int columns = n / (TensorMemory::kLanes / m);
      return {lane % m, lane / m * columns, columns};
    }
    if (m == TensorMemory::kLanes) return {lane, 0, n};
    const int in_warp = lane % TensorMemory::kWarpLanes;
    return {lane / TensorMemory::kWarpLanes * kHalf + in_warp % kHalf, 0, in_warp < kHalf ? n : 0};
  }
};

/// Block scales of A's rows, or of B's columns: each 32 have a word in the lanes of a warp, and all four warps have the
/// same. A word has the scales along k one after the other, from the byte on that the instruction descriptor says. What
/// it has no room for is in another word, as many columns on as 128 or 256 rows take.
struct Tcgen05Scales {
  static constexpr int kBytes = 4;  ///< of a word
  /// For so many rows.
  static constexpr int words(int rows) { return (rows + TensorMemory::kWarpLanes - 1) / TensorMemory::kWarpLanes; }
  /// Columns from a row's word to its next one.
  static constexpr int stride(int rows) {
    return words(rows <= TensorMemory::kLanes ? TensorMemory::kLanes : 2 * TensorMemory::kLanes);
  }
  /// Columns for so many rows, of each of which words have so many bytes; in fours, as they are stored.
  static constexpr int columns(int rows, int bytes) {
    return (bytes - 1) / kBytes * stride(rows) + (words(rows) + 3) / 4 * 4;
  }
  static constexpr int row(int lane, int word) {
    return word * TensorMemory::kWarpLanes + lane % TensorMemory::kWarpLanes;
  }
};

/// The metadata of a sparse A of 128 rows on an SM, for sparsity selector 0: words of eight groups. Of 8 and 4 bits, a
/// lane has the groups of its row; of more, of each 16 rows the first eight lanes have the first half of the groups
/// along k, for the first eight rows in the word's low half, and the others the second half.
struct Tcgen05Metadata {
  static constexpr int kGroups = 8;  ///< of a word

  static constexpr int words(int element_bits) { return element_bits >= 16 ? 1 : 2; }
  /// The row of the place-th group in a word, and which of the row's groups it is.
  static constexpr Element group(int element_bits, int lane, int word, int place) {
    if (element_bits < 16) return {lane, word * kGroups + place};
    return {lane / 16 * 16 + place / 4 * 8 + lane % 8, lane / 8 % 2 * 4 + place % 4};
  }
};

}  // namespace tcnum
