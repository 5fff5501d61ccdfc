// The table of instructions.
//
// Sources: PTX ISA 9.0, "mma" (table of shapes and types; its target notes give the first architecture of each),
// "wmma.mma" and "wgmma.mma_async". Each mma and wmma row was assembled by ptxas 13.0 for the architectures listed, and
// refused for the one before (of integers: in one pair of operand formats; sm_70, which it no longer knows, is PTX's
// word). Not legal, so not here: an accumulator format that differs between C and D, but for wmma's and Volta's fp16,
// and integer operands of a wmma that differ in sign. The sparse rows are those of "mma.sp" that ptxas 13.0 assembles
// for sm_90a: other K of these formats, and fp8 with fp16 results (which sm_120a has), it refuses. It takes each for
// all architectures listed, in either spelling, and refuses it for the one before. Those of sm_120 and sm_121 alone it
// takes for sm_120a and sm_121a, and of mma.sp in one spelling.
//
// The kinds of tcgen05.mma are those that it takes for sm_100a and sm_103a (which has no i8). Shapes and formats of
// these are not in the instruction: they are the PTX ISA's, "Matrix Shape" and "Instruction descriptor".
//
// AMD's: LLVM, llvm/lib/Target/AMDGPU/VOP3PInstructions.td. gfx950 has the fp8 instructions of gfx942 too, by the same
// names and with OCP's formats in place of fnuz: a name does not tell them apart, so that they are not here. Whether
// operands of "iu8" and "iu4" have signs, a modifier says: here they have.
#include "tcnum/instruction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>

#include "sparsity.hpp"
#include "tcnum/error.hpp"

