// The table of instructions.
//
// Sources: PTX ISA 9.0, "mma" (table of shapes and types; its target notes give the first architecture of each),
// "wmma.mma" and "wgmma.mma_async". Each mma and wmma row was assembled by ptxas 13.0 for the architectures listed, and
// refused for the one before (of integers: in one pair of operand formats; sm_70, which it no longer knows, is PTX's
// word). Not legal, so not here: an accumulator format that differs between C and D, but for wmma's and Volta's fp16,
// and integer operands of a wmma that differ in sign. The sparse rows are those of "mma.sp" that ptxas 13.0 assembles
// for sm_90a: other K of these formats, and fp8 with fp16 results (which sm_120a has), it refuses. It takes each for
// all architectures listed, in either spelling, and refuses it for the one before.
#include "tcnum/instruction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "fragment.hpp"
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

constexpr std::array kFloatMmaRows = std::to_array<Instruction>({
    // kind  m   n  k   d     a        b        c
    // PTX accepts these everywhere, but only Volta has them as instructions of their own.
    {kMma, 8, 8, 4, fp32, fp16, fp16, fp32, from(sm_70)},
    {kMma, 8, 8, 4, fp32, fp16, fp16, fp16, from(sm_70)},
    {kMma, 8, 8, 4, fp16, fp16, fp16, fp16, from(sm_70)},

    {kMma, 16, 8, 8, fp32, fp16, fp16, fp32, from(sm_75)},
    {kMma, 16, 8, 16, fp32, fp16, fp16, fp32, from(sm_80)},
    {kMma, 16, 8, 8, fp16, fp16, fp16, fp16, from(sm_75)},
    {kMma, 16, 8, 16, fp16, fp16, fp16, fp16, from(sm_80)},

    {kMma, 16, 8, 8, fp32, bf16, bf16, fp32, from(sm_80)},
    {kMma, 16, 8, 16, fp32, bf16, bf16, fp32, from(sm_80)},

    {kMma, 16, 8, 4, fp32, tf32, tf32, fp32, from(sm_80)},
    {kMma, 16, 8, 8, fp32, tf32, tf32, fp32, from(sm_80)},

    {kMma, 16, 8, 16, fp32, fp8e4m3, fp8e4m3, fp32, from(sm_89)},
    {kMma, 16, 8, 16, fp32, fp8e4m3, fp8e5m2, fp32, from(sm_89)},
    {kMma, 16, 8, 16, fp32, fp8e5m2, fp8e4m3, fp32, from(sm_89)},
    {kMma, 16, 8, 16, fp32, fp8e5m2, fp8e5m2, fp32, from(sm_89)},
    {kMma, 16, 8, 32, fp32, fp8e4m3, fp8e4m3, fp32, from(sm_89)},
    {kMma, 16, 8, 32, fp32, fp8e4m3, fp8e5m2, fp32, from(sm_89)},
    {kMma, 16, 8, 32, fp32, fp8e5m2, fp8e4m3, fp32, from(sm_89)},
    {kMma, 16, 8, 32, fp32, fp8e5m2, fp8e5m2, fp32, from(sm_89)},
    {kMma, 16, 8, 16, fp16, fp8e4m3, fp8e4m3, fp16, from(sm_89)},
    {kMma, 16, 8, 16, fp16, fp8e4m3, fp8e5m2, fp16, from(sm_89)},
    {kMma, 16, 8, 16, fp16, fp8e5m2, fp8e4m3, fp16, from(sm_89)},
    {kMma, 16, 8, 16, fp16, fp8e5m2, fp8e5m2, fp16, from(sm_89)},
    {kMma, 16, 8, 32, fp16, fp8e4m3, fp8e4m3, fp16, from(sm_89)},
    {kMma, 16, 8, 32, fp16, fp8e4m3, fp8e5m2, fp16, from(sm_89)},
    {kMma, 16, 8, 32, fp16, fp8e5m2, fp8e4m3, fp16, from(sm_89)},
    {kMma, 16, 8, 32, fp16, fp8e5m2, fp8e5m2, fp16, from(sm_89)},
});

