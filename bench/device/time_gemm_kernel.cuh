// A matrix product that keeps the tensor cores of Hopper busy: persistent blocks of a warpgroup that loads and two that
// multiply.
//
// The first warpgroup's first thread fetches kGemmStepBytes of each row of A and each column of B at a time into a ring
// of stages; blocks of a cluster that need the same rows or columns fetch a part each, for all. The other warpgroups
// multiply half of the tile's rows each, and write them by way of shared memory, 64 × 64 results at a time, while the
// next tile's operands arrive. Matrices lie in shared memory as tensor maps with 128-byte swizzle put them there, which
// is how wgmma wants them. Sources: PTX ISA, "Asynchronous Data Movement" and "Asynchronous Warpgroup Level Matrix
// Instructions"; the way work is divided is that of CUTLASS's cooperative persistent kernels.
#pragma once

#include "gemm_kernels.hpp"
#include "phase_barrier.cuh"
#include "probes/asm_operands.cuh"
#include "probes/wgmma_operands.cuh"
#include "timing_common.cuh"

namespace tcnum {

inline constexpr int kGemmWarpgroup = 128, kGemmMultipliers = 2;
inline constexpr int kGemmThreads = kGemmWarpgroup * (1 + kGemmMultipliers);
/// Results that are written at a time.
inline constexpr int kPanelRows = 64, kPanelColumns = 64, kPanelBytes = kPanelRows * kPanelColumns * 2;
inline constexpr int kPanels = 2;  ///< of each warpgroup: one is filled while the other is written
inline constexpr std::size_t kGemmSharedBytes = 227 * 1024;

constexpr std::size_t stage_bytes(const GemmTile& tile) {
  return std::size_t{tile.rows + tile.columns} * kGemmStepBytes;
}
/// What shared memory holds beside the stages: panels, barriers, and what aligns the whole.
constexpr std::size_t kGemmOtherBytes = kGemmMultipliers * kPanels * kPanelBytes + 2 * kSwizzlePeriod;
constexpr unsigned stages_of(const GemmTile& tile) {
  return static_cast<unsigned>((kGemmSharedBytes - kGemmOtherBytes) / stage_bytes(tile));
}

/// A place in the ring of stages, and the parity of its phase.
struct RingPlace {
  unsigned stage = 0, parity = 0;
  __device__ void advance(unsigned stages) {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// A box of a tensor map to shared memory: of this block, or of all whose bits are set.
__device__ inline void fetch(const CUtensorMap& map, void* to, const PhaseBarrier& barrier, unsigned along_k, unsigned line) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          sync::shared_address(to)),
      "l"(&map), "r"(barrier.address()), "r"(along_k), "r"(line)
      : "memory");
}
__device__ inline void fetch_for(std::uint16_t blocks, const CUtensorMap& map, void* to, const PhaseBarrier& barrier,
                                 unsigned along_k, unsigned line) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(sync::shared_address(to)),
      "l"(&map), "r"(barrier.address()), "r"(along_k), "r"(line), "h"(blocks)
      : "memory");
}

/// The threads of a warpgroup; barrier 0 is the block's.
__device__ inline void meet_in_warpgroup(unsigned warpgroup) {
  asm volatile("bar.sync %0, %1;" ::"r"(warpgroup), "n"(kGemmWarpgroup) : "memory");
}

/// Two results in one register, the first in its low half.
template <FormatId kResult>
__device__ std::uint32_t pair_of(float first, float second) {
  std::uint32_t pair = 0;
  if constexpr (kResult == FormatId::fp16) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  }
  return pair;
}

/// What of a launch all threads of a block know.
template <class Op, unsigned kRows>
struct GemmBlock {
  static constexpr unsigned kColumns = Op::kN, kABytes = kRows * kGemmStepBytes, kBBytes = kColumns * kGemmStepBytes;
  static constexpr GemmTile kTile{kRows, kColumns};
  static constexpr unsigned kStages = stages_of(kTile);
  static constexpr unsigned kStepElements = kGemmStepBytes / Op::kBytes;

  const GemmLaunch& run;
  unsigned cluster_rows, cluster_columns, rank;
  std::uint8_t* memory;  ///< stages, panels, barriers

  __device__ std::uint8_t* a(unsigned stage) const { return memory + stage * (kABytes + kBBytes); }
  __device__ std::uint8_t* b(unsigned stage) const { return a(stage) + kABytes; }
  __device__ std::uint8_t* panel(unsigned multiplier, unsigned i) const {
    return a(kStages) + (multiplier * kPanels + i) * kPanelBytes;
  }
  __device__ PhaseBarrier full(unsigned stage) const { return PhaseBarrier(sync::shared_address(barriers() + stage)); }
  __device__ PhaseBarrier empty(unsigned stage) const { return PhaseBarrier(sync::shared_address(barriers() + kStages + stage)); }
  __device__ std::uint64_t* barriers() const {
    return reinterpret_cast<std::uint64_t*>(panel(kGemmMultipliers, 0));
  }

