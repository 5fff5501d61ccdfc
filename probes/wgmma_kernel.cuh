// wgmma: a warpgroup puts one tile at a time through the instruction, exactly once, with C as the accumulator.
//
// How the operands reach the tensor core is a variant (kWgmmaVariants): A from shared memory or from registers, and in
// shared memory K-major without swizzle or with one of 32, 64 or 128 bytes, or MN-major, which only 16-bit types can be.
//
// An operand's row (of A, or column of B) has 32 bytes along K whatever its type. K-major without swizzle: core matrices
// of 8 rows × 16 bytes, 128 bytes in one piece, two of them side by side along K. K-major with a swizzle of P bytes:
// rows of P bytes, of which the first 32 are used, 8 of them in one piece. MN-major: pieces of 64 elements along M or N
// (128 bytes) × 8 along K, two of them behind each other along K, then the next 64 elements. A swizzle exclusive-ors
// the address's bits from 4 on with those from 7 on. Sources: PTX ISA, "Shared Memory Matrix Layout", "Strides" and
// "Matrix-descriptor"; CUTLASS, make_gmma_desc and the canonical layouts beside it.
#pragma once

#include <algorithm>
#include <array>

#include <boost/preprocessor/arithmetic/add.hpp>
#include <boost/preprocessor/repetition/enum.hpp>
#include <boost/preprocessor/repetition/repeat_from_to.hpp>
#include <boost/preprocessor/stringize.hpp>

#include "device_common.cuh"

namespace tcnum {

constexpr int kWgmmaRows = 64;
constexpr int kRowBytes = 32;
constexpr int kChunkBytes = 16;  // what a swizzle moves as a whole

enum WgmmaVariant : int { kPlain, kSwizzle32, kSwizzle64, kSwizzle128, kRegisters, kMnMajor };
inline constexpr std::array<std::string_view, 6> kWgmmaVariants = {
    "K-major without swizzle", "K-major with 32-byte swizzle", "K-major with 64-byte swizzle",
    "K-major with 128-byte swizzle", "A from registers", "MN-major with 128-byte swizzle"};

/// Where the bytes of an operand lie in shared memory, and how the matrix descriptor says so.
struct SharedLayout {
  int pitch;           ///< bytes of a swizzled row; 0: no swizzle
  bool mn_major;
  int leading_bytes;   ///< between pieces: along K without swizzle, along M or N if MN-major; else it is not looked at
  int stride_bytes;    ///< between groups of 8 rows, or along K if MN-major
  int descriptor_mode; ///< bits 62 and 63

  __device__ static SharedLayout of(int variant) {
    constexpr int kCoreBytes = 8 * kChunkBytes;
    switch (variant) {
      case kSwizzle32: return {32, false, kChunkBytes, 8 * 32, 3};
      case kSwizzle64: return {64, false, kChunkBytes, 8 * 64, 2};
      case kSwizzle128: return {128, false, kChunkBytes, 8 * 128, 1};
      case kMnMajor: return {128, true, 2 * 8 * 128, 8 * 128, 1};
      default: return {0, false, kCoreBytes, 2 * kCoreBytes, 0};
    }
  }

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
template <int kWidth, int kDepth, FormatId kOperand, FormatId kResult>
struct WgmmaShape {
  static constexpr int kCodeBits = format(kOperand).storage_bits, kAccumulatorBits = format(kResult).storage_bits;
  using Code = Bits<kCodeBits>;
  using Accumulator = Bits<kAccumulatorBits>;
  using Register = std::uint32_t;
  static constexpr int kN = kWidth, kK = kDepth;
  static_assert(kK * sizeof(Code) == kRowBytes);
  /// Each of the four warps has 16 rows of A in registers, as those of an mma.
  static constexpr MmaGeometry kWarp{16, 8, kK, kCodesPerRegister<Register, kCodeBits>};
  static constexpr int kARegisters = kWarp.a_registers();
  static constexpr int kAccumulators = kWgmmaRows * kN / kThreads;
  static constexpr int kAccumulatorsPerRegister = kCodesPerRegister<Register, kAccumulatorBits>;
  static constexpr int kDRegisters = kAccumulators / kAccumulatorsPerRegister;
  static constexpr bool kCanBeMnMajor = sizeof(Code) == 2;
};

template <class Op>
__global__ void __launch_bounds__(kThreads) wgmma_kernel(const DeviceTiles tiles) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Code = typename Op::Code;
  using Accumulator = typename Op::Accumulator;
  constexpr int kPerRegister = Op::kAccumulatorsPerRegister;
  constexpr MmaGeometry kWarp = Op::kWarp;

  alignas(kSwizzlePeriod) __shared__ std::uint8_t shared_a[kWgmmaRows * kLongestRowBytes];
  // MN-major, each 64 elements along N take as many bytes as 16 of the longest rows, filled or not.
  constexpr int kBRows = Op::kN < 16 ? 16 : Op::kN;
  alignas(kSwizzlePeriod) __shared__ std::uint8_t shared_b[kBRows * kLongestRowBytes];