/// fp64, each with a row for each way to round.
constexpr std::array kDoubleBases = std::to_array<Instruction>({
    {kMma, 8, 8, 4, fp64, fp64, fp64, fp64, from(sm_80)},
    {kMma, 16, 8, 4, fp64, fp64, fp64, fp64, from(sm_90)},
    {kMma, 16, 8, 8, fp64, fp64, fp64, fp64, from(sm_90)},
    {kMma, 16, 8, 16, fp64, fp64, fp64, fp64, from(sm_90)},
    {kWmma, 8, 8, 4, fp64, fp64, fp64, fp64, from(sm_80)},
});
constexpr std::array kDoubleModifiers = {Modifier::none, Modifier::toward_zero, Modifier::down, Modifier::up};
constexpr std::size_t double_rows(InstructionKind kind) {
  return static_cast<std::size_t>(std::ranges::count(kDoubleBases, kind, &Instruction::kind)) * kDoubleModifiers.size();
}
template <class Next>
constexpr Next copy_double_rows(InstructionKind kind, Next next) {
  for (const Instruction& base : kDoubleBases) {
    for (const Modifier modifier : kDoubleModifiers) {
      if (base.kind != kind) continue;
      *next = base;
      (next++)->modifier = modifier;
    }
  }
  return next;
}

/// mma.sp and mma.sp::ordered_metadata, each with a row for each of these.
constexpr std::array kFloatSparseRows = std::to_array<Instruction>({
    {kMma, 16, 8, 16, fp32, fp16, fp16, fp32, from(sm_80)},
    {kMma, 16, 8, 32, fp32, fp16, fp16, fp32, from(sm_80)},
    {kMma, 16, 8, 16, fp16, fp16, fp16, fp16, from(sm_80)},
    {kMma, 16, 8, 32, fp16, fp16, fp16, fp16, from(sm_80)},

    {kMma, 16, 8, 16, fp32, bf16, bf16, fp32, from(sm_80)},
    {kMma, 16, 8, 32, fp32, bf16, bf16, fp32, from(sm_80)},

    {kMma, 16, 8, 8, fp32, tf32, tf32, fp32, from(sm_80)},
    {kMma, 16, 8, 16, fp32, tf32, tf32, fp32, from(sm_80)},

    {kMma, 16, 8, 64, fp32, fp8e4m3, fp8e4m3, fp32, from(sm_89)},
    {kMma, 16, 8, 64, fp32, fp8e4m3, fp8e5m2, fp32, from(sm_89)},
    {kMma, 16, 8, 64, fp32, fp8e5m2, fp8e4m3, fp32, from(sm_89)},
    {kMma, 16, 8, 64, fp32, fp8e5m2, fp8e5m2, fp32, from(sm_89)},
});

/// mma of integers: a shape for all pairs of operand formats, all modifiers and all kinds of sparsity.
struct IntegerMma {
  int m, k;
  std::span<const FormatId> operands;
  std::span<const Modifier> modifiers;
  ArchSet archs;
  std::span<const Sparsity> sparsities;
};
constexpr std::array kBytes = {s8, u8};
constexpr std::array kNibbles = {s4, u4};
constexpr std::array kBit = {b1};
constexpr std::array kIntegerModifiers = {Modifier::none, Modifier::satfinite};
constexpr std::array kAnd = {Modifier::and_popc};
constexpr std::array kXor = {Modifier::xor_popc};
constexpr std::array kDense = {Sparsity::none};
constexpr std::array kSparse = {Sparsity::any_order, Sparsity::ascending};

