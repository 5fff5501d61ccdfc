// wgmma and wgmma.sp: a warpgroup puts one tile at a time through the instruction, exactly once, with C as the
// accumulator.
//
// How the operands reach the tensor core is a variant (WgmmaVariant): A from shared memory or from registers, and in
// shared memory K-major without swizzle or with one of 32, 64 or 128 bytes, or MN-major, which only 16-bit types can
// be; operands of the opposite sign, negated by the instruction; C that is zero left out by scale-d; and of sparse ones
// the threads that have the metadata (wgmma_operands.cuh).
#pragma once

#include <algorithm>
#include <vector>

#include "sparse_metadata.cuh"
#include "wgmma_operands.cuh"

namespace tcnum {

/// Issues the instruction as a variant wants it. A statement for each way in which its text differs.
template <class Op>
__device__ void issue_wgmma(typename Op::Register (&d)[Op::kDRegisters], std::uint64_t a, std::uint64_t b,
                            const typename Op::Register (&a_registers)[Op::kARegisters], std::uint32_t metadata,
                            int scale_d, int variant) {
  if (variant == kRegisters) return Op::issue_from_registers(d, a_registers, b, metadata, scale_d);
  if constexpr (Op::has(kNegatedA)) {
    if (variant == kNegatedA) return Op::issue_negated_a(d, a, b, metadata, scale_d);
  }
  if constexpr (Op::has(kNegatedB)) {
    if (variant == kNegatedB) return Op::issue_negated_b(d, a, b, metadata, scale_d);
  }
  if constexpr (Op::has(kMnMajor)) {
    if (variant == kMnMajor) return Op::issue_mn_major(d, a, b, metadata, scale_d);
  }
  if constexpr (Op::has(kSelector1)) {
    if (variant == kSelector1) return Op::issue_selector_1(d, a, b, metadata, scale_d);
  }
  Op::issue(d, a, b, metadata, scale_d);
}

template <class Op>
__global__ void __launch_bounds__(kThreads) wgmma_kernel(const DeviceTiles tiles) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Code = typename Op::Code;
  using Accumulator = typename Op::Accumulator;
  constexpr auto accumulator_at = [](int i) { return wgmma_accumulator(0, i); };
  constexpr MmaGeometry kGeometry = Op::kGeometry;
  constexpr Code kSign = static_cast<Code>(Code{1} << (Op::kCodeBits - 1));

  alignas(kSwizzlePeriod) __shared__ std::uint8_t shared_a[kWgmmaRows * kLongestRowBytes];
  // MN-major, each 64 elements along N have memory, filled or not.
  constexpr int kBBytes = std::max(Op::kN * kLongestRowBytes,
                                   Op::has(kMnMajor) ? (Op::kN + 63) / 64 * SharedLayout::mn_major_bytes(Op::kK) : 0);
  alignas(kSwizzlePeriod) __shared__ std::uint8_t shared_b[kBBytes];