  /// Calls each(row, column) with where the block's tiles begin, in turn.
  template <class Each>
  __device__ void for_each_tile(const Each& each) const {
    const unsigned cluster = cluster_rows * cluster_columns;
    for (std::size_t i = blockIdx.x / cluster; i < run.raster.count(); i += gridDim.x / cluster) {
      const auto place = run.raster.place(i);
      each(static_cast<unsigned>(place.row * cluster_rows + rank / cluster_columns) * kRows,
           static_cast<unsigned>(place.column * cluster_columns + rank % cluster_columns) * kColumns);
    }
  }
};

/// A block's share of what a tile needs of one matrix: lines that it fetches, for all blocks that need them, too.
struct LineShare {
  const GemmLines& lines;
  unsigned each;          ///< lines of a share
  unsigned which, among;  ///< this block's share, and of how many
  std::uint16_t blocks;   ///< of the cluster, that need the tile's lines

  /// Bytes of a step that arrive of all shares together, where the tile's lines begin at `first`.
  __device__ unsigned arriving(unsigned first) const {
    return first < lines.count ? min(each * among, lines.count - first) * kGemmStepBytes : 0;
  }
  __device__ void fetch(std::uint8_t* tile, const PhaseBarrier& barrier, unsigned along_k, unsigned first) const {
    const unsigned own = first + which * each;
    if (own >= lines.count) return;
    const CUtensorMap& map = own + each <= lines.count ? lines.map : lines.last;
    std::uint8_t* const to = tile + which * each * kGemmStepBytes;
    if (among == 1) {
      tcnum::fetch(map, to, barrier, along_k, own);
    } else {
      fetch_for(blocks, map, to, barrier, along_k, own);
    }
  }
};

/// What the loading thread does. Blocks of a cluster's row share A, those of a column B.
template <class Block>
__device__ void load_tiles(const Block& block) {
  const unsigned in_row = block.rank % block.cluster_columns, in_column = block.rank / block.cluster_columns;
  std::uint16_t row_blocks = 0, column_blocks = 0;
  for (unsigned i = 0; i < block.cluster_columns; ++i) {
    row_blocks |= static_cast<std::uint16_t>(1U << (in_column * block.cluster_columns + i));
  }
  for (unsigned i = 0; i < block.cluster_rows; ++i) {
    column_blocks |= static_cast<std::uint16_t>(1U << (i * block.cluster_columns + in_row));
  }
  const LineShare a{block.run.a, Block::kTile.rows / block.cluster_columns, in_row, block.cluster_columns, row_blocks};
  const LineShare b{block.run.b, Block::kColumns / block.cluster_rows, in_column, block.cluster_rows, column_blocks};
  RingPlace place;
  block.for_each_tile([&](unsigned row, unsigned column) {
    const unsigned arriving = a.arriving(row) + b.arriving(column);
    for (unsigned step = 0; step < block.run.steps; ++step) {
      block.empty(place.stage).wait(place.parity ^ 1);  // at first they are
      const PhaseBarrier full = block.full(place.stage);
      full.expect(arriving);
      const unsigned k = step * Block::kStepElements;
      a.fetch(block.a(place.stage), full, k, row);
      b.fetch(block.b(place.stage), full, k, column);
      place.advance(Block::kStages);
    }
  });
}

/// Writes 64 rows of results, a panel behind the other. Lane l of warp w has, in d[4j + i], row 16w + l/4 + 8(i/2) and
/// column 8j + 2(l%4) + i%2.
template <class Op, class Block>
__device__ void write_rows(const Block& block, const float (&d)[Op::kDRegisters], unsigned multiplier, unsigned row,
                           unsigned column, unsigned& next_panel) {
  const unsigned thread = threadIdx.x % kGemmWarpgroup, lane = thread % 32, warp = thread / 32;
  constexpr int kMatrices = kPanelColumns / 8;  // of 8 × 8 results in 8 rows of a panel
  // stmatrix takes the addresses of the rows of four: two below each other, and two to their right.
  const unsigned in_panel = 16 * warp + (lane / 8 % 2) * 8 + lane % 8;
#pragma unroll
  for (int first = 0; first < Op::kN / 8; first += kMatrices) {
    std::uint8_t* const panel = block.panel(multiplier, next_panel);
    if (thread == 0) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPanels - 1) : "memory");
    meet_in_warpgroup(1 + multiplier);
