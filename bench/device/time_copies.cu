// Timing copies from global to shared memory, each way that there is.
#include <stdexcept>
#include <string>

#include "gpu_device.hpp"
#include "phase_barrier.cuh"
#include "probes/cluster_grid.hpp"
#include "timing_common.cuh"

namespace tcnum {

/// Not an unnamed namespace: where timing kernels are not built, nothing uses these, and nvcc would warn.
namespace copies {

/// Blocks of a launch, and dynamic shared memory of each; at least so much that no two fit on an SM.
struct CopyGrid : ClusterGrid {
  std::size_t shared_bytes = 0;
};

/// What the barriers of all rings of a block take of its shared memory.
inline constexpr std::size_t kCopyBarrierBytes = std::size_t{2} * kMostCopyWarps * kMostCopyStages * 8;

struct CopyRingLaunch {
  const std::byte* buffer;
  BoxLayout layout;  ///< of boxes that arrive: of a cluster's, whole ones
  std::uint32_t copy_bytes, stages, copies;
  std::uint32_t apart;  ///< from the first box of a block, or cluster, to that of the next
  std::uint32_t step;   ///< from a warp's box to its next one
  bool read_all;
  BlockTimes* times;
  std::uint32_t* checksums;  ///< [block][warp]
};
struct CopyLatencyLaunch {
  const std::byte* buffer;
  BoxLayout layout;
  std::uint32_t copy_bytes, copies, apart;
  bool from_l2;
  std::uint32_t* cycles;     ///< of each copy
  std::uint32_t* checksums;  ///< [copy][block]; zero before
};

inline constexpr unsigned kAll = 0xffffffff;
inline constexpr std::uint32_t kPieceBytes = 16;  ///< of a thread at a time
inline constexpr std::uint32_t kWordBytes = 4;
/// ptxas has to be told, or it saves registers for a second block, and stores loads before the last one is under way.
inline constexpr unsigned kBlocksOfSm = 1;

/// Aligned as tensor copies want it.
extern __shared__ __align__(128) uint4 dynamic_shared[];

using sync::cluster_rank, sync::meet_cluster, sync::shared_address;

__device__ std::uint32_t load_shared(std::uint32_t address) {
  std::uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}

/// Lets the copy engine and the other blocks of the cluster know of barriers.
__device__ void publish() {
  if constexpr (kCompiledFor >= 90) {
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
  }
}

/// Threads that copy together, and this one's number.
struct Group {
  unsigned threads, thread;
  __device__ bool leads() const { return thread == 0; }
};

/// A stage of a ring: where its bytes arrive, and its barriers.
struct Stage {
  std::uint32_t to;
  PhaseBarrier full;   ///< the bytes are there
  PhaseBarrier empty;  ///< all blocks of the cluster have read what was there
};

template <unsigned kCount>
__device__ void load_and_store(const std::byte* from, std::uint32_t to, std::uint32_t stride) {
  uint4 pieces[kCount];
#pragma unroll
  for (unsigned i = 0; i < kCount; ++i) {
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(pieces[i].x), "=r"(pieces[i].y), "=r"(pieces[i].z), "=r"(pieces[i].w)
                 : "l"(from + std::size_t{i} * stride)
                 : "memory");
  }
#pragma unroll
  for (unsigned i = 0; i < kCount; ++i) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to + i * stride), "r"(pieces[i].x), "r"(pieces[i].y),
                 "r"(pieces[i].z), "r"(pieces[i].w)
                 : "memory");
  }
}

// Each way: how a group begins the copy of a box (the boxes' layout is the launch's), how it says that no other
// belongs to this turn of the ring, and how it waits for the oldest of so many that may be under way.