  const SharedLayout layout = SharedLayout::of(tiles.variant);
  const int thread = static_cast<int>(threadIdx.x);
  for (std::size_t tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
    const Code* const from_a = static_cast<const Code*>(tiles.a) + tiles.a_tile(tile) * (kWgmmaRows * Op::kK);
    const Code* const from_b = static_cast<const Code*>(tiles.b) + tiles.b_tile(tile) * (Op::kK * Op::kN);
    const Accumulator* const from_c = static_cast<const Accumulator*>(tiles.c) + tile * (kWgmmaRows * Op::kN);
    Accumulator* const to_d = static_cast<Accumulator*>(tiles.d) + tile * (kWgmmaRows * Op::kN);

    const auto at = [&](std::uint8_t* shared, int row, int k) {
      return reinterpret_cast<Code*>(shared + layout.offset(row, k * static_cast<int>(sizeof(Code)), sizeof(Code)));
    };
    for (int i = thread; i < kWgmmaRows * Op::kK; i += kThreads) *at(shared_a, i / Op::kK, i % Op::kK) = from_a[i];
    // B is K × N in global memory; its columns are the rows here.
    for (int i = thread; i < Op::kK * Op::kN; i += kThreads) *at(shared_b, i % Op::kN, i / Op::kN) = from_b[i];
    typename Op::Register d[Op::kDRegisters] = {};
#pragma unroll
    for (int i = 0; i < Op::kAccumulators; ++i) {
      const Element e = wgmma_accumulator(thread, i);
      insert<Op::kAccumulatorBits>(d[i / kPerRegister], i % kPerRegister, from_c[e.row * Op::kN + e.column]);
    }
    // The tensor core reads shared memory through the asynchronous proxy.
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();

    const std::uint64_t a = layout.descriptor(shared_a), b = layout.descriptor(shared_b);
    if (tiles.variant == kRegisters) {
      typename Op::Register in_registers[Op::kARegisters] = {};
#pragma unroll
      for (int r = 0; r < Op::kARegisters; ++r) {
#pragma unroll
        for (int e = 0; e < kWarp.register_elements; ++e) {
          const Element from = kWarp.a(thread % 32, r, e);
          insert<Op::kCodeBits>(in_registers[r], e, from_a[(thread / 32 * 16 + from.row) * Op::kK + from.column]);
        }
      }
      Op::issue_from_registers(d, in_registers, b);
    } else if (Op::kCanBeMnMajor && tiles.variant == kMnMajor) {
      Op::issue_mn_major(d, a, b);
    } else {
      Op::issue(d, a, b);
    }

#pragma unroll
    for (int i = 0; i < Op::kAccumulators; ++i) {
      const Element e = wgmma_accumulator(thread, i);
      to_d[e.row * Op::kN + e.column] = extract<Op::kAccumulatorBits>(d[i / kPerRegister], i % kPerRegister);
    }
    __syncthreads();  // all warps have read shared memory before it is filled again
  }
#else
  __trap();
#endif
}

template <class Op>
cudaError_t launch_wgmma(const DeviceTiles& tiles) {
  wgmma_kernel<Op><<<static_cast<unsigned>(std::min(kMaxBlocks, tiles.count)), kThreads>>>(tiles);
  return cudaGetLastError();
}

/// Its variants: all, or all but the last.
inline std::span<const std::string_view> variants_of(bool can_be_mn_major) {
  return std::span(kWgmmaVariants).first(kWgmmaVariants.size() - (can_be_mn_major ? 0 : 1));
}

}  // namespace tcnum

// "{%0, %1, …}" for so many registers, and their constraints.
#define TCNUM_NEXT_REGISTER(z, i, first) ", %" BOOST_PP_STRINGIZE(BOOST_PP_ADD(first, i))
#define TCNUM_REGISTERS(first, count) \
  "{%" BOOST_PP_STRINGIZE(first) BOOST_PP_REPEAT_FROM_TO(1, count, TCNUM_NEXT_REGISTER, first) "}"
#define TCNUM_OPERAND(first, i) ", %" BOOST_PP_STRINGIZE(BOOST_PP_ADD(first, i))
#define TCNUM_INOUT_REGISTER(z, i, x) "+r"(x[i])
#define TCNUM_INOUT(count, x) BOOST_PP_ENUM(count, TCNUM_INOUT_REGISTER, x)

// After the operands come scale-d, imm-scale-a and imm-scale-b, all 1. The 16-bit types then take imm-trans-a and
// imm-trans-b (0: K-major), with A in registers only the latter.
#define TCNUM_IMMEDIATES_8(trans_a, trans_b) ", 1, 1, 1;"
#define TCNUM_IMMEDIATES_16(trans_a, trans_b) ", 1, 1, 1" trans_a trans_b ";"