  const int variant = tiles.variant;
  const SharedLayout a_layout = wgmma_layout(variant, kRowBytes, sizeof(Code));
  const SharedLayout b_layout = wgmma_layout(variant, Op::kBRowBytes, sizeof(Code));
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const Element first = wgmma_accumulator(thread, 0);
  for (std::size_t tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
    const std::size_t a_tile = tiles.a_tile(tile) * (kWgmmaRows * Op::kStored);
    const Code* const from_a = static_cast<const Code*>(tiles.a) + a_tile;
    const Code* const from_b = static_cast<const Code*>(tiles.b) + tiles.b_tile(tile) * (Op::kK * Op::kN);
    const std::size_t c_at = tile * (kWgmmaRows * Op::kN) + first.row * Op::kN + first.column;
    const Accumulator* const from_c = static_cast<const Accumulator*>(tiles.c) + c_at;
    Accumulator* const to_d = static_cast<Accumulator*>(tiles.d) + c_at;

    fill_shared<Op>(shared_a, a_layout, kWgmmaRows, Op::kStored, variant == kNegatedA ? kSign : Code{0},
                    [&](int row, int k) { return from_a[row * Op::kStored + k]; });
    // B is K × N in global memory; its columns are the rows here.
    fill_shared<Op>(shared_b, b_layout, Op::kN, Op::kK, variant == kNegatedB ? kSign : Code{0},
                    [&](int row, int k) { return from_b[k * Op::kN + row]; });
    typename Op::Register d[Op::kDRegisters];
    load_accumulators<Op::kAccumulatorBits, Op::kAccumulators, Op::kN>(d, from_c, accumulator_at);
    std::uint32_t metadata = 0;
    if constexpr (Op::kSparse) {
      const std::uint8_t* const positions = static_cast<const std::uint8_t*>(tiles.e) + a_tile;
      metadata = metadata_register<Op>(positions + warp * 16 * Op::kStored, lane, variant == kSelector1 ? 1 : 0);
    }
    bool has_c = true;
    if (variant == kZeroCLeftOut) {
      bool any = false;
#pragma unroll
      for (int i = 0; i < Op::kDRegisters; ++i) any = any || d[i] != 0;
      has_c = __syncthreads_or(any) != 0;
#pragma unroll
      for (int i = 0; i < Op::kDRegisters; ++i) d[i] = has_c ? d[i] : ~0u;  // of floating-point numbers, NaNs
    }
    // The tensor core reads shared memory through the asynchronous proxy.
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();

    typename Op::Register a_registers[Op::kARegisters] = {};
    if (variant == kRegisters) {
#pragma unroll
      for (int r = 0; r < Op::kARegisters; ++r) {
        const Element from = kGeometry.a(lane, r, 0);
        a_registers[r] = load_register<Op::kCodeBits, typename Op::Register>(
            from_a + (warp * 16 + from.row) * Op::kStored + from.column);
      }
    }
    issue_wgmma<Op>(d, wgmma_descriptor(a_layout, shared_a), wgmma_descriptor(b_layout, shared_b), a_registers,
                    metadata, has_c ? 1 : 0, variant);

    store_accumulators<Op::kAccumulatorBits, Op::kAccumulators, Op::kN>(d, to_d, accumulator_at);
    __syncthreads();  // all warps have read shared memory before it is filled again
  }
#else
  __trap();
#endif
}

/// Of the variants, those that the instruction has: a kernel's variants are numbers in this list.
template <class Op>
const std::vector<WgmmaVariantName>& wgmma_variants() {
  static const std::vector<WgmmaVariantName> variants = [] {
    std::vector<WgmmaVariantName> some;
    for (const WgmmaVariantName& each : kWgmmaVariants) {
      if (Op::has(each.variant)) some.push_back(each);
    }
    return some;
  }();
  return variants;
}
template <class Op>
std::span<const std::string_view> wgmma_variant_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> some;
    for (const WgmmaVariantName& each : wgmma_variants<Op>()) some.push_back(each.name);
    return some;
  }();
  return names;
}

template <class Op>
cudaError_t launch_wgmma(const Instruction&, const DeviceTiles& tiles) {
  DeviceTiles given = tiles;
  given.variant = wgmma_variants<Op>()[static_cast<std::size_t>(tiles.variant)].variant;
  wgmma_kernel<Op><<<static_cast<unsigned>(std::min(kMaxBlocks, tiles.count)), kThreads, 0,
                     static_cast<cudaStream_t>(tiles.stream)>>>(given);
  return cudaGetLastError();
}

}  // namespace tcnum

// CMake writes, for each number of registers ND of D, TCNUM_D_ND ("{%0, %1, …}"), TCNUM_INOUT_D_ND (their
// constraints) and TCNUM_AT_ND_i (the number of the i-th operand behind them, as text).
#define TCNUM_JOINED(x, y) x##y
#define TCNUM_JOIN(x, y) TCNUM_JOINED(x, y)
#define TCNUM_AT(ND, i) TCNUM_JOIN(TCNUM_JOIN(TCNUM_AT_, ND), _##i)
#define TCNUM_OPERAND(ND, i) ", %" TCNUM_AT(ND, i)

// After the operands come, of sparse ones, the metadata and which threads have it; then scale-d, a predicate; then of
// floating-point ones imm-scale-a and imm-scale-b, and of 16-bit ones imm-trans-a and imm-trans-b (0: K-major), with A
// in registers only the latter.
#define TCNUM_DENSE(operand, selector) ""
#define TCNUM_SPARSE(operand, selector) operand ", " selector
#define TCNUM_IMMEDIATES_16(scale_a, scale_b, trans_a, trans_b) ", " scale_a ", " scale_b trans_a trans_b ";"
#define TCNUM_IMMEDIATES_8(scale_a, scale_b, trans_a, trans_b) ", " scale_a ", " scale_b ";"
#define TCNUM_NO_IMMEDIATES(scale_a, scale_b, trans_a, trans_b) ";"