struct LoadStore {
  static constexpr int kFirstArch = 50, kPastArch = 1000;
  static constexpr unsigned kCluster = 1;
  template <class Launch>
  static __device__ void begin(const Launch& run, const CUtensorMap&, const Group& group, const Stage& stage,
                               std::uint32_t box) {
    const std::byte* const from = run.buffer + std::size_t{box} * run.copy_bytes;
    const std::uint32_t stride = group.threads * kPieceBytes, own = group.thread * kPieceBytes;
    if (own >= run.copy_bytes) return;
    const std::uint32_t to = stage.to + own;
    // Sizes and threads are powers of two.
    switch (run.copy_bytes / stride) {
      case 0:
      case 1:
        load_and_store<1>(from + own, to, stride);
        break;
      case 2:
        load_and_store<2>(from + own, to, stride);
        break;
      case 4:
        load_and_store<4>(from + own, to, stride);
        break;
      default:
        for (std::uint32_t at = 0; at < run.copy_bytes; at += kLoadsInFlight * stride) {
          load_and_store<kLoadsInFlight>(from + at + own, to + at, stride);
        }
    }
  }
  static __device__ void close() {}
  static __device__ void wait(unsigned, const Stage&, unsigned) {}
};

struct Async {
  static constexpr int kFirstArch = 80, kPastArch = 1000;
  static constexpr unsigned kCluster = 1;
  template <class Launch>
  static __device__ void begin(const Launch& run, const CUtensorMap&, const Group& group, const Stage& stage,
                               std::uint32_t box) {
    const std::byte* const from = run.buffer + std::size_t{box} * run.copy_bytes;
    for (std::uint32_t at = group.thread * kPieceBytes; at < run.copy_bytes; at += group.threads * kPieceBytes) {
      if constexpr (kCompiledFor >= kFirstArch) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(stage.to + at), "l"(from + at) : "memory");
      }
    }
  }
  static __device__ void close() {
    if constexpr (kCompiledFor >= kFirstArch) asm volatile("cp.async.commit_group;" ::: "memory");
  }
  static __device__ void wait(unsigned under_way, const Stage&, unsigned) {
    if constexpr (kCompiledFor >= kFirstArch) {
      switch (under_way) {  // the instruction wants a constant: how many others may go on
        case 1:
          asm volatile("cp.async.wait_group 0;" ::: "memory");
          break;
        case 2:
          asm volatile("cp.async.wait_group 1;" ::: "memory");
          break;
        case 3:
          asm volatile("cp.async.wait_group 2;" ::: "memory");
          break;
        default:
          asm volatile("cp.async.wait_group 3;" ::: "memory");
      }
    }
  }
};

/// What ways with barriers share.
struct WithBarrier {
  static constexpr int kFirstArch = 90, kPastArch = 1000;
  static __device__ void close() {}
  static __device__ void wait(unsigned, const Stage& stage, unsigned parity) { stage.full.wait(parity); }
};

struct Bulk : WithBarrier {
  static constexpr unsigned kCluster = 1;
  template <class Launch>
  static __device__ void begin(const Launch& run, const CUtensorMap&, const Group& group, const Stage& stage,
                               std::uint32_t box) {
    if (!group.leads()) return;
    const std::byte* const from = run.buffer + std::size_t{box} * run.copy_bytes;
    stage.full.expect(run.copy_bytes);
    if constexpr (kCompiledFor >= kFirstArch) {
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(stage.to),
          "l"(from), "r"(run.copy_bytes), "r"(stage.full.address())
          : "memory");
    }
  }
};

