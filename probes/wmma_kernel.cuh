// wmma: a warp puts one tile at a time through the instruction, exactly once, with C as the accumulator.
//
// Which lane holds what is the hardware's secret: operands go by way of shared memory through wmma.load and wmma.store.
// How they lie there is a variant (kWmmaVariants): each by rows or by columns, as far as the instruction allows.
#pragma once

#include <algorithm>
#include <array>

#include "asm_operands.cuh"
#include "device_common.cuh"

namespace tcnum {

inline constexpr std::array<std::string_view, 16> kWmmaVariants = {
    "row.col, C by rows, D by rows",       "row.col, C by columns, D by rows",    "row.col, C by rows, D by columns",
    "row.col, C by columns, D by columns", "col.col, C by rows, D by rows",       "col.col, C by columns, D by rows",
    "col.col, C by rows, D by columns",    "col.col, C by columns, D by columns", "row.row, C by rows, D by rows",
    "row.row, C by columns, D by rows",    "row.row, C by rows, D by columns",    "row.row, C by columns, D by columns",
    "col.row, C by rows, D by rows",       "col.row, C by columns, D by rows",    "col.row, C by rows, D by columns",
    "col.row, C by columns, D by columns"};
/// Those that operands narrower than a byte have: A by rows, B by columns.
inline constexpr std::size_t kRowColVariants = 4;

/// Which matrices a variant has by columns.
struct ByColumns {
  bool a, b, c, d;
  __device__ static ByColumns of(int variant) {
    return {(variant & 4) != 0, (variant & 8) == 0, (variant & 1) != 0, (variant & 2) != 0};
  }
};

/// A matrix in shared memory, packed: lines (rows, or columns) one after the other, each of them a multiple of 16 bytes
/// away from the first, which begins at a multiple of 32. Source: CUDA C++ Programming Guide, "Warp Matrix Functions",
/// load_matrix_sync.
template <int kRows, int kColumns, int kBits>
struct SharedMatrix {
  using Code = Bits<kBits>;
  using Word = Bits<std::max(32, kBits)>;
  static constexpr int kCodesPerWord = kCodesPerRegister<Word, kBits>;
  static constexpr int kLeastPitch = 128 / kBits;
  static constexpr int kRowPitch = std::max(kColumns, kLeastPitch), kColumnPitch = std::max(kRows, kLeastPitch);
  static constexpr int kWords = std::max(kRows * kRowPitch, kColumns * kColumnPitch) / kCodesPerWord;

  alignas(32) Word words[kWords];

  /// Elements from a line to the next.
  __device__ static int pitch(bool by_columns) { return by_columns ? kColumnPitch : kRowPitch; }
  __device__ std::uint32_t address() const { return static_cast<std::uint32_t>(__cvta_generic_to_shared(words)); }

