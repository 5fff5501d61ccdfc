// mma of Volta's shape, fp16 m8n8k4: a warp puts four tiles at a time through the instruction, one on each quad pair.
//
// The layouts of A and B are a variant (kVoltaVariants); each takes a tile to another quad pair, too.
#include <algorithm>
#include <array>

#include "asm_operands.cuh"
#include "device_common.cuh"

namespace tcnum {

inline constexpr std::array<std::string_view, 4> kVoltaVariants = {"row.col", "col.col, one quad pair further",
                                                                   "row.row, two quad pairs further",
                                                                   "col.row, three quad pairs further"};

/// All but its PTX.
template <FormatId kAddend, FormatId kResult>
struct VoltaShape {
  static constexpr int kCBits = format(kAddend).storage_bits, kDBits = format(kResult).storage_bits;
  using Register = std::uint32_t;
  static constexpr int kOperandRegisters = VoltaFragments::kOperands / 2;
  static constexpr int kCPerRegister = kCodesPerRegister<Register, kCBits>,
                       kDPerRegister = kCodesPerRegister<Register, kDBits>;
  static constexpr int kCRegisters = VoltaFragments::kAccumulators / kCPerRegister,
                       kDRegisters = VoltaFragments::kAccumulators / kDPerRegister;
};

template <class Op>
__global__ void __launch_bounds__(kThreads) volta_kernel(const DeviceTiles tiles) {
  using Half = std::uint16_t;
  using CodeC = Bits<Op::kCBits>;
  using CodeD = Bits<Op::kDBits>;
  using Register = typename Op::Register;
  constexpr int kSide = 8, kDepth = 4, kWarpSize = 32, kWarps = kThreads / kWarpSize;
  constexpr unsigned kTiles = VoltaFragments::kQuadPairs;

  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const unsigned of_warp = static_cast<unsigned>(VoltaFragments::quad_pair(lane) + tiles.variant) % kTiles;
  const bool a_columns = (tiles.variant & 1) != 0, b_columns = (tiles.variant & 2) == 0;
  const std::size_t step = std::size_t{gridDim.x} * kWarps * kTiles;
  for (std::size_t first = (std::size_t{blockIdx.x} * kWarps + threadIdx.x / kWarpSize) * kTiles; first < tiles.count;
       first += step) {
    const std::size_t tile = first + of_warp;
    const bool is_there = tile < tiles.count;  // all lanes take part, with zeros if need be
    Register a[Op::kOperandRegisters] = {}, b[Op::kOperandRegisters] = {}, c[Op::kCRegisters] = {}, d[Op::kDRegisters];
    if (is_there) {
      const Half* const from_a = static_cast<const Half*>(tiles.a) + tiles.a_tile(tile) * (kSide * kDepth);
      const Half* const from_b = static_cast<const Half*>(tiles.b) + tiles.b_tile(tile) * (kDepth * kSide);
      const CodeC* const from_c = static_cast<const CodeC*>(tiles.c) + tile * (kSide * kSide);
#pragma unroll
      for (int i = 0; i < VoltaFragments::kOperands; ++i) {
        const Element in_a = VoltaFragments::a(lane, i, a_columns), in_b = VoltaFragments::b(lane, i, b_columns);
        insert<16>(a[i / 2], i % 2, from_a[in_a.row * kDepth + in_a.column]);
        insert<16>(b[i / 2], i % 2, from_b[in_b.row * kSide + in_b.column]);
      }
#pragma unroll
      for (int i = 0; i < VoltaFragments::kAccumulators; ++i) {
        const Element at = VoltaFragments::c(lane, i, Op::kCBits);
        insert<Op::kCBits>(c[i / Op::kCPerRegister], i % Op::kCPerRegister, from_c[at.row * kSide + at.column]);
      }
    }
    __syncwarp();
    Op::issue(d, a, b, c, a_columns, b_columns);
    if (!is_there) continue;
    CodeD* const to_d = static_cast<CodeD*>(tiles.d) + tile * (kSide * kSide);
#pragma unroll
    for (int i = 0; i < VoltaFragments::kAccumulators; ++i) {
      const Element at = VoltaFragments::c(lane, i, Op::kDBits);
      to_d[at.row * kSide + at.column] = extract<Op::kDBits>(d[i / Op::kDPerRegister], i % Op::kDPerRegister);
    }
  }
}

template <class Op>
cudaError_t launch_volta(const Instruction&, const DeviceTiles& tiles) {
  constexpr std::size_t kTilesPerBlock = kThreads / 32 * VoltaFragments::kQuadPairs;
  const std::size_t blocks = std::min(kMaxBlocks, (tiles.count + kTilesPerBlock - 1) / kTilesPerBlock);
  volta_kernel<Op><<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(tiles.stream)>>>(tiles);
  return cudaGetLastError();
}

// One row of the table: registers of D and C, and their types.
#define TCNUM_VOLTA_MMA(LAYOUTS, ND, NC, D, C)                                                 \
  asm volatile("mma.sync.aligned.m8n8k4." LAYOUTS "." #D ".f16.f16." #C                        \
               " " TCNUM_ASM_VECTOR(0, ND) ", " TCNUM_ASM_VECTOR(ND, 2) ", " TCNUM_ASM_VECTOR( \
                   BOOST_PP_ADD(ND, 2), 2) ", " TCNUM_ASM_VECTOR(BOOST_PP_ADD(ND, 4), NC) ";"  \
               : TCNUM_ASM_OUTPUTS("r", ND, d)                                                 \
               : TCNUM_ASM_INPUTS("r", 2, a), TCNUM_ASM_INPUTS("r", 2, b), TCNUM_ASM_INPUTS("r", NC, c))
#define TCNUM_VOLTA_NAME(D, C) mma_m8n8k4_##D##_f16_f16_##C
#define TCNUM_VOLTA_OP(ND, NC, D, C)                                                                \
  struct TCNUM_VOLTA_NAME(D, C) : VoltaShape<spelled(#C), spelled(#D)> {                            \
    static_assert(kDRegisters == ND && kCRegisters == NC && kOperandRegisters == 2);                \
    __device__ static void issue(Register (&d)[ND], const Register (&a)[2], const Register (&b)[2], \
                                 const Register (&c)[NC], bool a_columns, bool b_columns) {         \
      if (a_columns && b_columns) {                                                                 \
        TCNUM_VOLTA_MMA("col.col", ND, NC, D, C);                                                   \
      } else if (a_columns) {                                                                       \
        TCNUM_VOLTA_MMA("col.row", ND, NC, D, C);                                                   \
      } else if (b_columns) {                                                                       \
        TCNUM_VOLTA_MMA("row.col", ND, NC, D, C);                                                   \
      } else {                                                                                      \
        TCNUM_VOLTA_MMA("row.row", ND, NC, D, C);                                                   \
      }                                                                                             \
    }                                                                                               \
  };
#define TCNUM_VOLTA_KERNEL(ND, NC, D, C) \
  {"mma.m8n8k4." #D ".f16.f16." #C, launch_volta<TCNUM_VOLTA_NAME(D, C)>, kVoltaVariants},

#define TCNUM_ROWS(X) \
  X(8, 8, f32, f32)   \
  X(8, 4, f32, f16)   \
  X(4, 4, f16, f16)

TCNUM_ROWS(TCNUM_VOLTA_OP)

namespace {
constexpr Kernel kKernels[] = {TCNUM_ROWS(TCNUM_VOLTA_KERNEL)};
}  // namespace

std::span<const Kernel> mma_volta_kernels() { return kKernels; }

}  // namespace tcnum