/// One copy of a box at these coordinates, in elements.
template <unsigned kDimensions>
__device__ void begin_tensor(const CUtensorMap& map, const Stage& stage, const int (&at)[5]) {
  if constexpr (kCompiledFor >= 90) {
    const void* const m = &map;
#define TCNUM_TENSOR(DIMENSION, COORDINATES, ...)                                                      \
  if constexpr (kDimensions == DIMENSION) {                                                            \
    asm volatile("cp.async.bulk.tensor." #DIMENSION                                                    \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" COORDINATES \
                 "}], [%2];" ::"r"(stage.to),                                                          \
                 "l"(m), "r"(stage.full.address()), __VA_ARGS__                                        \
                 : "memory");                                                                          \
  }
    TCNUM_TENSOR(1, "%3", "r"(at[0]))
    TCNUM_TENSOR(2, "%3, %4", "r"(at[0]), "r"(at[1]))
    TCNUM_TENSOR(3, "%3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]))
    TCNUM_TENSOR(4, "%3, %4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]))
    TCNUM_TENSOR(5, "%3, %4, %5, %6, %7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]))
#undef TCNUM_TENSOR
  }
}

template <unsigned kDimensions>
struct Tensor : WithBarrier {
  static constexpr unsigned kCluster = 1;
  template <class Launch>
  static __device__ void begin(const Launch& run, const CUtensorMap& map, const Group& group, const Stage& stage,
                               std::uint32_t box) {
    if (!group.leads()) return;
    stage.full.expect(run.copy_bytes);
    int at[BoxLayout::kMostDimensions] = {};
#pragma unroll
    for (unsigned i = 0; i < kDimensions; ++i) {
      // What place() says; only the last dimension's number of boxes need not be a power of two.
      const bool last = i + 1 == kDimensions;
      const unsigned bits = last ? 0 : __ffs(static_cast<int>(run.layout.boxes[i])) - 1;
      at[i] = static_cast<int>((last ? box : box & (run.layout.boxes[i] - 1)) * run.layout.box[i]);
      box >>= bits;
    }
    begin_tensor<kDimensions>(map, stage, at);
  }
};

/// Of two dimensions: each block of the cluster brings some of the box's rows, to all of them.
template <unsigned kBlocks>
struct Multicast : WithBarrier {
  static constexpr int kPastArch = 120;  ///< ptxas warns of multicast on these
  static constexpr unsigned kCluster = kBlocks;
  template <class Launch>
  static __device__ void begin(const Launch& run, const CUtensorMap& map, const Group& group, const Stage& stage,
                               std::uint32_t box) {
    if (!group.leads()) return;
    stage.full.expect(run.copy_bytes);
    if constexpr (kCompiledFor >= kFirstArch) {
      constexpr std::uint16_t kEveryBlock = (1u << kBlocks) - 1;
      const unsigned rank = cluster_rank(), across = run.layout.boxes[0];  // a power of two
      const int x = static_cast<int>((box & (across - 1)) * run.layout.box[0]);
      const int y = static_cast<int>((box / across) * run.layout.box[1] + rank * (run.layout.box[1] / kBlocks));
      asm volatile(
          "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
          " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(stage.to + rank * (run.copy_bytes / kBlocks)),
          "l"(&map), "r"(stage.full.address()), "r"(x), "r"(y), "h"(kEveryBlock)
          : "memory");
    }
  }
};

/// This thread's part of the sum of a copy's words.
__device__ std::uint32_t sum_of(std::uint32_t from, std::uint32_t bytes, const Group& group) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = group.thread; i < bytes / kWordBytes; i += group.threads) {
    sum += weighted(load_shared(from + kWordBytes * i), i);
  }
  return sum;
}
__device__ std::uint32_t sum_of_warp(std::uint32_t sum) {
  for (int other = kWarpLanes / 2; other > 0; other /= 2) sum += __shfl_xor_sync(kAll, sum, other);
  return sum;
}

template <class Way>
inline constexpr bool kIsBuilt = kCompiledFor >= Way::kFirstArch&& kCompiledFor <
                                 Way::kPastArch&& is_timed(kCompiledFor);

template <class Way>
__global__ void __launch_bounds__(kMostCopyWarps* kWarpLanes, kBlocksOfSm)
    ring_kernel(const __grid_constant__ CopyRingLaunch run, const __grid_constant__ CUtensorMap map) {
  if constexpr (!kIsBuilt<Way>) {
    __trap();
  } else {
    __shared__ std::uint64_t barriers[2][kMostCopyWarps][kMostCopyStages];
    static_assert(sizeof(barriers) == kCopyBarrierBytes);
    const unsigned warp = threadIdx.x / kWarpLanes;
    const Group group{kWarpLanes, threadIdx.x % kWarpLanes};
    const std::uint32_t ring = shared_address(dynamic_shared) + warp * run.stages * run.copy_bytes;
    const auto stage_of = [&](unsigned stage) {
      const std::uint32_t before = stage * static_cast<std::uint32_t>(sizeof(std::uint64_t));
      return Stage{ring + stage * run.copy_bytes, PhaseBarrier(shared_address(&barriers[0][warp][0]) + before),
                   PhaseBarrier(shared_address(&barriers[1][warp][0]) + before)};
    };
    if (group.leads()) {
      for (unsigned s = 0; s < run.stages; ++s) {
        stage_of(s).full.init(1);
        stage_of(s).empty.init(Way::kCluster);
      }
      publish();
    }
    if constexpr (Way::kCluster > 1) meet_cluster();

    const std::uint32_t boxes = run.layout.count();
    std::uint32_t box = (blockIdx.x / Way::kCluster * run.apart + warp) % boxes;
    const auto begin_next = [&](unsigned stage) {
      Way::begin(run, map, group, stage_of(stage), box);
      box += run.step;
      while (box >= boxes) box -= boxes;
    };

    Stopwatch stopwatch(run.times);
    stopwatch.start();
    std::uint32_t begun = 0;
    for (unsigned s = 0; s < run.stages; ++s) {
      if (begun < run.copies) {
        begin_next(s);
        ++begun;
      }
      Way::close();
    }
    std::uint32_t checksum = 0;
    unsigned stage = 0, parity = 0;
#pragma unroll 1
    for (std::uint32_t i = 0; i < run.copies; ++i) {
      const Stage here = stage_of(stage);
      Way::wait(run.stages, here, parity);
      __syncwarp();
      if (run.read_all) {
        checksum = next_checksum(checksum, sum_of_warp(sum_of(here.to, run.copy_bytes, group)));
        __syncwarp();
      }
      if (begun < run.copies) {
        if constexpr (Way::kCluster > 1) {
          // Nobody brings anything here before all blocks have done with what is here.
          if (group.thread < Way::kCluster) here.empty.arrive_at(group.thread);
          here.empty.wait(parity);
        }
        begin_next(stage);
        ++begun;
      }
      Way::close();
      if (++stage == run.stages) {
        stage = 0;
        parity ^= 1;
      }
    }
    stopwatch.stop();
    stopwatch.finish();

    if (!run.read_all) {
      const unsigned left = min(run.stages, run.copies);
      for (std::uint32_t i = run.copies - left; i < run.copies; ++i) {
        const std::uint32_t sum = sum_of(stage_of(i % run.stages).to, run.copy_bytes, group);
        checksum = next_checksum(checksum, sum_of_warp(sum));
      }
    }
    if (group.leads()) run.checksums[blockIdx.x * (blockDim.x / kWarpLanes) + warp] = checksum;
    if constexpr (Way::kCluster > 1) meet_cluster();  // nobody leaves while others reach for its barriers
  }
}

template <class Way>
__global__ void __launch_bounds__(kCopyLatencyThreads, kBlocksOfSm)
    latency_kernel(const __grid_constant__ CopyLatencyLaunch run, const __grid_constant__ CUtensorMap map) {
  if constexpr (!kIsBuilt<Way>) {
    __trap();
  } else {
    __shared__ std::uint64_t full;
    const Group group{blockDim.x, threadIdx.x};
    const Stage stage{shared_address(dynamic_shared), PhaseBarrier(shared_address(&full)), PhaseBarrier(0)};
    const std::uint32_t last_word = stage.to + run.copy_bytes - kWordBytes;
    if (group.leads()) {
      stage.full.init(1);
      publish();
    }
    for (std::uint32_t i = 0; i < run.copies; ++i) {
      const std::uint32_t box = i * run.apart;
      if (run.from_l2) {
        std::uint32_t seen = 0;
        for (std::uint32_t e = group.thread; e < run.copy_bytes / kCopyElementBytes; e += group.threads) {
          const auto* const at =
              reinterpret_cast<const std::uint32_t*>(run.buffer + run.layout.element(box, e) * kCopyElementBytes);
          std::uint32_t word;
          asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
          seen ^= word;
        }
        do_not_optimize(seen);
      }
      __syncthreads();
      if constexpr (Way::kCluster > 1) meet_cluster();
      const long long begin = clock64();
      Way::begin(run, map, group, stage, box);
      Way::close();
      Way::wait(1, stage, i & 1);
      if constexpr (std::is_same_v<Way, LoadStore> || std::is_same_v<Way, Async>) __syncthreads();
      do_not_optimize(load_shared(last_word));
      const long long end = clock64();
      if (group.leads() && blockIdx.x == 0) run.cycles[i] = static_cast<std::uint32_t>(end - begin);
      atomicAdd(run.checksums + i * gridDim.x + blockIdx.x, sum_of(stage.to, run.copy_bytes, group));
      __syncthreads();
    }
    if constexpr (Way::kCluster > 1) meet_cluster();
  }
}

}  // namespace copies