// One asm statement from fence to wait: the compiler can put nothing between them.
#define TCNUM_WGMMA_BEGIN(TEXT, scale_d) \
  "{\n.reg .pred has_c;\n"               \
  "setp.ne.s32 has_c, %" scale_d         \
  ", 0;\n"                               \
  "wgmma.fence.sync.aligned;\n"          \
  "wgmma.mma_async" TEXT " "
#define TCNUM_WGMMA_END                \
  "\n"                                 \
  "wgmma.commit_group.sync.aligned;\n" \
  "wgmma.wait_group.sync.aligned 0;\n}\n"

/// A function that issues it with both operands in shared memory.
#define TCNUM_WGMMA_FROM_SHARED(NAME, TEXT, ND, SELECTOR, SCALE_A, SCALE_B, TRANS_A, TRANS_B, METADATA, IMMEDIATES)    \
  __device__ static void NAME(Register(&d)[ND], std::uint64_t a, std::uint64_t b, std::uint32_t metadata,              \
                              int scale_d) {                                                                           \
    asm volatile(TCNUM_WGMMA_BEGIN(TEXT, TCNUM_AT(ND, 2)) TCNUM_D_##ND TCNUM_OPERAND(ND, 0) TCNUM_OPERAND(ND, 1)       \
                     METADATA(TCNUM_OPERAND(ND, 3), SELECTOR) ", has_c" IMMEDIATES(SCALE_A, SCALE_B, TRANS_A, TRANS_B) \
                         TCNUM_WGMMA_END                                                                               \
                 : TCNUM_INOUT_D_##ND                                                                                  \
                 : "l"(a), "l"(b), "r"(scale_d), "r"(metadata)                                                         \
                 : "memory");                                                                                          \
  }

/// Defines the type TYPE of an instruction whose PTX goes on with TEXT after "wgmma.mma_async". ND: 32-bit registers of
/// D; METADATA: that of dense or of sparse ones; IMMEDIATES: those of its types.
#define TCNUM_PROBED_WGMMA(TYPE, TEXT, IS_SPARSE, N, ND, K, D, A, METADATA, IMMEDIATES)                              \
  struct TYPE : WgmmaShape<N, K, spelled(#A), spelled(#D), IS_SPARSE> {                                              \
    static_assert(kDRegisters == ND);                                                                                \
    TCNUM_WGMMA_FROM_SHARED(issue, TEXT, ND, "0", "1", "1", ", 0", ", 0", METADATA, IMMEDIATES)                      \
    TCNUM_WGMMA_FROM_SHARED(issue_negated_a, TEXT, ND, "0", "-1", "1", ", 0", ", 0", METADATA, IMMEDIATES)           \
    TCNUM_WGMMA_FROM_SHARED(issue_negated_b, TEXT, ND, "0", "1", "-1", ", 0", ", 0", METADATA, IMMEDIATES)           \
    TCNUM_WGMMA_FROM_SHARED(issue_mn_major, TEXT, ND, "0", "1", "1", ", 1", ", 1", METADATA, IMMEDIATES)             \
    TCNUM_WGMMA_FROM_SHARED(issue_selector_1, TEXT, ND, "1", "1", "1", ", 0", ", 0", METADATA, IMMEDIATES)           \
    __device__ static void issue_from_registers(Register (&d)[ND], const Register (&a)[4], std::uint64_t b,          \
                                                std::uint32_t metadata, int scale_d) {                               \
      asm volatile(TCNUM_WGMMA_BEGIN(TEXT, TCNUM_AT(ND, 5)) TCNUM_D_##ND ", {%" TCNUM_AT(ND, 0) TCNUM_OPERAND(ND, 1) \
                       TCNUM_OPERAND(ND, 2) TCNUM_OPERAND(ND, 3) "}" TCNUM_OPERAND(ND, 4) METADATA(                  \
                           TCNUM_OPERAND(ND, 6), "0") ", has_c" IMMEDIATES("1", "1", "", ", 0") TCNUM_WGMMA_END      \
                   : TCNUM_INOUT_D_##ND                                                                              \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(scale_d), "r"(metadata)                 \
                   : "memory");                                                                                      \
    }                                                                                                                \
  };