  /// By all lanes, from a matrix by rows, without gaps, each code in bytes of its own.
  __device__ void fill(const Code* from, bool by_columns, int lane) {
    const int line_words = (by_columns ? kRows : kColumns) / kCodesPerWord;
    for (int i = lane; i < kRows * kColumns / kCodesPerWord; i += 32) {
      const int line = i / line_words, first = i % line_words * kCodesPerWord;
      Word word = 0;
#pragma unroll
      for (int e = 0; e < kCodesPerWord; ++e) {
        const int row = by_columns ? first + e : line, column = by_columns ? line : first + e;
        insert<kBits>(word, e, from[row * kColumns + column]);
      }
      words[(line * pitch(by_columns) + first) / kCodesPerWord] = word;
    }
  }
  /// The reverse.
  __device__ void copy_to(Code* to, bool by_columns, int lane) const {
    const auto* const codes = reinterpret_cast<const Code*>(words);
    for (int i = lane; i < kRows * kColumns; i += 32) {
      const int row = i / kColumns, column = i % kColumns;
      to[i] = codes[by_columns ? column * kColumnPitch + row : row * kRowPitch + column];
    }
  }
};

/// All of a wmma but its PTX. `kFirst`: the first architecture that has it.
template <int kFirst, int kRows, int kColumns, int kDepth, FormatId kOperand, FormatId kAddend, FormatId kResult>
struct WmmaShape {
  static constexpr int kFirstArch = kFirst, kM = kRows, kN = kColumns, kK = kDepth;
  static constexpr int kCodeBits = format(kOperand).storage_bits;
  static constexpr int kCBytes = kM * kN * format(kAddend).storage_bits / 8;
  using Register = Bits<std::max(32, kCodeBits)>;
  using MatrixA = SharedMatrix<kM, kK, kCodeBits>;
  using MatrixB = SharedMatrix<kK, kN, kCodeBits>;
  using MatrixC = SharedMatrix<kM, kN, format(kAddend).storage_bits>;
  using MatrixD = SharedMatrix<kM, kN, format(kResult).storage_bits>;
  static constexpr bool kAnyLayout = kCodeBits >= 8;
};

template <class Op>
__global__ void __launch_bounds__(kThreads) wmma_kernel(const DeviceTiles tiles) {
  if constexpr (kCompiledFor < Op::kFirstArch) {
    __trap();
  } else {
    constexpr int kWarpSize = 32, kWarps = kThreads / kWarpSize;
    __shared__ typename Op::MatrixA shared_a[kWarps];
    __shared__ typename Op::MatrixB shared_b[kWarps];
    __shared__ typename Op::MatrixC shared_c[kWarps];
    __shared__ typename Op::MatrixD shared_d[kWarps];

    ByColumns by_columns = ByColumns::of(tiles.variant);
    if constexpr (!Op::kAnyLayout) {
      by_columns.a = false;
      by_columns.b = true;
    }
    const int lane = static_cast<int>(threadIdx.x) % kWarpSize, warp = static_cast<int>(threadIdx.x) / kWarpSize;
    typename Op::MatrixA& a = shared_a[warp];
    typename Op::MatrixB& b = shared_b[warp];
    typename Op::MatrixC& c = shared_c[warp];
    typename Op::MatrixD& d = shared_d[warp];
    using CodeA = typename Op::MatrixA::Code;
    using CodeB = typename Op::MatrixB::Code;
    using CodeC = typename Op::MatrixC::Code;
    using CodeD = typename Op::MatrixD::Code;
    const std::size_t step = std::size_t{gridDim.x} * kWarps;
    for (std::size_t tile = std::size_t{blockIdx.x} * kWarps + static_cast<unsigned>(warp); tile < tiles.count;
         tile += step) {
      a.fill(static_cast<const CodeA*>(tiles.a) + tiles.a_tile(tile) * (Op::kM * Op::kK), by_columns.a, lane);
      b.fill(static_cast<const CodeB*>(tiles.b) + tiles.b_tile(tile) * (Op::kK * Op::kN), by_columns.b, lane);
      c.fill(static_cast<const CodeC*>(tiles.c) + tile * (Op::kM * Op::kN), by_columns.c, lane);
      __syncwarp();
      Op::issue(d, a, b, c, by_columns);
      __syncwarp();
      d.copy_to(static_cast<CodeD*>(tiles.d) + tile * (Op::kM * Op::kN), by_columns.d, lane);
      __syncwarp();  // all lanes have read shared memory before it is filled again
    }
  }
}

template <class Op>
cudaError_t launch_wmma(const Instruction&, const DeviceTiles& tiles) {
  constexpr std::size_t kTilesPerBlock = kThreads / 32;
  const std::size_t blocks = std::min(kMaxBlocks, (tiles.count + kTilesPerBlock - 1) / kTilesPerBlock);
  wmma_kernel<Op><<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(tiles.stream)>>>(tiles);
  return cudaGetLastError();
}

/// Those that the instruction has.
template <class Op>
std::span<const std::string_view> wmma_variants_of() {
  return std::span(kWmmaVariants).first(Op::kAnyLayout ? kWmmaVariants.size() : kRowColVariants);
}

}  // namespace tcnum

