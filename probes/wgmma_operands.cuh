// Where the operands of a wgmma lie in shared memory, for each variant of its kernel.
//
// A row of A has 32 bytes along K whatever its type, and so has a column of B, or 64 if A is sparse. Sources: PTX ISA,
// "Matrix-descriptor"; shared_layout.hpp has those of the layouts.
#pragma once

#include <algorithm>

#include "device_common.cuh"
#include "shared_layout.hpp"

namespace tcnum {

constexpr int kWgmmaRows = 64;
constexpr int kRowBytes = 32;    // of A

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

/// The layout of rows of so many bytes, 32 or 64. Rows of 64 have no swizzle of 32.
constexpr SharedLayout wgmma_layout(int variant, int row_bytes, int element_bytes) {
  switch (variant) {
    case kSwizzle32:
      return SharedLayout::swizzled(row_bytes == 32 ? 32 : 64);
    case kSwizzle64:
      return SharedLayout::swizzled(64);
    case kSwizzle128:
      return SharedLayout::swizzled(128);
    case kMnMajor:
      return SharedLayout::mn_major(row_bytes / element_bytes);
    default:
      return SharedLayout::plain(row_bytes);
  }
}

/// Address in bits 0–13, leading offset in 16–29, stride offset in 32–45, the swizzle in 62 and 63; base offset 0, so
/// the address is a multiple of the swizzle's period.
__device__ inline std::uint64_t wgmma_descriptor(const SharedLayout& layout, const std::uint8_t* shared) {
  const std::uint64_t swizzle = layout.pitch == 0 ? 0 : layout.pitch == 128 ? 1 : layout.pitch == 64 ? 2 : 3;
  return descriptor_field(__cvta_generic_to_shared(shared)) |
         descriptor_field(static_cast<std::uint64_t>(layout.leading_bytes)) << 16 |
         descriptor_field(static_cast<std::uint64_t>(layout.stride_bytes)) << 32 | swizzle << 62;
}

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
    if (layout.is_mn_major) return fill_cells<Op, typename Op::Code>(shared, layout, rows, depth, flip, code_at);
  }
  fill_cells<Op, std::uint32_t>(shared, layout, rows, depth, flip, code_at);
}

}  // namespace tcnum