/// Its row in the table of kernels.
#define TCNUM_PROBED_WGMMA_ROW(TYPE, NAME) {NAME, launch_wgmma<TYPE>, wgmma_variant_names<TYPE>()},

// The rows. A file says what it makes of them: TCNUM_WGMMA_TYPE and TCNUM_WGMMA_ROW are those of probes, above, or of
// timing (bench/device/time_wgmma_kernel.cuh).
#define TCNUM_WGMMA_SHAPE(N, K) "m64n" #N "k" #K
#define TCNUM_WGMMA_TYPES(D, A, B) "." #D "." #A "." #B
#define TCNUM_WGMMA_NAME(N, K, D, A, B) wgmma_m64n##N##k##K##_##D##_##A##_##B

// Dense and sparse, whose K is the other's twice.
#define TCNUM_WGMMA_DENSE_OP(N, ND, K, K2, D, A, B, IMMEDIATES)                                                \
  TCNUM_WGMMA_TYPE(TCNUM_WGMMA_NAME(N, K, D, A, B),                                                            \
                   ".sync.aligned." TCNUM_WGMMA_SHAPE(N, K) TCNUM_WGMMA_TYPES(D, A, B), false, N, ND, K, D, A, \
                   TCNUM_DENSE, IMMEDIATES)
#define TCNUM_WGMMA_DENSE_ROW(N, ND, K, K2, D, A, B, IMMEDIATES) \
  TCNUM_WGMMA_ROW(TCNUM_WGMMA_NAME(N, K, D, A, B), "wgmma." TCNUM_WGMMA_SHAPE(N, K) TCNUM_WGMMA_TYPES(D, A, B))
#define TCNUM_WGMMA_SPARSE_OP(N, ND, K, K2, D, A, B, IMMEDIATES)                                                   \
  TCNUM_WGMMA_TYPE(TCNUM_WGMMA_NAME(N, K2, D, A, B),                                                               \
                   ".sp.sync.aligned." TCNUM_WGMMA_SHAPE(N, K2) TCNUM_WGMMA_TYPES(D, A, B), true, N, ND, K2, D, A, \
                   TCNUM_SPARSE, IMMEDIATES)
#define TCNUM_WGMMA_SPARSE_ROW(N, ND, K, K2, D, A, B, IMMEDIATES) \
  TCNUM_WGMMA_ROW(TCNUM_WGMMA_NAME(N, K2, D, A, B), "wgmma.sp." TCNUM_WGMMA_SHAPE(N, K2) TCNUM_WGMMA_TYPES(D, A, B))

// Integers: SP, BEFORE and AFTER are what PTX has around shape and types, SUFFIX what the type's name has.
#define TCNUM_WGMMA_INTEGER_NAME(N, K, A, B, SUFFIX) wgmma_m64n##N##k##K##_s32_##A##_##B##SUFFIX
#define TCNUM_WGMMA_INTEGER_OP(N, ND, SP, IS_SPARSE, METADATA, K, A, B, BEFORE, AFTER, SUFFIX)                       \
  TCNUM_WGMMA_TYPE(TCNUM_WGMMA_INTEGER_NAME(N, K, A, B, SUFFIX),                                                     \
                   SP ".sync.aligned." TCNUM_WGMMA_SHAPE(N, K) BEFORE TCNUM_WGMMA_TYPES(s32, A, B) AFTER, IS_SPARSE, \
                   N, ND, K, s32, A, METADATA, TCNUM_NO_IMMEDIATES)
#define TCNUM_WGMMA_INTEGER_ROW(N, ND, SP, IS_SPARSE, METADATA, K, A, B, BEFORE, AFTER, SUFFIX) \
  TCNUM_WGMMA_ROW(TCNUM_WGMMA_INTEGER_NAME(N, K, A, B, SUFFIX),                                 \
                  "wgmma" SP "." TCNUM_WGMMA_SHAPE(N, K) TCNUM_WGMMA_TYPES(s32, A, B) BEFORE AFTER)