#pragma unroll
    for (int j = 0; j < kMatrices; j += 2) {
      const float* const four = d + (first + j) * 4;
      const unsigned chunk = (static_cast<unsigned>(j) + lane / 16) ^ in_panel % 8;  // the swizzle
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                       sync::shared_address(panel) + in_panel * kGemmStepBytes + chunk * kChunkBytes),
                   "r"(pair_of<Op::kResult>(four[0], four[1])), "r"(pair_of<Op::kResult>(four[2], four[3])),
                   "r"(pair_of<Op::kResult>(four[4], four[5])), "r"(pair_of<Op::kResult>(four[6], four[7]))
                   : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    meet_in_warpgroup(1 + multiplier);
    if (thread == 0) {
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];\n"
                   "cp.async.bulk.commit_group;" ::"l"(&block.run.d),
                   "r"(sync::shared_address(panel)), "r"(column + static_cast<unsigned>(first) * 8), "r"(row)
                   : "memory");
    }
    next_panel ^= 1;
  }
}

/// What a multiplying warpgroup does. One step's wgmma are under way while the next one's are begun; then the stage
/// of the step before is free.
template <class Op, class Block>
__device__ void multiply_tiles(const Block& block, unsigned multiplier) {
  constexpr unsigned kParts = Block::kTile.rows / (kGemmMultipliers * kWgmmaRows);  // of 64 rows
  const SharedLayout layout = wgmma_layout(kSwizzle128, kRowBytes, Op::kBytes);
  const unsigned thread = threadIdx.x % kGemmWarpgroup, cluster = block.cluster_rows * block.cluster_columns;
  RingPlace place;
  unsigned next_panel = 0;
  block.for_each_tile([&](unsigned row, unsigned column) {
    float d[kParts][Op::kDRegisters];
    unsigned before = 0;
    for (unsigned step = 0; step < block.run.steps; ++step) {
      block.full(place.stage).wait(place.parity);
      const std::uint64_t b = wgmma_descriptor(layout, block.b(place.stage));
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (unsigned part = 0; part < kParts; ++part) {
        const std::uint64_t a = wgmma_descriptor(
            layout, block.a(place.stage) + (multiplier * kParts + part) * kWgmmaRows * kGemmStepBytes);
        Op::multiply_step(d[part], a, b, step > 0);
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      if (step > 0) {
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (thread < cluster) block.empty(before).arrive_at(thread);
      }
      before = place.stage;
      place.advance(Block::kStages);
    }
#pragma unroll
    for (unsigned part = 0; part < kParts; ++part) Op::wait_for(d[part]);
    if (thread < cluster) block.empty(before).arrive_at(thread);
#pragma unroll
    for (unsigned part = 0; part < kParts; ++part) {
      write_rows<Op>(block, d[part], multiplier, row + (multiplier * kParts + part) * kWgmmaRows, column, next_panel);
    }
  });
  if (thread == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

template <class Op, unsigned kRows, unsigned kClusterRows, unsigned kClusterColumns>
__global__ void __launch_bounds__(kGemmThreads, 1) gemm_kernel(const __grid_constant__ GemmLaunch run) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ std::uint8_t shared[];
  using Block = GemmBlock<Op, kRows>;
  constexpr unsigned kCluster = kClusterRows * kClusterColumns;
  const unsigned misplaced = sync::shared_address(shared) % kSwizzlePeriod;
  const Block block{run, kClusterRows, kClusterColumns, blockIdx.x % kCluster,
                    shared + (misplaced == 0 ? 0 : kSwizzlePeriod - misplaced)};
  SmTimes& times = run.times[current_sm()];
  if (threadIdx.x == 0) {
    if (times.first_ns == 0) {
      times.first_clock = clock64();
      times.first_ns = nanoseconds();
    }
    for (unsigned i = 0; i < Block::kStages; ++i) {
      block.full(i).init(1);
      block.empty(i).init(kGemmMultipliers * kCluster);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  sync::meet_cluster();
  const unsigned warpgroup = threadIdx.x / kGemmWarpgroup;
  // Registers go from the warpgroup that loads to those that hold the sums.
  if (warpgroup == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) load_tiles(block);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    multiply_tiles<Op>(block, warpgroup - 1);
  }
  __syncwarp();
  sync::meet_cluster();  // no block may go while others still arrive at its barriers
  if (threadIdx.x == 0) {
    times.last_clock = clock64();
    times.last_ns = nanoseconds();
  }
#else
  __trap();
#endif
}

template <class Op, unsigned kRows, unsigned kClusterRows, unsigned kClusterColumns>
constexpr GemmKernel gemm_kernel_row() {
  constexpr GemmTile kTile{kRows, Op::kN, kClusterRows, kClusterColumns};
  return {kTile,
          Op::kOperand,
          reinterpret_cast<const void*>(&gemm_kernel<Op, kRows, kClusterRows, kClusterColumns>),
          kGemmThreads,
          stages_of(kTile) * stage_bytes(kTile) + kGemmOtherBytes};
}

}  // namespace tcnum

/// An in-and-out list of registers.
#define TCNUM_ASM_INOUT_1(z, i, R_x) "+" BOOST_PP_TUPLE_ELEM(2, 0, R_x)(BOOST_PP_TUPLE_ELEM(2, 1, R_x)[i])
#define TCNUM_ASM_INOUTS(R, count, x) BOOST_PP_ENUM(count, TCNUM_ASM_INOUT_1, (R, x))

/// Defines the type of an instruction: TYPES is its suffix of formats, ND the number of its accumulators, A and B the
/// numbers of the operands behind them, TAIL its immediates.
///
/// multiply_step: four along k, of which descriptors are 32 bytes apart, two in their units of 16.
#define TCNUM_GEMM_ONE(TEXT, ND, A, B, PRESENT, TAIL) \
  "wgmma.mma_async.sync.aligned." TEXT " " TCNUM_ASM_VECTOR(0, ND) ", " A ", " B ", " PRESENT ", 1, 1" TAIL ";\n"
#define TCNUM_GEMM_OP(TYPE, TEXT, ELEMENT_BYTES, N, ND, OPERAND, RESULT, TAIL)                                         \
  struct TYPE {                                                                                                        \
    static constexpr int kN = N, kDRegisters = ND, kBytes = ELEMENT_BYTES;                                             \
    static constexpr FormatId kOperand = FormatId::OPERAND, kResult = FormatId::RESULT;                                \
    __device__ static void multiply_step(float (&d)[ND], std::uint64_t a, std::uint64_t b, bool on) {                  \
      asm volatile("{\n.reg .pred on, yes;\n.reg .b64 a1, a2, a3, b1, b2, b3;\n"                                       \
                   "setp.ne.b32 on, " TCNUM_ASM_OPERAND(BOOST_PP_ADD(ND, 2)) ", 0;\n"                                  \
                   "setp.eq.b32 yes, 0, 0;\n"                                                                          \
                   "add.s64 a1, " TCNUM_ASM_OPERAND(ND) ", 2;\nadd.s64 a2, " TCNUM_ASM_OPERAND(ND) ", 4;\n"            \
                   "add.s64 a3, " TCNUM_ASM_OPERAND(ND) ", 6;\n"                                                       \
                   "add.s64 b1, " TCNUM_ASM_OPERAND(BOOST_PP_ADD(ND, 1)) ", 2;\n"                                      \
                   "add.s64 b2, " TCNUM_ASM_OPERAND(BOOST_PP_ADD(ND, 1)) ", 4;\n"                                      \
                   "add.s64 b3, " TCNUM_ASM_OPERAND(BOOST_PP_ADD(ND, 1)) ", 6;\n"                                      \
                   TCNUM_GEMM_ONE(TEXT, ND, TCNUM_ASM_OPERAND(ND), TCNUM_ASM_OPERAND(BOOST_PP_ADD(ND, 1)), "on", TAIL) \
                   TCNUM_GEMM_ONE(TEXT, ND, "a1", "b1", "yes", TAIL)                                                   \
                   TCNUM_GEMM_ONE(TEXT, ND, "a2", "b2", "yes", TAIL)                                                   \
                   TCNUM_GEMM_ONE(TEXT, ND, "a3", "b3", "yes", TAIL) "}"                                               \
                   : TCNUM_ASM_INOUTS("f", ND, d)                                                                      \
                   : "l"(a), "l"(b), "r"(static_cast<int>(on))                                                         \
                   : "memory");                                                                                        \
    }                                                                                                                  \
    /** Nothing looks at the accumulators before. */                                                                   \
    __device__ static void wait_for(float (&d)[ND]) {                                                                  \
      asm volatile("wgmma.wait_group.sync.aligned 0;" : TCNUM_ASM_INOUTS("f", ND, d)::"memory");                       \
    }                                                                                                                  \
  };

/// The rows of the table of kernels for one format, which has instructions of N = 64, 128 and 256: as gemm_tiles() says.
#define TCNUM_GEMM_TABLE(NAME)                                                                                      \
  gemm_kernel_row<NAME##N64, 128, 1, 1>(), gemm_kernel_row<NAME##N128, 128, 1, 1>(),                                \
      gemm_kernel_row<NAME##N128, 128, 2, 1>(), gemm_kernel_row<NAME##N256, 128, 1, 1>(),                           \
      gemm_kernel_row<NAME##N256, 128, 2, 1>(), gemm_kernel_row<NAME##N128, 256, 1, 1>(),                           \
      gemm_kernel_row<NAME##N128, 256, 1, 2>()