// One asm statement from fence to wait: the compiler can put nothing between them.
#define TCNUM_WGMMA_BEGIN(N, K, D, A, B) \
  "wgmma.fence.sync.aligned;\n"          \
  "wgmma.mma_async.sync.aligned.m64n" #N "k" #K "." #D "." #A "." #B " "
#define TCNUM_WGMMA_END                \
  "\n"                                 \
  "wgmma.commit_group.sync.aligned;\n" \
  "wgmma.wait_group.sync.aligned 0;\n"

#define TCNUM_WGMMA_NAME(N, K, D, A, B) wgmma_m64n##N##k##K##_##D##_##A##_##B

/// A function that issues it with both operands in shared memory.
#define TCNUM_WGMMA_FROM_SHARED(NAME, TRANS_A, TRANS_B, N, ND, K, D, A, B, IMMEDIATES)                               \
  __device__ static void NAME(Register (&d)[ND], std::uint64_t a, std::uint64_t b) {                                 \
    asm volatile(TCNUM_WGMMA_BEGIN(N, K, D, A, B) TCNUM_REGISTERS(0, ND) TCNUM_OPERAND(ND, 0) TCNUM_OPERAND(ND, 1)   \
                     IMMEDIATES(TRANS_A, TRANS_B) TCNUM_WGMMA_END                                                    \
                 : TCNUM_INOUT(ND, d)                                                                                \
                 : "l"(a), "l"(b)                                                                                    \
                 : "memory");                                                                                        \
  }

/// Defines the instruction's type. ND: 32-bit registers of D; IMMEDIATES: those of 16-bit operands, or of others.
#define TCNUM_WGMMA_OP(N, ND, K, D, A, B, IMMEDIATES)                                                                  \
  struct TCNUM_WGMMA_NAME(N, K, D, A, B) : WgmmaShape<N, K, spelled(#A), spelled(#D)> {                                \
    static_assert(kDRegisters == ND);                                                                                  \
    TCNUM_WGMMA_FROM_SHARED(issue, ", 0", ", 0", N, ND, K, D, A, B, IMMEDIATES)                                        \
    TCNUM_WGMMA_FROM_SHARED(issue_mn_major, ", 1", ", 1", N, ND, K, D, A, B, IMMEDIATES)                               \
    __device__ static void issue_from_registers(Register (&d)[ND], const Register (&a)[4], std::uint64_t b) {          \
      asm volatile(TCNUM_WGMMA_BEGIN(N, K, D, A, B) TCNUM_REGISTERS(0, ND) ", " TCNUM_REGISTERS(ND, 4)                 \
                       TCNUM_OPERAND(ND, 4) IMMEDIATES("", ", 0") TCNUM_WGMMA_END                                      \
                   : TCNUM_INOUT(ND, d)                                                                                \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)                                                \
                   : "memory");                                                                                        \
    }                                                                                                                  \
  };

/// Its row in the table of kernels.
#define TCNUM_WGMMA_KERNEL(N, ND, K, D, A, B, IMMEDIATES)                                     \
  {"wgmma.m64n" #N "k" #K "." #D "." #A "." #B, launch_wgmma<TCNUM_WGMMA_NAME(N, K, D, A, B)>, \
   variants_of(TCNUM_WGMMA_NAME(N, K, D, A, B)::kCanBeMnMajor)},

// clang-format off
// All types at one N; R32 and R16: registers of D with fp32 and fp16 results.
#define TCNUM_WGMMA_ROWS(X, N, R32, R16)                     \
  X(N, R32, 16, f32, f16,  f16,  TCNUM_IMMEDIATES_16)        \
  X(N, R16, 16, f16, f16,  f16,  TCNUM_IMMEDIATES_16)        \
  X(N, R32, 16, f32, bf16, bf16, TCNUM_IMMEDIATES_16)        \
  X(N, R32, 8,  f32, tf32, tf32, TCNUM_IMMEDIATES_8)         \
  X(N, R32, 32, f32, e4m3, e4m3, TCNUM_IMMEDIATES_8)         \
  X(N, R32, 32, f32, e4m3, e5m2, TCNUM_IMMEDIATES_8)         \
  X(N, R32, 32, f32, e5m2, e4m3, TCNUM_IMMEDIATES_8)         \
  X(N, R32, 32, f32, e5m2, e5m2, TCNUM_IMMEDIATES_8)         \
  X(N, R16, 32, f16, e4m3, e4m3, TCNUM_IMMEDIATES_8)         \
  X(N, R16, 32, f16, e4m3, e5m2, TCNUM_IMMEDIATES_8)         \
  X(N, R16, 32, f16, e5m2, e4m3, TCNUM_IMMEDIATES_8)         \
  X(N, R16, 32, f16, e5m2, e5m2, TCNUM_IMMEDIATES_8)
// clang-format on