namespace {

using namespace copies;

using RingKernel = void (*)(CopyRingLaunch, CUtensorMap);
using LatencyKernel = void (*)(CopyLatencyLaunch, CUtensorMap);
struct Kernels {
  CopyWay way;
  unsigned dimensions, cluster;
  RingKernel ring;
  LatencyKernel latency;
};
template <class Way>
constexpr Kernels row(CopyWay way, unsigned dimensions = 1) {
  return {way, dimensions, Way::kCluster, ring_kernel<Way>, latency_kernel<Way>};
}

const Kernels& kernels_of(const CopyMethod& method) {
  static const Kernels kRows[] = {
      row<LoadStore>(CopyWay::load_store),   row<Async>(CopyWay::async),         row<Bulk>(CopyWay::bulk),
      row<Tensor<1>>(CopyWay::tensor, 1),    row<Tensor<2>>(CopyWay::tensor, 2), row<Tensor<3>>(CopyWay::tensor, 3),
      row<Tensor<4>>(CopyWay::tensor, 4),    row<Tensor<5>>(CopyWay::tensor, 5), row<Multicast<2>>(CopyWay::tensor, 2),
      row<Multicast<4>>(CopyWay::tensor, 2),
  };
  for (const Kernels& each : kRows) {
    if (each.way == method.way && each.dimensions == method.dimensions && each.cluster == method.cluster) return each;
  }
  throw std::logic_error("no such way to copy");
}

template <class Launch>
cudaError_t start(void (*kernel)(Launch, CUtensorMap), const CopyGrid& grid, const Launch& run,
                  const CUtensorMap& map) {
  if (const cudaError_t error = sync::allow(kernel, grid, grid.shared_bytes); error != cudaSuccess) return error;
  cudaLaunchAttribute attribute{};
  const cudaLaunchConfig_t config = sync::config_of(grid, grid.shared_bytes, attribute);
  return cudaLaunchKernelEx(&config, kernel, Launch(run), CUtensorMap(map));
}

/// How many clusters of such blocks run at the same time.
cudaError_t count_copy_clusters(RingKernel kernel, const CopyGrid& grid, int* clusters) {
  if (const cudaError_t error = sync::allow(kernel, grid, grid.shared_bytes); error != cudaSuccess) return error;
  cudaLaunchAttribute attribute{};
  const cudaLaunchConfig_t config = sync::config_of(grid, grid.shared_bytes, attribute);
  return cudaOccupancyMaxActiveClusters(clusters, kernel, &config);
}

constexpr std::size_t kSharedAlignment = 128;  // of tensor copies

/// Of the boxes that one instruction brings: of a cluster's, each block's rows.
CUtensorMap map_of(const CopyMethod& method, const BoxLayout& layout, void* buffer) {
  TensorLayout tensor{CU_TENSOR_MAP_DATA_TYPE_UINT64, {}, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE};
  std::uint64_t stride = kCopyElementBytes;
  for (unsigned i = 0; i < layout.dimensions; ++i) {
    const std::uint64_t size = std::uint64_t{layout.box[i]} * layout.boxes[i];
    const bool last = i + 1 == layout.dimensions;
    tensor.dimensions.push_back({size, layout.box[i] / (last ? method.cluster : 1), stride});
    stride *= size;
  }
  return encode_tensor_map(tensor, buffer);
}

CUtensorMap map_for(const CopyMethod& method, const BoxLayout& layout, void* buffer) {
  return method.way == CopyWay::tensor ? map_of(method, layout, buffer) : CUtensorMap{};
}

/// Shared memory of a block: more than half of what Hopper's SMs have, so that no two blocks share one, or what a block
/// can have.
std::size_t shared_bytes(std::size_t needed, std::size_t most) {
  constexpr std::size_t kBytes = std::size_t{120} << 10;
  return std::max(needed, std::min(kBytes, most));
}

}  // namespace

