// Where the operands of a wgmma lie in shared memory, for each variant of its kernel.
//
// A row of A has 32 bytes along K whatever its type, and so has a column of B, or 64 if A is sparse. K-major without
// swizzle: core matrices of 8 rows × 16 bytes, 128 bytes in one piece, side by side along K. K-major with a swizzle of
// P bytes: rows of P bytes, of which the first 32 (or 64) are used, 8 of them in one piece. MN-major: pieces of 64
// elements along M or N (128 bytes) × 8 along K, behind each other along K, then the next 64 elements. A swizzle
// exclusive-ors the address's bits from 4 on with those from 7 on. Sources: PTX ISA, "Shared Memory Matrix Layout",
// "Strides" and "Matrix-descriptor"; CUTLASS, make_gmma_desc and the canonical layouts beside it.
#pragma once

#include <algorithm>

#include "device_common.cuh"

namespace tcnum {

constexpr int kWgmmaRows = 64;
constexpr int kRowBytes = 32;    // of A
constexpr int kChunkBytes = 16;  // what a swizzle moves as a whole

enum WgmmaVariant : int {
  kPlain,
  kSwizzle32,
  kSwizzle64,
  kSwizzle128,
  kRegisters,
  kZeroCLeftOut,
  kNegatedA,
  kNegatedB,
  kMnMajor,
  kSelector1,
};
struct WgmmaVariantName {
  WgmmaVariant variant;
  std::string_view name;
};
inline constexpr WgmmaVariantName kWgmmaVariants[] = {
    {kPlain, "K-major without swizzle"},
    {kSwizzle32, "K-major with 32-byte swizzle"},
    {kSwizzle64, "K-major with 64-byte swizzle"},
    {kSwizzle128, "K-major with 128-byte swizzle"},
    {kRegisters, "A from registers"},
    {kZeroCLeftOut, "scale-d 0 where all of C is zero"},
    {kNegatedA, "A of opposite sign, imm-scale-a -1"},
    {kNegatedB, "B of opposite sign, imm-scale-b -1"},
    {kMnMajor, "MN-major with 128-byte swizzle"},
    {kSelector1, "sparsity selector 1"},
};

/// Where the bytes of an operand lie in shared memory, and how the matrix descriptor says so.
struct SharedLayout {
  int pitch;  ///< bytes of a swizzled row; 0: no swizzle
  bool mn_major;
  int leading_bytes;    ///< between pieces: along K without swizzle, along M or N if MN-major; else it is not looked at
  int stride_bytes;     ///< between groups of 8 rows, or along K if MN-major
  int descriptor_mode;  ///< bits 62 and 63

  /// Of rows of so many bytes, 32 or 64. Rows of 64 have no swizzle of 32.
  __device__ static SharedLayout of(int variant, int row_bytes, int element_bytes) {
    constexpr int kCoreBytes = 8 * kChunkBytes;
    switch (variant) {
      case kSwizzle32:
        if (row_bytes == 32) return {32, false, kChunkBytes, 8 * 32, 3};
        [[fallthrough]];
      case kSwizzle64:
        return {64, false, kChunkBytes, 8 * 64, 2};
      case kSwizzle128:
        return {128, false, kChunkBytes, 8 * 128, 1};
      case kMnMajor:
        return {128, true, mn_major_bytes(row_bytes / element_bytes), 8 * 128, 1};
      default:
        return {0, false, kCoreBytes, row_bytes / kChunkBytes * kCoreBytes, 0};
    }
  }
  /// Of 64 rows with k elements.
  static constexpr int mn_major_bytes(int k) { return k * 128; }

  /// Byte `byte` along K of a row. `element_bytes` matters only if MN-major.
  __device__ int offset(int row, int byte, int element_bytes) const {
    if (pitch == 0) {
      return row / 8 * stride_bytes + byte / kChunkBytes * leading_bytes + row % 8 * kChunkBytes + byte % kChunkBytes;
    }
    int at = row * pitch + byte;  // eight rows take stride_bytes
    if (mn_major) {
      const int k = byte / element_bytes, row_bytes = row * element_bytes;
      at = row_bytes / pitch * leading_bytes + k / 8 * stride_bytes + k % 8 * pitch + row_bytes % pitch;
    }
    return at ^ ((at >> 7) & (pitch / kChunkBytes - 1)) << 4;
  }