constexpr std::array kIntegerMma = std::to_array<IntegerMma>({
    {8, 16, kBytes, kIntegerModifiers, from(sm_75), kDense},
    {16, 16, kBytes, kIntegerModifiers, from(sm_80), kDense},
    {16, 32, kBytes, kIntegerModifiers, from(sm_80), kDense},

    {8, 32, kNibbles, kIntegerModifiers, from(sm_75), kDense},
    {16, 32, kNibbles, kIntegerModifiers, from(sm_80), kDense},
    {16, 64, kNibbles, kIntegerModifiers, from(sm_80), kDense},

    {8, 128, kBit, kAnd, from(sm_80), kDense},
    {8, 128, kBit, kXor, from(sm_75), kDense},
    {16, 128, kBit, kAnd, from(sm_80), kDense},
    {16, 128, kBit, kXor, from(sm_80), kDense},
    {16, 256, kBit, kAnd, from(sm_80), kDense},
    {16, 256, kBit, kXor, from(sm_80), kDense},

    {16, 32, kBytes, kIntegerModifiers, from(sm_80), kSparse},
    {16, 64, kBytes, kIntegerModifiers, from(sm_80), kSparse},
    {16, 64, kNibbles, kIntegerModifiers, from(sm_80), kSparse},
    {16, 128, kNibbles, kIntegerModifiers, from(sm_80), kSparse},
});

constexpr std::size_t row_count(const IntegerMma& each) {
  return each.operands.size() * each.operands.size() * each.modifiers.size() * each.sparsities.size();
}
constexpr std::size_t kIntegerMmaRows = [] {
  std::size_t total = 0;
  for (const IntegerMma& each : kIntegerMma) total += row_count(each);
  return total;
}();

constexpr auto kMmaRows = [] {
  std::array<Instruction,
             kFloatMmaRows.size() + double_rows(kMma) + kSparse.size() * kFloatSparseRows.size() + kIntegerMmaRows>
      rows{};
  auto next = copy_double_rows(kMma, std::copy(kFloatMmaRows.begin(), kFloatMmaRows.end(), rows.begin()));
  for (const Sparsity sparsity : kSparse) {
    for (const Instruction& row : kFloatSparseRows) {
      *next = row;
      (next++)->sparsity = sparsity;
    }
  }
  for (const IntegerMma& each : kIntegerMma) {
    for (const Sparsity sparsity : each.sparsities) {
      for (const FormatId a : each.operands) {
        for (const FormatId b : each.operands) {
          for (const Modifier modifier : each.modifiers) {
            *next++ = {kMma, each.m, 8, each.k, s32, a, b, s32, each.archs, modifier, sparsity};
          }
        }
      }
    }
  }
  return rows;
}();

/// wmma: those of 16- and 8-bit operands come in three shapes.
struct WmmaShape {
  int m, n;
};
constexpr std::array kWmmaShapes = std::to_array<WmmaShape>({{16, 16}, {32, 8}, {8, 32}});
constexpr std::array kWmmaBases = std::to_array<Instruction>({
    {kWmma, 16, 16, 16, fp32, fp16, fp16, fp32, from(sm_70)},
    {kWmma, 16, 16, 16, fp32, fp16, fp16, fp16, from(sm_70)},
    {kWmma, 16, 16, 16, fp16, fp16, fp16, fp32, from(sm_70)},
    {kWmma, 16, 16, 16, fp16, fp16, fp16, fp16, from(sm_70)},
    {kWmma, 16, 16, 16, fp32, bf16, bf16, fp32, from(sm_80)},
    {kWmma, 16, 16, 16, s32, s8, s8, s32, from(sm_75)},
    {kWmma, 16, 16, 16, s32, s8, s8, s32, from(sm_75), Modifier::satfinite},
    {kWmma, 16, 16, 16, s32, u8, u8, s32, from(sm_75)},
    {kWmma, 16, 16, 16, s32, u8, u8, s32, from(sm_75), Modifier::satfinite},
});
constexpr std::array kWmmaRows = std::to_array<Instruction>({
    {kWmma, 16, 16, 8, fp32, tf32, tf32, fp32, from(sm_80)},
    {kWmma, 8, 8, 32, s32, s4, s4, s32, from(sm_75)},
    {kWmma, 8, 8, 32, s32, s4, s4, s32, from(sm_75), Modifier::satfinite},
    {kWmma, 8, 8, 32, s32, u4, u4, s32, from(sm_75)},
    {kWmma, 8, 8, 32, s32, u4, u4, s32, from(sm_75), Modifier::satfinite},
    {kWmma, 8, 8, 128, s32, b1, b1, s32, from(sm_80), Modifier::and_popc},
    {kWmma, 8, 8, 128, s32, b1, b1, s32, from(sm_75), Modifier::xor_popc},
});