std::size_t GpuTimingDevice::ring_bytes() {
  require_kernels("copies");
  return memory_facts().shared_bytes - kCopyBarrierBytes - kSharedAlignment;
}

CheckedTimes GpuTimingDevice::copy(const CopyWork& work, unsigned launches) {
  const CopyMethod& method = work.method;
  CopyGrid grid{{sms_, work.warps * kWarpLanes, method.cluster},
                shared_bytes(std::size_t{work.warps} * work.stages * work.copy_bytes, ring_bytes())};
  if (grid.cluster > 1) {
    int clusters = 0;
    check(count_copy_clusters(kernels_of(method).ring, grid, &clusters), "cudaOccupancyMaxActiveClusters");
    if (clusters == 0) throw std::runtime_error("no cluster of " + std::to_string(grid.cluster) + " blocks fits");
    grid.blocks = static_cast<unsigned>(clusters) * grid.cluster;
  }
  auto* const buffer = memory<std::byte>("buffer", work.buffer_bytes);
  const BoxLayout layout = box_layout(method.dimensions, work.copy_bytes, work.buffer_bytes);
  const CUtensorMap map = map_for(method, layout, buffer);
  const std::size_t warps = std::size_t{grid.blocks} * work.warps;
  const std::uint32_t groups = grid.blocks / grid.cluster;
  CopyRingLaunch run{.buffer = buffer,
                     .layout = layout,
                     .copy_bytes = static_cast<std::uint32_t>(work.copy_bytes),
                     .stages = work.stages,
                     .copies = work.copies,
                     .apart = work.from_l2 ? layout.count() / groups : work.warps,
                     .step = work.from_l2 ? work.warps : groups * work.warps,
                     .read_all = work.read_all,
                     .times = nullptr,
                     .checksums = memory<std::uint32_t>("checksums", warps)};
  TimedBatch batch = launched("copies", run, launches, grid.blocks, BlocksRun::one_an_sm, [&] {
    if (work.from_l2) {
      read_through_l2("buffer", work.buffer_bytes);
    } else {
      flush();
    }
    return start(kernels_of(method).ring, grid, run, map);
  });
  return {std::move(batch), grid.blocks, downloaded(run.checksums, warps)};
}