// One asm statement for each layout; MATRIX is "a", "b" or "c", P the constraint of an address in that SPACE.
#define TCNUM_WMMA_LOAD_FROM(SPACE, P, MATRIX, LAYOUT, SHAPE, TYPE, R, COUNT, x, from, pitch)                   \
  asm volatile("wmma.load." MATRIX ".sync.aligned." LAYOUT "." SHAPE SPACE "." TYPE " " TCNUM_ASM_VECTOR(       \
                   0, COUNT) ", [" TCNUM_ASM_OPERAND(COUNT) "], " TCNUM_ASM_OPERAND(BOOST_PP_ADD(COUNT, 1)) ";" \
               : TCNUM_ASM_OUTPUTS(R, COUNT, x)                                                                 \
               : P(from), "r"(pitch)                                                                            \
               : "memory")
#define TCNUM_WMMA_LOAD_AS(MATRIX, LAYOUT, SHAPE, TYPE, R, COUNT, x, from, pitch) \
  TCNUM_WMMA_LOAD_FROM(".shared", "r", MATRIX, LAYOUT, SHAPE, TYPE, R, COUNT, x, from, pitch)
#define TCNUM_WMMA_LOAD(MATRIX, SHAPE, TYPE, R, COUNT, x, from, by_columns)                         \
  if (by_columns) {                                                                                 \
    TCNUM_WMMA_LOAD_AS(MATRIX, "col", SHAPE, TYPE, R, COUNT, x, from.address(), from.pitch(true));  \
  } else {                                                                                          \
    TCNUM_WMMA_LOAD_AS(MATRIX, "row", SHAPE, TYPE, R, COUNT, x, from.address(), from.pitch(false)); \
  }
#define TCNUM_WMMA_STORE_TO(SPACE, P, LAYOUT, SHAPE, TYPE, R, COUNT, x, to, pitch)                            \
  asm volatile("wmma.store.d.sync.aligned." LAYOUT "." SHAPE SPACE "." TYPE " [" TCNUM_ASM_OPERAND(           \
                   COUNT) "], " TCNUM_ASM_VECTOR(0, COUNT) ", " TCNUM_ASM_OPERAND(BOOST_PP_ADD(COUNT, 1)) ";" \
               :                                                                                              \
               : TCNUM_ASM_INPUTS(R, COUNT, x), P(to), "r"(pitch)                                             \
               : "memory")
#define TCNUM_WMMA_STORE(LAYOUT, SHAPE, TYPE, R, COUNT, x, to, pitch) \
  TCNUM_WMMA_STORE_TO(".shared", "r", LAYOUT, SHAPE, TYPE, R, COUNT, x, to, pitch)

// What PTX has after the shape: all four types, or of fp16 only D and C.
#define TCNUM_WMMA_TYPES(D, A, B, C) "." #D "." #A "." #B "." #C
#define TCNUM_WMMA_ACCUMULATOR_TYPES(D, A, B, C) "." #D "." #C
#define TCNUM_WMMA_MMA(LAYOUTS, OPERATION, SHAPE, TYPES, R, ND, NA, NB, NC, d, a, b, c)                            \
  asm volatile("wmma.mma" OPERATION ".sync.aligned." LAYOUTS "." SHAPE TYPES                                       \
               " " TCNUM_ASM_VECTOR(0, ND) ", " TCNUM_ASM_VECTOR(ND, NA) ", " TCNUM_ASM_VECTOR(                    \
                   BOOST_PP_ADD(ND, NA), NB) ", " TCNUM_ASM_VECTOR(BOOST_PP_ADD(ND, BOOST_PP_ADD(NA, NB)), NC) ";" \
               : TCNUM_ASM_OUTPUTS(R, ND, d)                                                                       \
               : TCNUM_ASM_INPUTS(R, NA, a), TCNUM_ASM_INPUTS(R, NB, b), TCNUM_ASM_INPUTS(R, NC, c))