/// wgmma at its smallest N; C and D are the same registers. Only sm_90a: later architectures have tcgen05 instead.
/// wgmma.sp has a row for each of these too, with twice the K.
constexpr std::array kFloatWgmmaBases = std::to_array<Instruction>({
    {kWgmma, 64, 8, 16, fp32, fp16, fp16, fp32, archs({sm_90})},
    {kWgmma, 64, 8, 16, fp16, fp16, fp16, fp16, archs({sm_90})},
    {kWgmma, 64, 8, 16, fp32, bf16, bf16, fp32, archs({sm_90})},
    {kWgmma, 64, 8, 8, fp32, tf32, tf32, fp32, archs({sm_90})},
    {kWgmma, 64, 8, 32, fp32, fp8e4m3, fp8e4m3, fp32, archs({sm_90})},
    {kWgmma, 64, 8, 32, fp32, fp8e4m3, fp8e5m2, fp32, archs({sm_90})},
    {kWgmma, 64, 8, 32, fp32, fp8e5m2, fp8e4m3, fp32, archs({sm_90})},
    {kWgmma, 64, 8, 32, fp32, fp8e5m2, fp8e5m2, fp32, archs({sm_90})},
    {kWgmma, 64, 8, 32, fp16, fp8e4m3, fp8e4m3, fp16, archs({sm_90})},
    {kWgmma, 64, 8, 32, fp16, fp8e4m3, fp8e5m2, fp16, archs({sm_90})},
    {kWgmma, 64, 8, 32, fp16, fp8e5m2, fp8e4m3, fp16, archs({sm_90})},
    {kWgmma, 64, 8, 32, fp16, fp8e5m2, fp8e5m2, fp16, archs({sm_90})},
});

/// The same of integers, of which not every N is legal. Bits have no sparse form, and no exclusive or.
struct IntegerWgmma {
  int k;
  std::span<const FormatId> operands;
  std::span<const Modifier> modifiers;
  bool has_sparse;
};
constexpr std::array kIntegerWgmma = std::to_array<IntegerWgmma>({
    {32, kBytes, kIntegerModifiers, true},
    {256, kBit, kAnd, false},
});

constexpr int kWgmmaSmallestN = 8;
constexpr int kWgmmaLargestN = 256;
/// The widths that wgmma has.
constexpr bool wgmma_has_width(bool floating, int n) {
  return n % 8 == 0 && kWgmmaSmallestN <= n && n <= kWgmmaLargestN && (floating || n <= 32 || n % 16 == 0);
}
/// Calls visit(row) for each wgmma: all widths of each of its kinds.
template <class Visit>
constexpr void each_wgmma(const Visit& visit) {
  const auto widths = [&](Instruction row, Sparsity sparsity) {
    row.sparsity = sparsity;
    if (row.sparse()) row.k *= 2;
    for (int n = kWgmmaSmallestN; n <= kWgmmaLargestN; n += kWgmmaSmallestN) {
      row.n = n;
      if (wgmma_has_width(format(row.a).floating, n)) visit(row);
    }
  };
  for (const Sparsity sparsity : {Sparsity::none, Sparsity::ascending}) {
    for (const Instruction& base : kFloatWgmmaBases) widths(base, sparsity);
    for (const IntegerWgmma& each : kIntegerWgmma) {
      if (sparsity != Sparsity::none && !each.has_sparse) continue;
      for (const FormatId a : each.operands) {
        for (const FormatId b : each.operands) {
          for (const Modifier modifier : each.modifiers) {
            widths({kWgmma, 64, kWgmmaSmallestN, each.k, s32, a, b, s32, archs({sm_90}), modifier}, sparsity);
          }
        }
      }
    }
  }
}
constexpr std::size_t kWgmmaRows = [] {
  std::size_t count = 0;
  each_wgmma([&](const Instruction&) { ++count; });
  return count;
}();