namespace tcnum {

namespace {

using enum FormatId;
using enum ArchId;

/// An architecture and all NVIDIA ones after it.
constexpr ArchSet from(ArchId first) {
  ArchSet set;
  for (const Arch& a : kArchs) {
    if (a.id >= first && a.name.starts_with("sm_")) set.bits |= archs({a.id}).bits;
  }
  return set;
}

constexpr auto kMma = InstructionKind::mma;
constexpr auto kWmma = InstructionKind::wmma;
constexpr auto kWgmma = InstructionKind::wgmma;
constexpr auto kTcgen05 = InstructionKind::tcgen05;
constexpr auto kMfma = InstructionKind::mfma;
constexpr auto kAmdWmma = InstructionKind::amd_wmma;
constexpr bool is_amd(InstructionKind kind) { return kind == kMfma || kind == kAmdWmma; }

/// The formats of PTX's kinds f8f6f4 and mxf8f6f4, each of which goes with each.
constexpr std::array kF8f6f4 = {fp8e4m3, fp8e5m2, fp6e3m2, fp6e2m3, fp4e2m1};
constexpr bool is_fp8(FormatId id) { return id == fp8e4m3 || id == fp8e5m2; }

// What rows have one or several of.
constexpr std::array kFp16 = {fp16}, kBf16 = {bf16}, kTf32 = {tf32}, kFp32 = {fp32}, kFp64 = {fp64};
constexpr std::array kFp8 = {fp8e4m3, fp8e5m2}, kFnuz = {fp8e4m3fnuz, fp8e5m2fnuz};
constexpr std::array kBytes = {s8, u8}, kNibbles = {s4, u4};
constexpr std::array kS8 = {s8}, kU8 = {u8}, kS4 = {s4}, kU4 = {u4}, kBit = {b1};
constexpr std::array kPlain = {Modifier::none}, kAnd = {Modifier::and_popc}, kXor = {Modifier::xor_popc};
constexpr std::array kSaturating = {Modifier::none, Modifier::satfinite};
constexpr std::array kRoundings = {Modifier::none, Modifier::toward_zero, Modifier::down, Modifier::up};
constexpr std::array kDense = {Sparsity::none}, kAscending = {Sparsity::ascending};
constexpr std::array kSparse = {Sparsity::any_order, Sparsity::ascending};

/// Instructions that differ in the formats of A and B and in modifiers alone: all pairs of the formats, each with all of
/// the modifiers.
struct Rows {
  InstructionKind kind;
  int m, n, k;
  FormatId d;
  std::span<const FormatId> operands;
  FormatId c;
  ArchSet archs;
  std::span<const Modifier> modifiers = kPlain;
  std::span<const Sparsity> sparsities = kDense;
  int blocks = 1;
};
/// Calls visit(row) for each, of one kind of sparsity.
template <class Visit>
constexpr void each_of(const Rows& rows, Sparsity sparsity, const Visit& visit) {
  for (const FormatId a : rows.operands) {
    for (const FormatId b : rows.operands) {
      for (const Modifier modifier : rows.modifiers) {
        visit(Instruction{rows.kind, rows.m, rows.n, rows.k, rows.d, a, b, rows.c, rows.archs, modifier, sparsity, {},
                          rows.blocks});
      }
    }
  }
}
template <class Visit>
constexpr void each_of(std::span<const Rows> table, const Visit& visit) {
  for (const Rows& rows : table) {
    for (const Sparsity sparsity : rows.sparsities) each_of(rows, sparsity, visit);
  }
}

constexpr std::array kMmaRows = std::to_array<Rows>({
    // kind  m   n  k   d     a, b   c
    // PTX accepts these everywhere, but only Volta has them as instructions of their own.
    {kMma, 8, 8, 4, fp32, kFp16, fp32, from(sm_70)},
    {kMma, 8, 8, 4, fp32, kFp16, fp16, from(sm_70)},
    {kMma, 8, 8, 4, fp16, kFp16, fp16, from(sm_70)},

    {kMma, 16, 8, 8, fp32, kFp16, fp32, from(sm_75)},
    {kMma, 16, 8, 16, fp32, kFp16, fp32, from(sm_80)},
    {kMma, 16, 8, 8, fp16, kFp16, fp16, from(sm_75)},
    {kMma, 16, 8, 16, fp16, kFp16, fp16, from(sm_80)},

    {kMma, 16, 8, 8, fp32, kBf16, fp32, from(sm_80)},
    {kMma, 16, 8, 16, fp32, kBf16, fp32, from(sm_80)},

    {kMma, 16, 8, 4, fp32, kTf32, fp32, from(sm_80)},
    {kMma, 16, 8, 8, fp32, kTf32, fp32, from(sm_80)},

    {kMma, 16, 8, 16, fp32, kFp8, fp32, from(sm_89)},
    {kMma, 16, 8, 32, fp32, kFp8, fp32, from(sm_89)},
    {kMma, 16, 8, 16, fp16, kFp8, fp16, from(sm_89)},
    {kMma, 16, 8, 32, fp16, kFp8, fp16, from(sm_89)},

    {kMma, 8, 8, 4, fp64, kFp64, fp64, from(sm_80), kRoundings},
    {kMma, 16, 8, 4, fp64, kFp64, fp64, from(sm_90), kRoundings},
    {kMma, 16, 8, 8, fp64, kFp64, fp64, from(sm_90), kRoundings},
    {kMma, 16, 8, 16, fp64, kFp64, fp64, from(sm_90), kRoundings},
});
/// mma.sp and mma.sp::ordered_metadata, each with all of these.
constexpr std::array kFloatSparseRows = std::to_array<Rows>({
    {kMma, 16, 8, 16, fp32, kFp16, fp32, from(sm_80)},
    {kMma, 16, 8, 32, fp32, kFp16, fp32, from(sm_80)},
    {kMma, 16, 8, 16, fp16, kFp16, fp16, from(sm_80)},
    {kMma, 16, 8, 32, fp16, kFp16, fp16, from(sm_80)},

    {kMma, 16, 8, 16, fp32, kBf16, fp32, from(sm_80)},
    {kMma, 16, 8, 32, fp32, kBf16, fp32, from(sm_80)},

    {kMma, 16, 8, 8, fp32, kTf32, fp32, from(sm_80)},
    {kMma, 16, 8, 16, fp32, kTf32, fp32, from(sm_80)},

    {kMma, 16, 8, 64, fp32, kFp8, fp32, from(sm_89)},
});
constexpr std::array kIntegerMmaRows = std::to_array<Rows>({
    {kMma, 8, 8, 16, s32, kBytes, s32, from(sm_75), kSaturating},
    {kMma, 16, 8, 16, s32, kBytes, s32, from(sm_80), kSaturating},
    {kMma, 16, 8, 32, s32, kBytes, s32, from(sm_80), kSaturating},

    {kMma, 8, 8, 32, s32, kNibbles, s32, from(sm_75), kSaturating},
    {kMma, 16, 8, 32, s32, kNibbles, s32, from(sm_80), kSaturating},
    {kMma, 16, 8, 64, s32, kNibbles, s32, from(sm_80), kSaturating},

    {kMma, 8, 8, 128, s32, kBit, s32, from(sm_80), kAnd},
    {kMma, 8, 8, 128, s32, kBit, s32, from(sm_75), kXor},
    {kMma, 16, 8, 128, s32, kBit, s32, from(sm_80), kAnd},
    {kMma, 16, 8, 128, s32, kBit, s32, from(sm_80), kXor},
    {kMma, 16, 8, 256, s32, kBit, s32, from(sm_80), kAnd},
    {kMma, 16, 8, 256, s32, kBit, s32, from(sm_80), kXor},

    {kMma, 16, 8, 32, s32, kBytes, s32, from(sm_80), kSaturating, kSparse},
    {kMma, 16, 8, 64, s32, kBytes, s32, from(sm_80), kSaturating, kSparse},
    {kMma, 16, 8, 64, s32, kNibbles, s32, from(sm_80), kSaturating, kSparse},
    {kMma, 16, 8, 128, s32, kNibbles, s32, from(sm_80), kSaturating, kSparse},
});
template <class Visit>
constexpr void each_mma(const Visit& visit) {
  each_of(kMmaRows, visit);
  for (const Sparsity sparsity : kSparse) {
    for (const Rows& rows : kFloatSparseRows) each_of(rows, sparsity, visit);
  }
  each_of(kIntegerMmaRows, visit);
}

/// wmma: those of 16- and 8-bit operands, which have one format, come in three shapes.
constexpr std::array kWmmaShapes = {std::array{16, 16}, std::array{32, 8}, std::array{8, 32}};
constexpr std::array kShapedWmmaRows = std::to_array<Rows>({
    {kWmma, 16, 16, 16, fp32, kFp16, fp32, from(sm_70)},
    {kWmma, 16, 16, 16, fp32, kFp16, fp16, from(sm_70)},
    {kWmma, 16, 16, 16, fp16, kFp16, fp32, from(sm_70)},
    {kWmma, 16, 16, 16, fp16, kFp16, fp16, from(sm_70)},
    {kWmma, 16, 16, 16, fp32, kBf16, fp32, from(sm_80)},
    {kWmma, 16, 16, 16, s32, kS8, s32, from(sm_75), kSaturating},
    {kWmma, 16, 16, 16, s32, kU8, s32, from(sm_75), kSaturating},
});
constexpr std::array kWmmaRows = std::to_array<Rows>({
    {kWmma, 16, 16, 8, fp32, kTf32, fp32, from(sm_80)},
    {kWmma, 8, 8, 32, s32, kS4, s32, from(sm_75), kSaturating},
    {kWmma, 8, 8, 32, s32, kU4, s32, from(sm_75), kSaturating},
    {kWmma, 8, 8, 128, s32, kBit, s32, from(sm_80), kAnd},
    {kWmma, 8, 8, 128, s32, kBit, s32, from(sm_75), kXor},
    {kWmma, 8, 8, 4, fp64, kFp64, fp64, from(sm_80), kRoundings},
});
template <class Visit>
constexpr void each_wmma(const Visit& visit) {
  each_of(kShapedWmmaRows, [&](Instruction row) {
    for (const auto& [m, n] : kWmmaShapes) {
      row.m = m;
      row.n = n;
      visit(row);
    }
  });
  each_of(kWmmaRows, visit);
}

constexpr int kWgmmaSmallestN = 8;
constexpr int kWgmmaLargestN = 256;
/// The widths that wgmma has.
constexpr bool wgmma_has_width(bool floating, int n) {
  return n % 8 == 0 && kWgmmaSmallestN <= n && n <= kWgmmaLargestN && (floating || n <= 32 || n % 16 == 0);
}
/// wgmma at its smallest N; C and D are the same registers. Only sm_90a: later architectures have tcgen05 instead.
/// wgmma.sp has all of these but bits too, with twice the K. Bits have no exclusive or.
constexpr std::array kWgmmaRows = std::to_array<Rows>({
    {kWgmma, 64, 8, 16, fp32, kFp16, fp32, archs({sm_90})},
    {kWgmma, 64, 8, 16, fp16, kFp16, fp16, archs({sm_90})},
    {kWgmma, 64, 8, 16, fp32, kBf16, fp32, archs({sm_90})},
    {kWgmma, 64, 8, 8, fp32, kTf32, fp32, archs({sm_90})},
    {kWgmma, 64, 8, 32, fp32, kFp8, fp32, archs({sm_90})},
    {kWgmma, 64, 8, 32, fp16, kFp8, fp16, archs({sm_90})},
    {kWgmma, 64, 8, 32, s32, kBytes, s32, archs({sm_90}), kSaturating},
    {kWgmma, 64, 8, 256, s32, kBit, s32, archs({sm_90}), kAnd},
});
/// Calls visit(row) for each wgmma: all widths of each of its kinds.
template <class Visit>
constexpr void each_wgmma(const Visit& visit) {
  const auto widths = [&](Instruction row) {
    if (row.sparse()) row.k *= 2;
    for (row.n = kWgmmaSmallestN; row.n <= kWgmmaLargestN; row.n += kWgmmaSmallestN) {
      if (wgmma_has_width(format(row.a).floating, row.n)) visit(row);
    }
  };
  for (const Sparsity sparsity : {Sparsity::none, Sparsity::ascending}) {
    for (const Rows& rows : kWgmmaRows) {
      if (sparsity == Sparsity::none || rows.operands.front() != b1) each_of(rows, sparsity, widths);
    }
  }
}

// Block scales: a kind has one for every so many elements along k, of a sparse A for twice as many.
constexpr Scaling kMxf8f6f4{ScaleKind::mxf8f6f4, ue8m0, 32}, kMxf4{ScaleKind::mxf4, ue8m0, 32};
constexpr Scaling kMxf4nvf4Of32{ScaleKind::mxf4nvf4, ue8m0, 32}, kMxf4nvf4Of16{ScaleKind::mxf4nvf4, ue8m0, 16};
constexpr Scaling kNvf4{ScaleKind::mxf4nvf4, ue4m3, 16};

constexpr Instruction sparse_form(Instruction dense) {
  dense.k *= 2;
  dense.sparsity = Sparsity::ascending;
  dense.scales.block_k *= 2;
  return dense;
}
/// A dense instruction, and its sparse form.
template <class Visit>
constexpr void both_forms(const Instruction& dense, const Visit& visit) {
  visit(dense);
  visit(sparse_form(dense));
}
/// Calls visit(row) for each pair of formats of a kind of f8f6f4.
template <class Visit>
constexpr void each_f8f6f4(Instruction row, const Visit& visit) {
  for (const FormatId a : kF8f6f4) {
    for (const FormatId b : kF8f6f4) {
      row.a = a;
      row.b = b;
      visit(row);
    }
  }
}

/// What mma has on sm_120 and sm_121 alone: fp6 and fp4, which is PTX's .kind::f8f6f4 (two fp8 operands need no kind),
/// and block scales.
template <class Visit>
constexpr void each_mma_of_sm_120(const Visit& visit) {
  constexpr ArchSet kOnly = archs({sm_120, sm_121});
  for (const FormatId d : {fp32, fp16}) {
    each_f8f6f4({kMma, 16, 8, 32, d, fp8e4m3, fp8e4m3, d, kOnly}, [&](const Instruction& row) {
      const bool known = is_fp8(row.a) && is_fp8(row.b);  // from sm_89 on
      if (!known) visit(row);
      if (!known || d == fp16) visit(sparse_form(row));
    });
  }
  Instruction scaled{kMma, 16, 8, 32, fp32, fp8e4m3, fp8e4m3, fp32, kOnly};
  scaled.scales = kMxf8f6f4;
  each_f8f6f4(scaled, [&](const Instruction& row) { both_forms(row, visit); });
  for (const Scaling& scales : {kMxf4, kMxf4nvf4Of32, kNvf4}) {
    Instruction fp4{kMma, 16, 8, 64, fp32, fp4e2m1, fp4e2m1, fp32, kOnly};
    fp4.scales = scales;
    both_forms(fp4, visit);
  }
}

constexpr ArchSet kTcgen05Archs = archs({sm_100, sm_103});
/// tcgen05.mma at its smallest M and N: C and D are the same tensor memory.
constexpr std::array kTcgen05Rows = std::to_array<Rows>({
    {kTcgen05, 64, 8, 16, fp32, kFp16, fp32, kTcgen05Archs},
    {kTcgen05, 64, 8, 16, fp16, kFp16, fp16, kTcgen05Archs},
    {kTcgen05, 64, 8, 16, fp32, kBf16, fp32, kTcgen05Archs},
    {kTcgen05, 64, 8, 8, fp32, kTf32, fp32, kTcgen05Archs},
    {kTcgen05, 64, 8, 32, fp32, kF8f6f4, fp32, kTcgen05Archs},
    {kTcgen05, 64, 8, 32, fp16, kF8f6f4, fp16, kTcgen05Archs},
    {kTcgen05, 64, 8, 32, s32, kBytes, s32, archs({sm_100}), kSaturating},
});
/// Those with block scales and operands of fp4. Only sm_103 has K = 96, which has no sparse form, and N in steps
/// of 16 (CUTLASS, SM103_MXF4_ULTRA_SS_VS in cute/arch/mma_sm100_umma.hpp).
struct ScaledFp4 {
  int k;
  Scaling scales;
  ArchSet archs;
};
constexpr std::array kScaledFp4 = std::to_array<ScaledFp4>({
    {64, kMxf4, kTcgen05Archs},
    {64, kMxf4nvf4Of32, kTcgen05Archs},
    {64, kMxf4nvf4Of16, kTcgen05Archs},
    {64, kNvf4, kTcgen05Archs},
    {96, kMxf4, archs({sm_103})},
    {96, kMxf4nvf4Of32, archs({sm_103})},
    {96, kMxf4nvf4Of16, archs({sm_103})},
    {96, kNvf4, archs({sm_103})},
});
/// The M and N that it can have, by one SM or two.
constexpr bool tcgen05_has_shape(const Instruction& row, int m, int n) {
  if (row.weight_stationary)
    return (m == 32 || m == 64 || m == 128) && (n == 64 || n == 128 || (n == 256 && !row.sparse()));
  if (n < 8 || n > 256) return false;
  const bool wide = n % 16 == 0;
  if (row.scaled()) return m == 128 ? wide || (n % 8 == 0 && row.k != 96) : m == 256 && wide;
  if (m == 256) return format(row.a).floating ? wide : n % 32 == 0;
  return (m == 64 || m == 128) && n % 8 == 0 && (format(row.a).floating || n <= 32 || wide);
}
template <class Visit>
constexpr void each_tcgen05(const Visit& visit) {
  const auto plain = [&](const Instruction& row) {
    both_forms(row, visit);
    Instruction stationary = row;
    stationary.weight_stationary = true;
    stationary.m = 32;
    stationary.n = 64;
    both_forms(stationary, visit);
  };
  each_of(kTcgen05Rows, plain);
  Instruction scaled{kTcgen05, 128, 8, 32, fp32, fp8e4m3, fp8e4m3, fp32, kTcgen05Archs};
  scaled.scales = kMxf8f6f4;
  each_f8f6f4(scaled, [&](const Instruction& row) { both_forms(row, visit); });
  for (const ScaledFp4& each : kScaledFp4) {
    Instruction row{kTcgen05, 128, each.k == 96 ? 16 : 8, each.k, fp32, fp4e2m1, fp4e2m1, fp32, each.archs};
    row.scales = each.scales;
    if (each.k == 96)
      visit(row);
    else
      both_forms(row, visit);
  }
}

constexpr ArchSet kCdna = archs({gfx908, gfx90a, gfx942, gfx950}), kCdna12 = archs({gfx908, gfx90a});
constexpr ArchSet kFromCdna2 = archs({gfx90a, gfx942, gfx950}), kFromCdna3 = archs({gfx942, gfx950});
constexpr ArchSet kCdna3 = archs({gfx942}), kCdna4 = archs({gfx950});
constexpr ArchSet kRdna = archs({gfx1100, gfx1151, gfx1200}), kRdna4 = archs({gfx1200});
constexpr auto kSmfmac = kAscending, kSwmmac = kAscending;
/// v_mfma of m × m × k, some of so many at once.
constexpr Rows mfma(int m, int k, int blocks, FormatId d, std::span<const FormatId> operands, ArchSet archs,
                    std::span<const Sparsity> sparsities = kDense) {
  return {kMfma, m, m, k, d, operands, d, archs, kPlain, sparsities, blocks};
}
/// v_wmma of 16 × 16 × k.
constexpr Rows amd_wmma(int k, FormatId d, std::span<const FormatId> operands, ArchSet archs,
                        std::span<const Sparsity> sparsities = kDense) {
  return {kAmdWmma, 16, 16, k, d, operands, d, archs, kPlain, sparsities};
}
constexpr std::array kMfmaRows = {
    mfma(32, 1, 2, fp32, kFp32, kCdna),
    mfma(16, 1, 4, fp32, kFp32, kCdna),
    mfma(4, 1, 16, fp32, kFp32, kCdna),
    mfma(32, 2, 1, fp32, kFp32, kCdna),
    mfma(16, 4, 1, fp32, kFp32, kCdna),
    mfma(16, 8, 1, fp32, kTf32, kCdna3),
    mfma(32, 4, 1, fp32, kTf32, kCdna3),
    mfma(16, 4, 1, fp64, kFp64, kFromCdna2),
    mfma(4, 4, 4, fp64, kFp64, kFromCdna2),
    mfma(32, 4, 2, fp32, kFp16, kCdna),
    mfma(16, 4, 4, fp32, kFp16, kCdna),
    mfma(4, 4, 16, fp32, kFp16, kCdna),
    mfma(32, 8, 1, fp32, kFp16, kCdna),
    mfma(16, 16, 1, fp32, kFp16, kCdna),
    mfma(32, 16, 1, fp32, kFp16, kCdna4),
    mfma(16, 32, 1, fp32, kFp16, kCdna4),
    mfma(32, 2, 2, fp32, kBf16, kCdna12),
    mfma(16, 2, 4, fp32, kBf16, kCdna12),
    mfma(4, 2, 16, fp32, kBf16, kCdna12),
    mfma(32, 4, 1, fp32, kBf16, kCdna12),
    mfma(16, 8, 1, fp32, kBf16, kCdna12),
    mfma(32, 4, 2, fp32, kBf16, kFromCdna2),
    mfma(16, 4, 4, fp32, kBf16, kFromCdna2),
    mfma(4, 4, 16, fp32, kBf16, kFromCdna2),
    mfma(32, 8, 1, fp32, kBf16, kFromCdna2),
    mfma(16, 16, 1, fp32, kBf16, kFromCdna2),
    mfma(32, 16, 1, fp32, kBf16, kCdna4),
    mfma(16, 32, 1, fp32, kBf16, kCdna4),
    mfma(32, 4, 2, s32, kS8, kCdna),
    mfma(16, 4, 4, s32, kS8, kCdna),
    mfma(4, 4, 16, s32, kS8, kCdna),
    mfma(32, 8, 1, s32, kS8, kCdna12),
    mfma(16, 16, 1, s32, kS8, kCdna12),
    mfma(32, 16, 1, s32, kS8, kFromCdna3),
    mfma(16, 32, 1, s32, kS8, kFromCdna3),
    mfma(32, 32, 1, s32, kS8, kCdna4),
    mfma(16, 64, 1, s32, kS8, kCdna4),
    mfma(32, 16, 1, fp32, kFnuz, kCdna3),
    mfma(16, 32, 1, fp32, kFnuz, kCdna3),

    mfma(32, 16, 1, fp32, kFp16, kFromCdna3, kSmfmac),
    mfma(16, 32, 1, fp32, kFp16, kFromCdna3, kSmfmac),
    mfma(32, 16, 1, fp32, kBf16, kFromCdna3, kSmfmac),
    mfma(16, 32, 1, fp32, kBf16, kFromCdna3, kSmfmac),
    mfma(32, 32, 1, s32, kS8, kFromCdna3, kSmfmac),
    mfma(16, 64, 1, s32, kS8, kFromCdna3, kSmfmac),
    mfma(32, 32, 1, fp32, kFnuz, kCdna3, kSmfmac),
    mfma(16, 64, 1, fp32, kFnuz, kCdna3, kSmfmac),
    mfma(32, 32, 1, fp32, kFp16, kCdna4, kSmfmac),
    mfma(16, 64, 1, fp32, kFp16, kCdna4, kSmfmac),
    mfma(32, 32, 1, fp32, kBf16, kCdna4, kSmfmac),
    mfma(16, 64, 1, fp32, kBf16, kCdna4, kSmfmac),
    mfma(32, 64, 1, s32, kS8, kCdna4, kSmfmac),
    mfma(16, 128, 1, s32, kS8, kCdna4, kSmfmac),
    mfma(32, 64, 1, fp32, kFp8, kCdna4, kSmfmac),
    mfma(16, 128, 1, fp32, kFp8, kCdna4, kSmfmac),
};
constexpr std::array kAmdWmmaRows = {
    amd_wmma(16, fp32, kFp16, kRdna),
    amd_wmma(16, fp32, kBf16, kRdna),
    amd_wmma(16, fp16, kFp16, kRdna),
    amd_wmma(16, bf16, kBf16, kRdna),
    amd_wmma(16, s32, kS8, kRdna),
    amd_wmma(16, s32, kS4, kRdna),
    amd_wmma(32, s32, kS4, kRdna4),
    amd_wmma(16, fp32, kFp8, kRdna4),

    amd_wmma(32, fp32, kFp16, kRdna4, kSwmmac),
    amd_wmma(32, fp32, kBf16, kRdna4, kSwmmac),
    amd_wmma(32, fp16, kFp16, kRdna4, kSwmmac),
    amd_wmma(32, bf16, kBf16, kRdna4, kSwmmac),
    amd_wmma(32, s32, kS8, kRdna4, kSwmmac),
    amd_wmma(32, s32, kS4, kRdna4, kSwmmac),
    amd_wmma(64, s32, kS4, kRdna4, kSwmmac),
    amd_wmma(32, fp32, kFp8, kRdna4, kSwmmac),
};

template <class Visit>
constexpr void each_of_amd(const Visit& visit) {
  each_of(kMfmaRows, visit);
  // gfx950's of any formats of at most 8 bits, with block scales or without.
  for (const bool scaled : {false, true}) {
    for (const auto& [m, k] : {std::array{16, 128}, std::array{32, 64}}) {
      Instruction row{kMfma, m, m, k, fp32, fp8e4m3, fp8e4m3, fp32, kCdna4};
      if (scaled) row.scales = {ScaleKind::amd, ue8m0, 32};
      each_f8f6f4(row, visit);
    }
  }
  each_of(kAmdWmmaRows, visit);
}

/// Of what `each` visits.
template <class Each>
constexpr std::size_t count_rows(const Each& each) {
  std::size_t count = 0;
  each([&](const Instruction&) { ++count; });
  return count;
}
template <class Visit>
constexpr void each_instruction(const Visit& visit) {
  each_mma(visit);
  each_wmma(visit);
  each_wgmma(visit);
  each_mma_of_sm_120(visit);
  each_tcgen05(visit);
  each_of_amd(visit);
}
constexpr std::size_t kCount = count_rows([](const auto& visit) { each_instruction(visit); });
constexpr auto kInstructions = [] {
  std::array<Instruction, kCount> rows{};
  auto next = rows.begin();
  each_instruction([&](const Instruction& row) { *next++ = row; });
  return rows;
}();

// What the table must satisfy.

constexpr bool operands_fill_registers(const Instruction& row) {
  const int accumulator_bits = row.m * row.n * format(row.d).storage_bits;
  if (row.kind == kTcgen05) {
    constexpr int kOperandRowBits = 256;  // rows of A, whatever the format
    return row.c == row.d && row.products() * element_bits(row, row.a) == (row.k == 96 ? 384 : kOperandRowBits);
  }
  if (is_amd(row.kind)) {
    constexpr int kLeastLanes = 32;  // that share a product's D
    return row.c == row.d && row.blocks * accumulator_bits % (kLeastLanes * 32) == 0;
  }
  if (element_bits(row, row.a) != element_bits(row, row.b)) return false;
  if (row.kind == kWgmma) {
    constexpr int kThreads = 128, kOperandRowBits = 256;  // rows of A, whatever the format
    return row.c == row.d && row.m == 64 && row.products() * format(row.a).storage_bits == kOperandRowBits &&
           accumulator_bits % (kThreads * 32) == 0;
  }
  const int lane_register_bits = 32 * std::max(32, format(row.a).storage_bits);
  return row.m * row.products() * element_bits(row, row.a) % lane_register_bits == 0 &&
         row.k * row.n * element_bits(row, row.b) % lane_register_bits == 0 && accumulator_bits % (32 * 32) == 0 &&
         row.m * row.n * format(row.c).storage_bits % (32 * 32) == 0;
}
static_assert(std::ranges::all_of(kInstructions, [](const Instruction& row) {
  return row.is_volta() || operands_fill_registers(row);
}));
/// Only fp16 products may be added to one format and come out in another.
static_assert(std::ranges::all_of(kInstructions, [](const Instruction& row) {
  return row.c == row.d || (row.a == fp16 && (row.kind == kWmma || row.is_volta()));
}));

/// Blocks of a scale are whole, and there are scales for all.
static_assert(std::ranges::all_of(kInstructions, [](const Instruction& row) {
  return !row.scaled() || (row.k % row.scales.block_k == 0 && row.products() % row.products_per_scale() == 0);
}));
/// A tcgen05.mma's row is at a shape that it has.
static_assert(std::ranges::all_of(kInstructions, [](const Instruction& row) {
  return row.kind != kTcgen05 || tcgen05_has_shape(row, row.m, row.n);
}));

/// "m16n8k16".
std::string shape(const Instruction& row) {
  if (row.kind == InstructionKind::dot) return fmt::format("k{}", row.k);
  return fmt::format("m{}n{}k{}", row.m, row.n, row.k);
}

/// "f32.f16.f16.f32"; wgmma and tcgen05.mma have no C of their own. The scales' comes last.
std::string types(const Instruction& row) {
  std::string text = fmt::format("{}.{}.{}", format(row.d).ptx, format(row.a).ptx, format(row.b).ptx);
  if (row.kind != kWgmma && row.kind != kTcgen05) text += fmt::format(".{}", format(row.c).ptx);
  if (row.scaled()) text += fmt::format(".{}", format(row.scales.format).ptx);
  return text;
}
/// As PTX has them in a wmma, which does not name the operands of fp16.
std::string wmma_types(const Instruction& row) {
  return row.a == fp16 ? fmt::format("{}.{}", format(row.d).ptx, format(row.c).ptx) : types(row);
}

constexpr std::string_view text(InstructionKind kind) {
  switch (kind) {
    case kMma:
      return "mma";
    case kWmma:
      return "wmma";
    case kWgmma:
      return "wgmma";
    case kTcgen05:
      return "tcgen05.mma";
    case kMfma:
      return "v_mfma";
    case kAmdWmma:
      return "v_wmma";
    case InstructionKind::dot:
      return "dot";
  }
  return {};
}

constexpr std::string_view text(ScaleKind kind) {
  switch (kind) {
    case ScaleKind::none:
      return "";
    case ScaleKind::mxf8f6f4:
      return "mxf8f6f4";
    case ScaleKind::mxf4:
      return "mxf4";
    case ScaleKind::mxf4nvf4:
      return "mxf4nvf4";
    case ScaleKind::amd:
      return "scale";
    case ScaleKind::dot:
      return "";
  }
  return {};
}

/// How many scales there are, which PTX says as .scale_vec::4X; of K = 96, how many elements have one, as it says
/// .block16.
std::string scale_vector(const Instruction& row, char times) {
  if (row.k == 96) return fmt::format("block{}", row.scales.block_k);
  return fmt::format("{}{}", row.scale_blocks(), times);
}
/// ".mxf4nvf4.4x", in names; of a dot product ".block16".
std::string scaling(const Instruction& row) {
  if (row.scales.kind == ScaleKind::dot) return fmt::format(".block{}", row.scales.block_k);
  return row.scaled() ? fmt::format(".{}.{}", text(row.scales.kind), scale_vector(row, 'x')) : "";
}
/// ".kind::mxf4nvf4.block_scale.scale_vec::4X", in PTX. Of the kinds without scales, only that of fp6 and fp4 needs
/// to be said in an mma.
std::string ptx_kind(const Instruction& row, bool says_kind) {
  if (row.scaled()) {
    return fmt::format(".kind::{}.block_scale.{}{}", text(row.scales.kind),
                       row.k == 96 ? "" : "scale_vec::", scale_vector(row, 'X'));
  }
  if (!says_kind) return "";
  const Format& a = format(row.a);
  return fmt::format(".kind::{}", !a.floating            ? "i8"
                                  : row.a == tf32        ? "tf32"
                                  : a.storage_bits == 16 ? "f16"
                                                         : "f8f6f4");
}
bool has_narrow_operand(const Instruction& row) {
  const auto narrow = [](FormatId id) { return format(id).floating && format(id).storage_bits < 8; };
  return narrow(row.a) || narrow(row.b);
}

// AMD's names.

std::string_view amd_format(const Instruction& row, FormatId id) {
  switch (id) {
    case tf32:
      return "xf32";
    case s32:
      return "i32";
    case s8:
      return row.kind == kAmdWmma ? "iu8" : "i8";
    case s4:
      return "iu4";
    case fp8e4m3:
      return "fp8";
    case fp8e5m2:
      return "bf8";
    case fp6e3m2:
      return "bf6";
    case fp6e2m3:
      return "fp6";
    case fp4e2m1:
      return "fp4";
    default:
      return format(id).ptx;
  }
}

/// gfx950's, whose formats are not in LLVM's name: they come after it.
bool is_amd_f8f6f4(const Instruction& row) { return row.kind == kMfma && !row.sparse() && row.m * row.k == 2048; }

/// "v_mfma_f32_32x32x4_2b_f16", or LLVM's spelling of older architectures, "v_mfma_f32_32x32x4f16".
std::string amd_name(const Instruction& row, bool older) {
  const std::string_view mnemonic = row.kind == kMfma ? (row.sparse()   ? "v_smfmac"
                                                         : row.scaled() ? "v_mfma_scale"
                                                                        : "v_mfma")
                                                      : (row.sparse() ? "v_swmmac" : "v_wmma");
  const std::string_view a = amd_format(row, row.a), b = amd_format(row, row.b);
  const std::string start = fmt::format("{}_{}_{}x{}x{}", mnemonic, amd_format(row, row.d), row.m, row.n, row.k);
  if (is_amd_f8f6f4(row)) return fmt::format("{}_f8f6f4.{}.{}", start, a, b);
  if (older) return start + std::string(a);
  const std::string blocks = row.blocks > 1 ? fmt::format("_{}b", row.blocks) : "";
  const std::string operands =
      format(row.a).floating && format(row.a).storage_bits == 8 ? fmt::format("{}_{}", a, b) : std::string(a);
  return fmt::format("{}{}_{}", start, blocks, operands);
}
/// Whether LLVM's name of it ends in "_1k", but for gfx942: bf16 with four elements a lane, where the first ones had
/// two.
bool is_1k(const Instruction& row) {
  constexpr int kLanes = 64;
  return row.kind == kMfma && row.a == bf16 && !row.sparse() && row.m * row.k * row.blocks == 4 * kLanes;
}
/// How LLVM writes it for the first architecture that has it.
std::string amd_spelling(const Instruction& row) {
  const bool older = row.kind == kMfma && (row.archs.contains(gfx908) || row.archs.contains(gfx90a));
  return amd_name(row, older) + (older && is_1k(row) ? "_1k" : "");
}

/// Other spellings that are taken.
std::vector<std::string> other_spellings(const Instruction& row) {
  std::vector<std::string> others;
  if (row.kind == kMfma && !row.sparse() && !is_amd_f8f6f4(row)) {
    for (const bool older : {false, true}) {
      if (is_1k(row))
        others.push_back(amd_name(row, older) + "_1k");
      else if (!older || format(row.a).storage_bits != 8 || !format(row.a).floating)
        others.push_back(amd_name(row, older));
    }
  }
  const bool of_kind = row.scaled() || (format(row.a).floating && format(row.a).storage_bits <= 8);
  if (row.kind == kMma && of_kind) {
    const std::string kind = ptx_kind(row, true),
                      start = fmt::format("mma{}.sync.aligned", row.sparse() ? ".sp::ordered_metadata" : "");
    others.push_back(fmt::format("{}.{}.row.col{}.{}", start, shape(row), kind, types(row)));
    others.push_back(fmt::format("{}{}.{}.row.col.{}", start, kind, shape(row), types(row)));  // CUTLASS's order
    if (row.scales.kind == ScaleKind::mxf8f6f4 ||
        row.scales.kind == ScaleKind::mxf4) {  // which have one .scale_vec only
      others.push_back(
          fmt::format("{}.{}.row.col.kind::{}.block_scale.{}", start, shape(row), text(row.scales.kind), types(row)));
    }
  }
  return others;
}

/// How PTX spells a modifier, and where in an mma.
struct ModifierText {
  std::string_view before_types, after_types;
};
constexpr ModifierText text(Modifier modifier) {
  switch (modifier) {
    case Modifier::none:
      return {"", ""};
    case Modifier::satfinite:
      return {".satfinite", ""};
    case Modifier::and_popc:
      return {"", ".and.popc"};
    case Modifier::xor_popc:
      return {"", ".xor.popc"};
    case Modifier::toward_zero:
      return {".rz", ""};
    case Modifier::down:
      return {".rm", ""};
    case Modifier::up:
      return {".rp", ""};
  }
  return {};
}

/// How PTX spells its sparsity after the instruction's own name. wgmma knows one order only, and does not say so.
constexpr std::string_view sparsity_text(const Instruction& row) {
  if (!row.sparse()) return "";
  return row.kind == kMma && row.sparsity == Sparsity::ascending ? ".sp::ordered_metadata" : ".sp";
}

}  // namespace

std::string Instruction::name() const {
  if (is_amd(kind)) return amd_name(*this, false);
  const auto [before, after] = text(modifier);
  return fmt::format("{}{}{}.{}{}.{}{}{}", text(kind), weight_stationary ? ".ws" : "", sparsity_text(*this),
                     shape(*this), scaling(*this), types(*this), before, after);
}

std::string Instruction::ptx() const {
  const auto [before, after] = text(modifier);
  switch (kind) {
    case kMma:
      return fmt::format("mma{}.sync.aligned.{}.row.col{}{}.{}{}", sparsity_text(*this), shape(*this),
                         ptx_kind(*this, has_narrow_operand(*this)), before, types(*this), after);
    case kWmma:
      return d == fp64 ? fmt::format("wmma.mma.sync.aligned.row.col.{}{}.{}", shape(*this), before, types(*this))
                       : fmt::format("wmma.mma{}.sync.aligned.row.col.{}.{}{}", after, shape(*this), wmma_types(*this),
                                     before);
    case kWgmma:
      return fmt::format("wgmma.mma_async{}.sync.aligned.{}{}.{}{}", sparsity_text(*this), shape(*this), before,
                         types(*this), after);
    case kTcgen05:
      return fmt::format("tcgen05.mma{}{}.cta_group::{}{}", weight_stationary ? ".ws" : "", sparse() ? ".sp" : "",
                         m == 256 ? 2 : 1, ptx_kind(*this, true));
    case kMfma:
    case kAmdWmma:
      return amd_spelling(*this);
    case InstructionKind::dot:
      return name();
  }
  return {};
}

namespace {

/// Of a dot product of k products in floating point, or of integers.
void check_scaling(const Scaling& scales, int k, bool floating) {
  if (!floating) throw InputError("scale-block: expected none, as integers have no scales");
  if (scales.format != ue8m0 && scales.format != ue4m3)
    throw InputError(fmt::format("scale-format: {}; expected ue8m0 or ue4m3", format(scales.format).name));
  if (scales.block_k < 1 || k % scales.block_k != 0) {
    throw InputError(
        fmt::format("scale-block: {}; expected a number of products that divides k, {}", scales.block_k, k));
  }
}

}  // namespace

Instruction make_dot(FormatId d, FormatId a, FormatId b, FormatId c, int k, const Scaling& scales) {
  if (k < 1 || k > kMostDotProducts)
    throw InputError(fmt::format("k: {}; expected 1 to {} products", k, kMostDotProducts));
  struct Operand {
    std::string_view name;
    FormatId id;
    bool multiplied;
  };
  const bool floating = format(d).floating;
  for (const auto& [what, id, multiplied] :
       {Operand{"d", d, false}, Operand{"a", a, true}, Operand{"b", b, true}, Operand{"c", c, false}}) {
    const std::string_view name = format(id).name;
    const bool scale = id == ue8m0 || id == ue4m3;
    const bool sum = id == s32 || id == fp16 || id == bf16 || id == fp32 || id == fp64;
    if (format(id).floating != floating)
      throw InputError(
          fmt::format("{}: {}, and d is {}; expected all of integers, or all of numbers in floating point", what,
                      name, format(d).name));
    if (multiplied ? scale || id == s32 : !sum)
      throw InputError(fmt::format("{}: {}; expected {}", what, name,
                                   !multiplied ? "one of s32, fp16, bf16, fp32, fp64"
                                   : floating  ? "a format of numbers with a sign"
                                               : "one of s8, u8, s4, u4, b1"));
  }
  if ((a == b1) != (b == b1)) throw InputError("b: expected b1 as a is, or neither");
  Instruction dot{InstructionKind::dot, 1, 1, k, d, a, b, c, ArchSet{}};
  if (scales.kind == ScaleKind::none) return dot;
  check_scaling(scales, k, floating);
  dot.scales = {ScaleKind::dot, scales.format, scales.block_k};
  return dot;
}

std::span<const Instruction> instructions() { return kInstructions; }

namespace {

/// "m128n32k16" of a name.
struct Shape {
  int m = 0, n = 0;
};
std::optional<Shape> shape_in(const std::string& text) {
  Shape shape;
  for (std::size_t at = text.find(".m"); at != text.npos; at = text.find(".m", at + 1)) {
    if (std::sscanf(text.c_str() + at, ".m%4dn%4dk", &shape.m, &shape.n) == 2) return shape;
  }
  return std::nullopt;
}

/// Those tcgen05.mma that are no rows, each made when it is first asked for.
const Instruction* find_other_shape(std::string_view text) {
  static std::mutex mutex;
  static std::map<std::string, Instruction, std::less<>> made;
  const auto shape = shape_in(std::string(text));
  if (!shape) return nullptr;
  const std::scoped_lock lock(mutex);
  if (const auto found = made.find(text); found != made.end()) return &found->second;
  for (Instruction row : kInstructions) {
    if (row.kind != kTcgen05 || !tcgen05_has_shape(row, shape->m, shape->n)) continue;
    row.m = shape->m;
    row.n = shape->n;
    if (row.name() == text) return &made.emplace(text, row).first->second;
  }
  return nullptr;
}

}  // namespace

const Instruction& row_of(const Instruction& instruction) {
  if (instruction.kind != kTcgen05) return instruction;
  const auto without_shape = [](Instruction x) {
    x.m = x.n = 0;
    return x.name();
  };
  return *std::ranges::find(kInstructions, without_shape(instruction), without_shape);
}

const Instruction* find_instruction(std::string_view text) {
  static const auto by_name = [] {
    std::map<std::string, const Instruction*, std::less<>> names;
    for (const Instruction& row : kInstructions) {
      names.emplace(row.name(), &row);
      if (row.kind != kTcgen05) names.emplace(row.ptx(), &row);
      for (const std::string& other : other_spellings(row)) names.emplace(other, &row);
    }
    return names;
  }();
  if (const auto found = by_name.find(text); found != by_name.end()) return found->second;
  return text.starts_with("tcgen05.mma") ? find_other_shape(text) : nullptr;
}

std::vector<const Instruction*> instructions_of(ArchId arch, std::optional<FormatId> input) {
  std::vector<const Instruction*> found;
  for (const Instruction& row : kInstructions) {
    const bool stands_for_its_kind = row.kind != kWgmma || row.n == kWgmmaSmallestN;
    const bool has_input = !input || row.a == *input || row.b == *input;
    if (stands_for_its_kind && has_input && row.archs.contains(arch)) found.push_back(&row);
  }
  return found;
}

}  // namespace tcnum