/// Begins the type TYPE of an instruction: how it is loaded. One row of a file's table: first architecture, constraint,
/// registers of D, A, B and C, M, N, K, and the four types.
#define TCNUM_WMMA_BEGIN(TYPE, FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                                      \
  struct TYPE : WmmaShape<FIRST, M, N, K, spelled(#A), spelled(#C), spelled(#D)> {                                 \
    __device__ static void issue(MatrixD& to, const MatrixA& from_a, const MatrixB& from_b, const MatrixC& from_c, \
                                 const ByColumns& by_columns) {                                                    \
      Register a[NA], b[NB], c[NC], d[ND];                                                                         \
      TCNUM_WMMA_LOAD("c", "m" #M "n" #N "k" #K, #C, R, NC, c, from_c, by_columns.c)
/// Ends it: how its result is stored. Then what is timed: A by rows, B by columns, all matrices in global memory.
#define TCNUM_WMMA_END(TYPES, OPERATION, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                      \
  if (by_columns.d) {                                                                                 \
    TCNUM_WMMA_STORE("col", "m" #M "n" #N "k" #K, #D, R, ND, d, to.address(), to.pitch(true));        \
  } else {                                                                                            \
    TCNUM_WMMA_STORE("row", "m" #M "n" #N "k" #K, #D, R, ND, d, to.address(), to.pitch(false));       \
  }                                                                                                   \
  }                                                                                                   \
  static constexpr int kARegisters = NA, kBRegisters = NB, kCRegisters = NC, kDRegisters = ND;        \
  __device__ static void load_a(Register(&a)[NA], const void* from) {                                 \
    TCNUM_WMMA_LOAD_FROM(".global", "l", "a", "row", "m" #M "n" #N "k" #K, #A, R, NA, a, from, K);    \
  }                                                                                                   \
  __device__ static void load_b(Register(&b)[NB], const void* from) {                                 \
    TCNUM_WMMA_LOAD_FROM(".global", "l", "b", "col", "m" #M "n" #N "k" #K, #B, R, NB, b, from, K);    \
  }                                                                                                   \
  __device__ static void load_c(Register(&c)[NC], const void* from) {                                 \
    TCNUM_WMMA_LOAD_FROM(".global", "l", "c", "row", "m" #M "n" #N "k" #K, #C, R, NC, c, from, N);    \
  }                                                                                                   \
  __device__ static void store_d(void* to, const Register(&d)[ND]) {                                  \
    TCNUM_WMMA_STORE_TO(".global", "l", "row", "m" #M "n" #N "k" #K, #D, R, ND, d, to, N);            \
  }                                                                                                   \
  __device__ static void multiply(Register(&d)[ND], const Register(&a)[NA], const Register(&b)[NB],   \
                                  const Register(&c)[NC]) {                                           \
    TCNUM_WMMA_MMA("row.col", OPERATION, "m" #M "n" #N "k" #K, TYPES, R, ND, NA, NB, NC, d, a, b, c); \
  }                                                                                                   \
  }                                                                                                   \
  ;

/// An instruction of any layout, spelled with AFTER at its end.
#define TCNUM_WMMA_TYPE(TYPE, TYPES, AFTER, FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                       \
  TCNUM_WMMA_BEGIN(TYPE, FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                                          \
  TCNUM_WMMA_LOAD("a", "m" #M "n" #N "k" #K, #A, R, NA, a, from_a, by_columns.a)                                 \
  TCNUM_WMMA_LOAD("b", "m" #M "n" #N "k" #K, #B, R, NB, b, from_b, by_columns.b)                                 \
  if (by_columns.a && by_columns.b) {                                                                            \
    TCNUM_WMMA_MMA("col.col", "", "m" #M "n" #N "k" #K, TYPES(D, A, B, C) AFTER, R, ND, NA, NB, NC, d, a, b, c); \
  } else if (by_columns.a) {                                                                                     \
    TCNUM_WMMA_MMA("col.row", "", "m" #M "n" #N "k" #K, TYPES(D, A, B, C) AFTER, R, ND, NA, NB, NC, d, a, b, c); \
  } else if (by_columns.b) {                                                                                     \
    TCNUM_WMMA_MMA("row.col", "", "m" #M "n" #N "k" #K, TYPES(D, A, B, C) AFTER, R, ND, NA, NB, NC, d, a, b, c); \
  } else {                                                                                                       \
    TCNUM_WMMA_MMA("row.row", "", "m" #M "n" #N "k" #K, TYPES(D, A, B, C) AFTER, R, ND, NA, NB, NC, d, a, b, c); \
  }                                                                                                              \
  TCNUM_WMMA_END(TYPES(D, A, B, C) AFTER, "", R, ND, NA, NB, NC, M, N, K, D, A, B, C)

/// One without a modifier.
#define TCNUM_WMMA_OP(FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                                                   \
  TCNUM_WMMA_TYPE(TCNUM_WMMA_NAME(M, N, K, D, A, B, C), TCNUM_WMMA_TYPES, "", FIRST, R, ND, NA, NB, NC, M, N, K, D, A, \
                  B, C)

/// One whose operands are narrower than a byte, spelled with OPERATION after "wmma.mma".
#define TCNUM_WMMA_ROW_COL_TYPE(TYPE, OPERATION, AFTER, FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                 \
  TCNUM_WMMA_BEGIN(TYPE, FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                                                \
  TCNUM_WMMA_LOAD_AS("a", "row", "m" #M "n" #N "k" #K, #A, R, NA, a, from_a.address(), from_a.pitch(false));           \
  TCNUM_WMMA_LOAD_AS("b", "col", "m" #M "n" #N "k" #K, #B, R, NB, b, from_b.address(), from_b.pitch(true));            \
  TCNUM_WMMA_MMA("row.col", OPERATION, "m" #M "n" #N "k" #K, TCNUM_WMMA_TYPES(D, A, B, C) AFTER, R, ND, NA, NB, NC, d, \
                 a, b, c);                                                                                             \
  TCNUM_WMMA_END(TCNUM_WMMA_TYPES(D, A, B, C) AFTER, OPERATION, R, ND, NA, NB, NC, M, N, K, D, A, B, C)

#define TCNUM_WMMA_NAME(M, N, K, D, A, B, C) wmma_m##M##n##N##k##K##_##D##_##A##_##B##_##C
#define TCNUM_WMMA_SATURATING_NAME(M, N, K, D, A, B, C) wmma_m##M##n##N##k##K##_##D##_##A##_##B##_##C##_satfinite

/// Its row in the table of kernels. BACK: the type with the formats of C and D exchanged.
#define TCNUM_WMMA_ROW(TYPE, BACK, AFTER, M, N, K, D, A, B, C)                                                \
  {"wmma.m" #M "n" #N "k" #K TCNUM_WMMA_TYPES(D, A, B, C) AFTER, launch_wmma<TYPE>, wmma_variants_of<TYPE>()},
#define TCNUM_WMMA_KERNEL(FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C) \
  TCNUM_WMMA_ROW(TCNUM_WMMA_NAME(M, N, K, D, A, B, C), TCNUM_WMMA_NAME(M, N, K, C, A, B, D), "", M, N, K, D, A, B, C)
#define TCNUM_WMMA_SATURATING_KERNEL(FIRST, R, ND, NA, NB, NC, M, N, K, D, A, B, C)                                \
  TCNUM_WMMA_ROW(TCNUM_WMMA_SATURATING_NAME(M, N, K, D, A, B, C), TCNUM_WMMA_SATURATING_NAME(M, N, K, C, A, B, D), \
                 ".satfinite", M, N, K, D, A, B, C)