constexpr auto kInstructions = [] {
  std::array<Instruction, kMmaRows.size() + kWmmaBases.size() * kWmmaShapes.size() + kWmmaRows.size() +
                              double_rows(kWmma) + kWgmmaRows>
      rows{};
  auto next = std::copy(kMmaRows.begin(), kMmaRows.end(), rows.begin());
  for (const Instruction& base : kWmmaBases) {
    for (const WmmaShape& shape : kWmmaShapes) {
      *next = base;
      next->m = shape.m;
      next->n = shape.n;
      ++next;
    }
  }
  next = copy_double_rows(kWmma, std::copy(kWmmaRows.begin(), kWmmaRows.end(), next));
  each_wgmma([&](const Instruction& row) { *next++ = row; });
  return rows;
}();

// What the table must satisfy.

constexpr bool operands_fill_registers(const Instruction& row) {
  const int accumulator_bits = row.m * row.n * format(row.d).storage_bits;
  if (format(row.a).storage_bits != format(row.b).storage_bits) return false;
  if (row.kind == kWgmma) {
    constexpr int kThreads = 128, kOperandRowBits = 256;  // rows of A, whatever the format
    return row.c == row.d && row.m == 64 && row.products() * format(row.a).storage_bits == kOperandRowBits &&
           accumulator_bits % (kThreads * 32) == 0;
  }
  const int lane_register_bits = 32 * std::max(32, format(row.a).storage_bits);
  return row.m * row.products() * format(row.a).storage_bits % lane_register_bits == 0 &&
         row.k * row.n * format(row.b).storage_bits % lane_register_bits == 0 && accumulator_bits % (32 * 32) == 0 &&
         row.m * row.n * format(row.c).storage_bits % (32 * 32) == 0;
}
static_assert(std::ranges::all_of(kInstructions, [](const Instruction& row) {
  return row.is_volta() || operands_fill_registers(row);
}));
/// Only fp16 products may be added to one format and come out in another.
static_assert(std::ranges::all_of(kInstructions, [](const Instruction& row) {
  return row.c == row.d || (row.a == fp16 && (row.kind == kWmma || row.is_volta()));
}));

/// Whether `count` elements, given one by one to `visit`, hit each place of a rows × columns matrix exactly once.
template <int kLargest>
struct Cover {
  int rows, columns;
  std::array<bool, kLargest> hit{};
  bool once = true;
  int count = 0;

  constexpr void visit(Element e) {
    const bool inside = 0 <= e.row && e.row < rows && 0 <= e.column && e.column < columns;
    if (!inside || hit[static_cast<std::size_t>(e.row * columns + e.column)]) {
      once = false;
      return;
    }
    hit[static_cast<std::size_t>(e.row * columns + e.column)] = true;
    ++count;
  }
  constexpr bool complete() const { return once && count == rows * columns; }
};

constexpr bool fragments_are_bijective(const Instruction& row) {
  const MmaGeometry g = geometry_of(row);
  Cover<16 * 256> a{row.m, g.a_columns()}, b{row.k, row.n}, c{row.m, row.n};
  for (int lane = 0; lane < 32; ++lane) {
    for (int e = 0; e < g.register_elements; ++e) {
      for (int r = 0; r < g.a_registers(); ++r) a.visit(g.a(lane, r, e));
      for (int r = 0; r < g.b_registers(); ++r) b.visit(g.b(lane, r, e));
    }
    for (int i = 0; i < g.accumulators(); ++i) c.visit(g.c(lane, i));
  }
  return a.complete() && b.complete() && c.complete();
}