CopyLatencies GpuTimingDevice::copy_latencies(const CopyLatencyWork& work) {
  const CopyMethod& method = work.method;
  const CopyGrid grid{{method.cluster, kCopyLatencyThreads, method.cluster},
                      shared_bytes(work.copy_bytes, ring_bytes())};
  auto* const buffer = memory<std::byte>("buffer", work.buffer_bytes);
  const BoxLayout layout = box_layout(method.dimensions, work.copy_bytes, work.buffer_bytes);
  const CUtensorMap map = map_for(method, layout, buffer);
  const std::uint32_t copies = work.copies + 1;  // the first is not timed
  const std::size_t sums = std::size_t{copies} * grid.blocks;
  if (!work.from_l2) flush();
  const CopyLatencyLaunch run{.buffer = buffer,
                              .layout = layout,
                              .copy_bytes = static_cast<std::uint32_t>(work.copy_bytes),
                              .copies = copies,
                              .apart = latency_box(work, layout.count(), 1),
                              .from_l2 = work.from_l2,
                              .cycles = memory<std::uint32_t>("cycles", copies),
                              .checksums = memory_of<std::uint32_t>(0, "checksums", sums)};
  check(start(kernels_of(method).latency, grid, run, map), "launch of a copy's latency");
  finish("a copy's latency");
  const auto cycles = downloaded(run.cycles, copies);
  CopyLatencies found{{cycles.begin() + 1, cycles.end()}, downloaded(run.checksums, sums)};
  found.checksums.erase(found.checksums.begin(), found.checksums.begin() + grid.blocks);
  return found;
}

}  // namespace tcnum
