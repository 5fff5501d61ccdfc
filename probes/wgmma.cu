// wgmma at N = 8: a warpgroup puts one tile at a time through the instruction, exactly once, with C as the accumulator.
//
// A and B lie in shared memory, K-major and without swizzle: core matrices of 8 rows × 16 bytes, 128 bytes in one
// piece. An operand's row (of A, or column of B) has 32 bytes whatever its type, so two core matrices side by side
// along K. Sources: PTX ISA, "Shared Memory Matrix Layout" and "Matrix-descriptor"; CUTLASS, make_gmma_desc, canonical
// layout ((8,m),(T,2)):((1T,SBO),(1,LBO)) of K-major INTERLEAVE: the leading offset is between the two core matrices
// along K, the stride offset between groups of 8 rows.
#include <algorithm>

#include "device_common.cuh"

namespace tcnum {

constexpr int kRows = 64;
constexpr int kRowBytes = 32;
constexpr int kCoreRows = 8;
constexpr int kCoreRowBytes = 16;
constexpr int kLeadingBytes = kCoreRows * kCoreRowBytes;  // between core matrices along K
constexpr int kStrideBytes = 2 * kLeadingBytes;           // between groups of 8 rows

/// Where a byte of an operand's row lies in shared memory.
__device__ inline int shared_offset(int row, int byte) {
  return row / kCoreRows * kStrideBytes + byte / kCoreRowBytes * kLeadingBytes + row % kCoreRows * kCoreRowBytes +
         byte % kCoreRowBytes;
}

/// The matrix descriptor: address in bits 0–13, leading offset in 16–29, stride offset in 32–45, each without its
/// lowest four bits; no base offset, swizzle mode 0.
__device__ inline std::uint64_t descriptor(const std::uint8_t* shared) {
  const auto field = [](std::uint64_t bytes) { return (bytes & 0x3ffff) >> 4; };
  return field(__cvta_generic_to_shared(shared)) | field(kLeadingBytes) << 16 | field(kStrideBytes) << 32;
}

/// All of a wgmma but its PTX.
template <int kDepth, FormatId kOperand, FormatId kResult>
struct WgmmaShape {
  using Code = Bits<format(kOperand).storage_bits>;
  using Accumulator = Bits<format(kResult).storage_bits>;
  using Register = std::uint32_t;
  static constexpr int kK = kDepth;
  static_assert(kK * sizeof(Code) == kRowBytes);
  static constexpr int kAccumulators = kRows * kColumns / kThreads;
  static constexpr int kAccumulatorsPerRegister = kCodesPerRegister<Register, Accumulator>;
  static constexpr int kDRegisters = kAccumulators / kAccumulatorsPerRegister;
};

template <class Op>
__global__ void __launch_bounds__(kThreads) wgmma_kernel(const DeviceTiles tiles) {
  if constexpr (!kHasWgmma) {
    __trap();
  } else {
    using Code = typename Op::Code;
    using Accumulator = typename Op::Accumulator;
    constexpr int kPerRegister = Op::kAccumulatorsPerRegister;

    alignas(128) __shared__ std::uint8_t shared_a[kRows * kRowBytes];
    alignas(128) __shared__ std::uint8_t shared_b[kColumns * kRowBytes];

    const int thread = static_cast<int>(threadIdx.x);
    for (std::size_t tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
      const uint4* const from_a = static_cast<const uint4*>(tiles.a) + tile * (kRows * kRowBytes / sizeof(uint4));
      const Code* const from_b = static_cast<const Code*>(tiles.b) + tile * (Op::kK * kColumns);
      const Accumulator* const from_c = static_cast<const Accumulator*>(tiles.c) + tile * (kRows * kColumns);
      Accumulator* const to_d = static_cast<Accumulator*>(tiles.d) + tile * (kRows * kColumns);

      // A's rows are 32 contiguous bytes: each thread moves one half of one.
      static_assert(kThreads * sizeof(uint4) == sizeof(shared_a));
      *reinterpret_cast<uint4*>(shared_a + shared_offset(thread / 2, thread % 2 * kCoreRowBytes)) = from_a[thread];
      // B is K × 8 in global memory; its columns are the rows here.
      for (int i = thread; i < Op::kK * kColumns; i += kThreads) {
        const int byte = i / kColumns * static_cast<int>(sizeof(Code));
        *reinterpret_cast<Code*>(shared_b + shared_offset(i % kColumns, byte)) = from_b[i];
      }
      typename Op::Register d[Op::kDRegisters] = {};
#pragma unroll
      for (int i = 0; i < Op::kAccumulators; ++i) {
        const Element at = wgmma_accumulator(thread, i);
        insert(d[i / kPerRegister], i % kPerRegister, from_c[at.row * kColumns + at.column]);
      }
      // The tensor core reads shared memory through the asynchronous proxy.
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncthreads();

      Op::issue(d, descriptor(shared_a), descriptor(shared_b));

#pragma unroll
      for (int i = 0; i < Op::kAccumulators; ++i) {
        const Element at = wgmma_accumulator(thread, i);
        to_d[at.row * kColumns + at.column] = extract<Accumulator>(d[i / kPerRegister], i % kPerRegister);
      }
      __syncthreads();  // all warps have read shared memory before it is filled again
    }
  }
}

template <class Op>
cudaError_t launch_wgmma(const DeviceTiles& tiles) {
  wgmma_kernel<Op><<<static_cast<unsigned>(std::min(kMaxBlocks, tiles.count)), kThreads>>>(tiles);
  return cudaGetLastError();
}

#define TCNUM_INOUT_2(x) "+r"(x[0]), "+r"(x[1])
#define TCNUM_INOUT_4(x) TCNUM_INOUT_2(x), "+r"(x[2]), "+r"(x[3])
#define TCNUM_REGISTERS_2 "{%0, %1}, %2, %3, "
#define TCNUM_REGISTERS_4 "{%0, %1, %2, %3}, %4, %5, "

// scale-d, imm-scale-a, imm-scale-b are 1; the 16-bit types also take imm-trans-a, imm-trans-b: 0, both are K-major.
#define TCNUM_SCALES "1, 1, 1;"
#define TCNUM_SCALES_MAJOR "1, 1, 1, 0, 0;"

#define TCNUM_WGMMA_NAME(K, D, A, B) wgmma_m64n8k##K##_##D##_##A##_##B

/// Defines the instruction's type. One asm statement from fence to wait: the compiler can put nothing between them.
#define TCNUM_WGMMA_OP(ND, K, D, A, B, IMMEDIATES)                                                          \
  struct TCNUM_WGMMA_NAME(K, D, A, B) : WgmmaShape<K, spelled(#A), spelled(#D)> {                           \
    static_assert(kDRegisters == ND);                                                                       \
    __device__ static void issue(Register (&d)[ND], std::uint64_t a, std::uint64_t b) {                     \
      asm volatile(                                                                                         \
          "wgmma.fence.sync.aligned;\n"                                                                     \
          "wgmma.mma_async.sync.aligned.m64n8k" #K "." #D "." #A "." #B " " TCNUM_REGISTERS_##ND IMMEDIATES \
          "\n"                                                                                              \
          "wgmma.commit_group.sync.aligned;\n"                                                              \
          "wgmma.wait_group.sync.aligned 0;\n"                                                              \
          : TCNUM_INOUT_##ND(d)                                                                             \
          : "l"(a), "l"(b)                                                                                  \
          : "memory");                                                                                      \
    }                                                                                                       \
  };

/// Its row in the table of kernels.
#define TCNUM_WGMMA_KERNEL(ND, K, D, A, B, IMMEDIATES) \
  {"wgmma.m64n8k" #K "." #D "." #A "." #B, launch_wgmma<TCNUM_WGMMA_NAME(K, D, A, B)>},

// clang-format off
#define TCNUM_ROWS(X)                                     \
  X(4, 16, f32, f16,  f16,  TCNUM_SCALES_MAJOR)           \
  X(2, 16, f16, f16,  f16,  TCNUM_SCALES_MAJOR)           \
  X(4, 16, f32, bf16, bf16, TCNUM_SCALES_MAJOR)           \
  X(4, 8,  f32, tf32, tf32, TCNUM_SCALES)                 \
  X(4, 32, f32, e4m3, e4m3, TCNUM_SCALES)                 \
  X(4, 32, f32, e4m3, e5m2, TCNUM_SCALES)                 \
  X(4, 32, f32, e5m2, e4m3, TCNUM_SCALES)                 \
  X(4, 32, f32, e5m2, e5m2, TCNUM_SCALES)                 \
  X(2, 32, f16, e4m3, e4m3, TCNUM_SCALES)                 \
  X(2, 32, f16, e4m3, e5m2, TCNUM_SCALES)                 \
  X(2, 32, f16, e5m2, e4m3, TCNUM_SCALES)                 \
  X(2, 32, f16, e5m2, e5m2, TCNUM_SCALES)
// clang-format on

TCNUM_ROWS(TCNUM_WGMMA_OP)

namespace {
constexpr Kernel kKernels[] = {TCNUM_ROWS(TCNUM_WGMMA_KERNEL)};
}  // namespace

std::span<const Kernel> wgmma_kernels() { return kKernels; }

}  // namespace tcnum