/// For each selector, the lanes that have metadata have that of all groups of all rows, once.
constexpr bool metadata_is_bijective(const Instruction& row) {
  const MmaGeometry g = geometry_of(row);
  for (int selector = 0; selector < g.selectors(); ++selector) {
    Cover<16 * 256> groups{row.m, row.k / group_of(row).size};
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; g.has_metadata(lane, selector) && i < MmaGeometry::kMetadataGroups; ++i) {
        groups.visit(g.metadata(lane, i));
      }
    }
    if (!groups.complete()) return false;
  }
  return true;
}
/// Rows that differ only in what their operands and results mean have the same layouts: one stands for all.
constexpr bool first_of_its_layout(const Instruction& row) {
  const auto layout = [](const Instruction& x) {
    const MmaGeometry g = geometry_of(x);
    return std::array{g.m, g.n, g.k, g.register_elements, g.sparse ? 1 : 0};
  };
  return &row == &*std::ranges::find(kMmaRows, layout(row), layout);
}
static_assert(std::ranges::all_of(kMmaRows, [](const Instruction& row) {
  return row.is_volta() || !first_of_its_layout(row) ||
         (fragments_are_bijective(row) && (!row.sparse() || metadata_is_bijective(row)));
}));

/// For each quad pair.
constexpr bool volta_fragments_are_bijective() {
  for (int quad_pair = 0; quad_pair < VoltaFragments::kQuadPairs; ++quad_pair) {
    for (const bool columns : {false, true}) {
      Cover<8 * 8> a{8, 4}, b{4, 8}, c16{8, 8}, c32{8, 8};
      for (int lane = 0; lane < 32; ++lane) {
        if (VoltaFragments::quad_pair(lane) != quad_pair) continue;
        for (int i = 0; i < VoltaFragments::kOperands; ++i) {
          a.visit(VoltaFragments::a(lane, i, columns));
          b.visit(VoltaFragments::b(lane, i, columns));
        }
        for (int i = 0; i < VoltaFragments::kAccumulators; ++i) {
          c16.visit(VoltaFragments::c(lane, i, 16));
          c32.visit(VoltaFragments::c(lane, i, 32));
        }
      }
      if (!a.complete() || !b.complete() || !c16.complete() || !c32.complete()) return false;
    }
  }
  return true;
}
static_assert(volta_fragments_are_bijective());

/// The accumulators of a narrower wgmma are the first ones of a wider: two widths stand for all.
constexpr bool wgmma_accumulators_are_bijective(int n) {
  Cover<64 * kWgmmaLargestN> c{64, n};
  for (int thread = 0; thread < 128; ++thread) {
    for (int i = 0; i < n / 2; ++i) c.visit(wgmma_accumulator(thread, i));
  }
  return c.complete();
}
static_assert(wgmma_accumulators_are_bijective(kWgmmaSmallestN));
static_assert(wgmma_accumulators_are_bijective(kWgmmaLargestN));

/// All that a name says, as one number.
constexpr std::uint64_t name_key(const Instruction& row) {
  std::uint64_t key = 0;
  const auto append = [&key](auto value, int bits) { key = key << bits | static_cast<std::uint64_t>(value); };
  append(row.kind, 2);
  for (const int size : {row.m, row.n, row.k}) append(size, 10);
  for (const FormatId f : {row.d, row.a, row.b, row.c}) append(f, 5);
  append(row.modifier, 3);
  append(row.sparsity, 2);
  return key;
}
constexpr bool names_are_unique() {
  std::array<std::uint64_t, kInstructions.size()> keys{};
  std::ranges::transform(kInstructions, keys.begin(), name_key);
  std::ranges::sort(keys);
  return std::ranges::adjacent_find(keys) == keys.end();
}
static_assert(names_are_unique());