  /// Address in bits 0–13, leading offset in 16–29, stride offset in 32–45, each without its lowest four bits; base
  /// offset 0, so the address is a multiple of the swizzle's period.
  __device__ std::uint64_t descriptor(const std::uint8_t* shared) const {
    const auto field = [](std::uint64_t bytes) { return (bytes & 0x3ffff) >> 4; };
    return field(__cvta_generic_to_shared(shared)) | field(static_cast<std::uint64_t>(leading_bytes)) << 16 |
           field(static_cast<std::uint64_t>(stride_bytes)) << 32 | static_cast<std::uint64_t>(descriptor_mode) << 62;
  }
};
inline constexpr int kLongestRowBytes = 128;
inline constexpr int kSwizzlePeriod = 1024;

/// All of a wgmma but its PTX.
template <int kWidth, int kDepth, FormatId kOperand, FormatId kResult, bool kIsSparse>
struct WgmmaShape {
  static constexpr int kCodeBits = format(kOperand).storage_bits, kAccumulatorBits = format(kResult).storage_bits;
  using Code = Bits<kCodeBits>;
  using Accumulator = Bits<kAccumulatorBits>;
  using Register = std::uint32_t;
  static constexpr int kN = kWidth, kK = kDepth;
  static constexpr bool kSparse = kIsSparse, kFloating = format(kOperand).floating;
  /// Each of the four warps has 16 rows of A in registers, and their metadata, as those of an mma.
  static constexpr MmaGeometry kGeometry{16, 8, kK, kCodesPerRegister<Register, kCodeBits>, kSparse};
  static constexpr int kStored = kGeometry.a_columns();  ///< elements of a row of A
  static_assert(kStored * kCodeBits == 8 * kRowBytes);
  static constexpr int kBRowBytes = kK * kCodeBits / 8;
  static constexpr int kARegisters = kGeometry.a_registers();
  static constexpr int kAccumulators = kWgmmaRows * kN / kThreads;
  static constexpr int kAccumulatorsPerRegister = kCodesPerRegister<Register, kAccumulatorBits>;
  static constexpr int kDRegisters = kAccumulators / kAccumulatorsPerRegister;

  /// Wide ones compile slowly, and have only what most programs use.
  static constexpr bool kNarrow = kN <= 64;
  static constexpr bool has(WgmmaVariant variant) {
    switch (variant) {
      case kNegatedA:
      case kNegatedB:
        return kFloating && kNarrow;
      case kMnMajor:
        return kCodeBits == 16;
      case kSelector1:
        return kSparse && kGeometry.selectors() > 1;
      default:
        return true;
    }
  }
};

/// Fills an operand's shared memory, a Cell at a time, which is a piece of a row. code_at(row, k) is its code, `flip`
/// what it is exclusive-ored with.
template <class Op, class Cell, class CodeAt>
__device__ void fill_cells(std::uint8_t* shared, const SharedLayout& layout, int rows, int depth,
                           typename Op::Code flip, const CodeAt& code_at) {
  constexpr int kPerCell = kCodesPerRegister<Cell, Op::kCodeBits>;
  const int cells = depth / kPerCell;
  for (int i = static_cast<int>(threadIdx.x); i < rows * cells; i += kThreads) {
    // Neighbouring threads write neighbouring rows.
    const int row = i % rows, cell = i / rows;
    Cell value = 0;
#pragma unroll
    for (int e = 0; e < kPerCell; ++e) {
      insert<Op::kCodeBits>(value, e, code_at(row, cell * kPerCell + e) ^ flip);
    }
    *reinterpret_cast<Cell*>(shared + layout.offset(row, cell * static_cast<int>(sizeof(Cell)), sizeof(Cell))) = value;
  }
}
template <class Op, class CodeAt>
__device__ void fill_shared(std::uint8_t* shared, const SharedLayout& layout, int rows, int depth,
                            typename Op::Code flip, const CodeAt& code_at) {
  if constexpr (Op::has(kMnMajor)) {  // its rows lie across
    if (layout.mn_major) return fill_cells<Op, typename Op::Code>(shared, layout, rows, depth, flip, code_at);
  }
  fill_cells<Op, std::uint32_t>(shared, layout, rows, depth, flip, code_at);
}

}  // namespace tcnum