// clang-format off
// All floating-point types at one N; R32 and R16: registers of D with fp32 and fp16 results.
#define TCNUM_WGMMA_FLOAT_ROWS(X, N, R32, R16)                   \
  X(N, R32, 16, 32, f32, f16,  f16,  TCNUM_IMMEDIATES_16)        \
  X(N, R16, 16, 32, f16, f16,  f16,  TCNUM_IMMEDIATES_16)        \
  X(N, R32, 16, 32, f32, bf16, bf16, TCNUM_IMMEDIATES_16)        \
  X(N, R32, 8,  16, f32, tf32, tf32, TCNUM_IMMEDIATES_8)         \
  X(N, R32, 32, 64, f32, e4m3, e4m3, TCNUM_IMMEDIATES_8)         \
  X(N, R32, 32, 64, f32, e4m3, e5m2, TCNUM_IMMEDIATES_8)         \
  X(N, R32, 32, 64, f32, e5m2, e4m3, TCNUM_IMMEDIATES_8)         \
  X(N, R32, 32, 64, f32, e5m2, e5m2, TCNUM_IMMEDIATES_8)         \
  X(N, R16, 32, 64, f16, e4m3, e4m3, TCNUM_IMMEDIATES_8)         \
  X(N, R16, 32, 64, f16, e4m3, e5m2, TCNUM_IMMEDIATES_8)         \
  X(N, R16, 32, 64, f16, e5m2, e4m3, TCNUM_IMMEDIATES_8)         \
  X(N, R16, 32, 64, f16, e5m2, e5m2, TCNUM_IMMEDIATES_8)

#define TCNUM_WGMMA_BYTE_ROWS(X, N, R32, SP, IS_SPARSE, METADATA, K)                        \
  X(N, R32, SP, IS_SPARSE, METADATA, K, s8, s8, "",           "", )                         \
  X(N, R32, SP, IS_SPARSE, METADATA, K, s8, s8, ".satfinite", "", _satfinite)               \
  X(N, R32, SP, IS_SPARSE, METADATA, K, s8, u8, "",           "", )                         \
  X(N, R32, SP, IS_SPARSE, METADATA, K, s8, u8, ".satfinite", "", _satfinite)               \
  X(N, R32, SP, IS_SPARSE, METADATA, K, u8, s8, "",           "", )                         \
  X(N, R32, SP, IS_SPARSE, METADATA, K, u8, s8, ".satfinite", "", _satfinite)               \
  X(N, R32, SP, IS_SPARSE, METADATA, K, u8, u8, "",           "", )                         \
  X(N, R32, SP, IS_SPARSE, METADATA, K, u8, u8, ".satfinite", "", _satfinite)
#define TCNUM_WGMMA_INTEGER_ROWS(X, N, R32)                                                 \
  TCNUM_WGMMA_BYTE_ROWS(X, N, R32, "", false, TCNUM_DENSE, 32)                              \
  TCNUM_WGMMA_BYTE_ROWS(X, N, R32, ".sp", true, TCNUM_SPARSE, 64)                           \
  X(N, R32, "", false, TCNUM_DENSE, 256, b1, b1, "", ".and.popc", _and_popc)
// clang-format on

// A file's rows: one of these for each N.
#define TCNUM_WGMMA_dense_OPS(N, R32, R16) TCNUM_WGMMA_FLOAT_ROWS(TCNUM_WGMMA_DENSE_OP, N, R32, R16)
#define TCNUM_WGMMA_dense_TABLE(N, R32, R16) TCNUM_WGMMA_FLOAT_ROWS(TCNUM_WGMMA_DENSE_ROW, N, R32, R16)
#define TCNUM_WGMMA_sparse_OPS(N, R32, R16) TCNUM_WGMMA_FLOAT_ROWS(TCNUM_WGMMA_SPARSE_OP, N, R32, R16)
#define TCNUM_WGMMA_sparse_TABLE(N, R32, R16) TCNUM_WGMMA_FLOAT_ROWS(TCNUM_WGMMA_SPARSE_ROW, N, R32, R16)
#define TCNUM_WGMMA_integer_OPS(N, R32, R16) TCNUM_WGMMA_INTEGER_ROWS(TCNUM_WGMMA_INTEGER_OP, N, R32)
#define TCNUM_WGMMA_integer_TABLE(N, R32, R16) TCNUM_WGMMA_INTEGER_ROWS(TCNUM_WGMMA_INTEGER_ROW, N, R32)
