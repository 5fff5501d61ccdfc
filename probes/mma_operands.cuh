// What a lane has of an mma's operands. Without the instruction itself: a CPU can run it too (tests/cuda_on_cpu).
#pragma once

#include <algorithm>

#include "device_common.cuh"
#include "isa/sparsity.hpp"

namespace tcnum {

/// All of an mma but its PTX. `kFirst`: the first architecture that has it; `kScales`: how many scales a row of A has.
template <int kFirst, int kRows, int kDepth, FormatId kA, FormatId kB, FormatId kResult, bool kSparse = false,
          ScaleKind kKind = ScaleKind::none, int kScales = 0>
struct MmaShape {
  static constexpr int kFirstArch = kFirst;
  static constexpr int kCodeBits = element_bits(kKind, kA);
  static_assert(kCodeBits == element_bits(kKind, kB));
  static constexpr int kAShift = element_shift(kKind, kA), kBShift = element_shift(kKind, kB);
  static constexpr int kAccumulatorBits = format(kResult).storage_bits;
  static constexpr bool kIsFp8 = kCodeBits == 8 && format(kA).floating;
  static constexpr int kScaleBlocks = kScales;
  static constexpr MmaGeometry kGeometry{kRows, kColumns, kDepth, kCodeBits < 32 ? 32 / kCodeBits : 1, kSparse};
  using Code = Bits<kCodeBits>;
  using Accumulator = Bits<kAccumulatorBits>;
  using Register = Bits<std::max(32, kCodeBits)>;

  static constexpr int kARegisters = kGeometry.a_registers();
  static constexpr int kBRegisters = kGeometry.b_registers();
  static constexpr int kAccumulatorsPerRegister = kCodesPerRegister<Register, kAccumulatorBits>;
  static constexpr int kDRegisters = kGeometry.accumulators() / kAccumulatorsPerRegister;
};

/// A, of which `from` has the rows of stored elements one after the other.
template <class Op>
__device__ void load_a(typename Op::Register (&a)[Op::kARegisters], const typename Op::Code* from, int lane) {
  constexpr MmaGeometry kGeometry = Op::kGeometry;
#pragma unroll
  for (int r = 0; r < Op::kARegisters; ++r) {
    const Element at = kGeometry.a(lane, r, 0);
    a[r] = load_register<Op::kCodeBits, typename Op::Register>(from + at.row * kGeometry.a_columns() + at.column);
    if constexpr (Op::kAShift != 0) a[r] <<= Op::kAShift;
  }
}
/// B, of which `from` has the rows along k one after the other.
template <class Op>
__device__ void load_b(typename Op::Register (&b)[Op::kBRegisters], const typename Op::Code* from, int lane) {
  constexpr MmaGeometry kGeometry = Op::kGeometry;
#pragma unroll
  for (int r = 0; r < Op::kBRegisters; ++r) {
    b[r] = 0;
#pragma unroll
    for (int e = 0; e < kGeometry.register_elements; ++e) {
      const Element at = kGeometry.b(lane, r, e);
      insert<Op::kCodeBits>(b[r], e, from[at.row * kColumns + at.column]);
    }
    if constexpr (Op::kBShift != 0) b[r] <<= Op::kBShift;
  }
}

/// The numbers in an instruction that say where its scales are. None of these ways may change a bit.
struct ScaleSelector {
  int byte, a_thread, b_thread;
};
inline constexpr int kScaleSelectors = 4;
template <class Op>
constexpr ScaleSelector scale_selector(int number) {
  const int bytes = ScaleFragments::kBytes / Op::kScaleBlocks;
  return {number % bytes * Op::kScaleBlocks, number % 2, number};
}

/// A register of scales, each `stride` after the other in memory. Bytes and lanes that the selector leaves out must not
/// matter: they have NaNs.
template <class Op>
__device__ std::uint32_t scale_register(const std::uint8_t* from, int stride, bool is_here, int byte) {
  std::uint32_t scales = ~std::uint32_t{0};
  if (!is_here) return scales;
#pragma unroll
  for (int i = 0; i < Op::kScaleBlocks; ++i) {
    const int at = 8 * (byte + i);
    scales = (scales & ~(std::uint32_t{0xff} << at)) | std::uint32_t{from[i * stride]} << at;
  }
  return scales;
}
/// Of a tile's scales: of A [row][block], and of B [block][column].
template <class Op>
__device__ std::uint32_t a_scale_register(const std::uint8_t* from, int lane, ScaleSelector selector) {
  return scale_register<Op>(from + ScaleFragments::a_row(lane) * Op::kScaleBlocks, 1,
                            ScaleFragments::has_a(lane, selector.a_thread), selector.byte);
}
template <class Op>
__device__ std::uint32_t b_scale_register(const std::uint8_t* from, int lane, ScaleSelector selector) {
  return scale_register<Op>(from + ScaleFragments::b_column(lane), kColumns,
                            ScaleFragments::has_b(lane, selector.b_thread), selector.byte);
}

}  // namespace tcnum