/// "m16n8k16".
std::string shape(const Instruction& row) {
  if (row.kind == InstructionKind::dot) return fmt::format("k{}", row.k);
  return fmt::format("m{}n{}k{}", row.m, row.n, row.k);
}

/// "f32.f16.f16.f32"; wgmma has no C of its own.
std::string types(const Instruction& row) {
  const std::string dab = fmt::format("{}.{}.{}", format(row.d).ptx, format(row.a).ptx, format(row.b).ptx);
  return row.kind == kWgmma ? dab : fmt::format("{}.{}", dab, format(row.c).ptx);
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
    case InstructionKind::dot:
      return "dot";
  }
  return {};
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
  const auto [before, after] = text(modifier);
  return fmt::format("{}{}.{}.{}{}{}", text(kind), sparsity_text(*this), shape(*this), types(*this), before, after);
}

std::string Instruction::ptx() const {
  const auto [before, after] = text(modifier);
  switch (kind) {
    case kMma:
      return fmt::format("mma{}.sync.aligned.{}.row.col{}.{}{}", sparsity_text(*this), shape(*this), before,
                         types(*this), after);
    case kWmma:
      return d == fp64 ? fmt::format("wmma.mma.sync.aligned.row.col.{}{}.{}", shape(*this), before, types(*this))
                       : fmt::format("wmma.mma{}.sync.aligned.row.col.{}.{}{}", after, shape(*this), wmma_types(*this),
                                     before);
    case kWgmma:
      return fmt::format("wgmma.mma_async{}.sync.aligned.{}{}.{}{}", sparsity_text(*this), shape(*this), before,
                         types(*this), after);
    case InstructionKind::dot:
      return name();
  }
  return {};
}

Instruction make_dot(FormatId d, FormatId a, FormatId b, FormatId c, int k) {
  constexpr int kMostProducts = 256;
  if (k < 1 || k > kMostProducts)
    throw InputError(fmt::format("k: {}; right would be 1 to {} products", k, kMostProducts));
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
          fmt::format("{}: {}, and d is {}; right would be all of integers, or all of numbers in floating point", what,
                      name, format(d).name));
    if (multiplied ? scale || id == s32 : !sum)
      throw InputError(fmt::format("{}: {}; right would be {}", what, name,
                                   !multiplied ? "one of s32, fp16, bf16, fp32, fp64"
                                   : floating  ? "a format of numbers with a sign"
                                               : "one of s8, u8, s4, u4, b1"));
  }
  if ((a == b1) != (b == b1)) throw InputError("b: right would be b1 as a is, or neither");
  return {InstructionKind::dot, 1, 1, k, d, a, b, c, ArchSet{}};
}

std::span<const Instruction> instructions() { return kInstructions; }

const Instruction* find_instruction(std::string_view text) {
  static const auto by_name = [] {
    std::map<std::string, const Instruction*, std::less<>> names;
    for (const Instruction& row : kInstructions) {
      names.emplace(row.name(), &row);
      names.emplace(row.ptx(), &row);
    }
    return names;
  }();
  const auto found = by_name.find(text);
  return found == by_name.end() ? nullptr : found->second;
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

std::optional<ArchId> find_arch(std::string_view text) {
  const auto exact = [](std::string_view name) -> std::optional<ArchId> {
    const auto found = std::ranges::find(kArchs, name, &Arch::name);
    if (found == kArchs.end()) return std::nullopt;
    return found->id;
  };
  if (const auto id = exact(text)) return id;
  // PTX's targets "sm_90a" (architecture-specific) and "sm_100f" (family-specific).
  const bool suffixed = text.starts_with("sm_") && (text.ends_with('a') || text.ends_with('f'));
  return suffixed ? exact(text.substr(0, text.size() - 1)) : std::nullopt;
}

std::string arch_names() {
  std::string text;
  for (const Arch& a : kArchs) text.append(text.empty() ? "" : ", ").append(a.name);
  return text;
}

}  // namespace tcnum
