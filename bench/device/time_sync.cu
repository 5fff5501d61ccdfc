// Timing how threads and blocks meet: atomics, barriers, and the shared memory of a cluster's other blocks.
#include <algorithm>

#include "probes/clusters.cuh"
#include "sync_kernels.hpp"
#include "timing_common.cuh"

namespace tcnum {

/// Not an unnamed namespace: where timing kernels are not built, nothing uses these, and nvcc would warn.
namespace sync {

__device__ std::uint32_t load_cluster(std::uint32_t address) {
  std::uint32_t word = 0;
  if constexpr (kCompiledFor >= 90) {
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  }
  return word;
}

// An atomic that gives what was there, of a space.
#define TCNUM_ATOMIC(NAME, PTX, R)                                                     \
  static __device__ std::uint32_t NAME(Address at, std::uint32_t x) {                  \
    std::uint32_t old;                                                                 \
    asm volatile("atom." PTX " %0, [%1], %2;" : "=r"(old) : R(at), "r"(x) : "memory"); \
    return old;                                                                        \
  }
// The atomics of a space: the PTX of its name, and the constraint of its addresses.
#define TCNUM_ATOMICS(NAME, FIRST, SPACE, ADDRESS, R)                                                                 \
  struct NAME {                                                                                                       \
    using Address = ADDRESS;                                                                                          \
    static constexpr int kFirstArch = FIRST;                                                                          \
    TCNUM_ATOMIC(add, SPACE ".add.u32", R)                                                                            \
    TCNUM_ATOMIC(add_float, SPACE ".add.f32", R)                                                                      \
    TCNUM_ATOMIC(exchange, SPACE ".exch.b32", R)                                                                      \
    static __device__ void reduce(Address at, std::uint32_t x) {                                                      \
      asm volatile("red." SPACE ".add.u32 [%0], %1;" ::R(at), "r"(x) : "memory");                                     \
    }                                                                                                                 \
    static __device__ std::uint32_t compare_and_swap(Address at, std::uint32_t expected, std::uint32_t x) {           \
      std::uint32_t old;                                                                                              \
      asm volatile("atom." SPACE ".cas.b32 %0, [%1], %2, %3;" : "=r"(old) : R(at), "r"(expected), "r"(x) : "memory"); \
      return old;                                                                                                     \
    }                                                                                                                 \
  };
TCNUM_ATOMICS(SharedAtomics, 50, "shared", std::uint32_t, "r")
TCNUM_ATOMICS(ClusterAtomics, 90, "shared::cluster", std::uint32_t, "r")
TCNUM_ATOMICS(GlobalAtomics, 50, "global", std::uint32_t*, "l")

enum class Atomic { add, reduce, add_float, exchange, compare_and_swap };

/// With what the one before gave.
template <Atomic kOp, class Space>
__device__ std::uint32_t chained(typename Space::Address at, std::uint32_t x) {
  if constexpr (kOp == Atomic::add) {
    return Space::add(at, x);
  } else if constexpr (kOp == Atomic::add_float) {
    return Space::add_float(at, x);
  } else if constexpr (kOp == Atomic::exchange) {
    return Space::exchange(at, x);
  } else if constexpr (kOp == Atomic::compare_and_swap) {
    return Space::compare_and_swap(at, x, x);
  } else {
    Space::reduce(at, x);
    return x;
  }
}

/// One thread's way through the steps: what the results add up to, and what a compare-and-swap expects.
struct AtomicThread {
  std::uint32_t given = 0, expected = 0;
};
template <Atomic kOp, class Space>
__device__ void step(typename Space::Address at, std::uint32_t tag, std::uint32_t one, AtomicThread& thread) {
  if constexpr (kOp == Atomic::reduce) {
    Space::reduce(at, one);
  } else if constexpr (kOp == Atomic::compare_and_swap) {
    const std::uint32_t old = Space::compare_and_swap(at, thread.expected, thread.expected + 1);
    const bool done = old == thread.expected;
    thread.given += done ? 1 : 0;
    thread.expected = done ? old + 1 : old;
  } else {
    thread.given += chained<kOp, Space>(at, kOp == Atomic::exchange ? tag : one);
  }
}

template <Atomic kOp, class Space>
__device__ std::uint32_t do_atomics(const AtomicLaunch& run, typename Space::Address at, std::uint32_t first_tag) {
  if (run.chained) {
    std::uint32_t x = run.one;
    if (threadIdx.x != 0) return 0;
#pragma unroll 1
    for (unsigned s = 0; s < run.steps; s += kSyncSteps) {
#pragma unroll
      for (unsigned u = 0; u < kSyncSteps; ++u) x = chained<kOp, Space>(at, x);
    }
    return x;
  }
  AtomicThread thread;
#pragma unroll 1
  for (unsigned s = 0; s < run.steps; s += kSyncSteps) {
#pragma unroll
    for (unsigned u = 0; u < kSyncSteps; ++u) step<kOp, Space>(at, first_tag + s + u, run.one, thread);
  }
  return thread.given;
}

template <Atomic kOp, class Space>
__global__ void __launch_bounds__(kMostThreads) atomics_kernel(const AtomicLaunch run) {
  if constexpr (kCompiledFor < Space::kFirstArch || !is_timed(kCompiledFor)) {
    __trap();
  } else {
    constexpr bool kIsGlobal = std::is_same_v<Space, GlobalAtomics>, kIsCluster = std::is_same_v<Space, ClusterAtomics>;
    __shared__ std::uint32_t words[kMostThreads];
    const unsigned thread = blockIdx.x * run.threads + threadIdx.x;
    if constexpr (!kIsGlobal) words[threadIdx.x] = 0;
    if constexpr (kIsCluster) meet_cluster();
    const unsigned place = run.same_address ? 0 : threadIdx.x;
    typename Space::Address at;
    if constexpr (kIsGlobal) {
      at = run.words + (run.same_address && !run.chained ? 0 : blockIdx.x * run.threads + place);
    } else {
      at = shared_address(words + place);
      if constexpr (kIsCluster) at = cluster_address(at, cluster_rank() ^ 1);
    }
    Stopwatch stopwatch(run.times);
    stopwatch.start();
    const std::uint32_t given = do_atomics<kOp, Space>(run, at, thread * run.steps + 1);
    do_not_optimize(given);
    stopwatch.stop();
    stopwatch.finish();
    if constexpr (kIsCluster) meet_cluster();
    run.given[thread] = given;
    if constexpr (!kIsGlobal) run.words[thread] = words[threadIdx.x];
  }
}

struct BlockBarrier {
  static constexpr int kFirstArch = 50;
  __device__ void meet() { __syncthreads(); }
};
struct MemoryBarrier {
  static constexpr int kFirstArch = 90;
  std::uint32_t address;
  __device__ void meet() {
    if constexpr (kCompiledFor >= kFirstArch) {
      asm volatile(
          "{\n.reg .b64 state;\n.reg .pred done;\n"
          "mbarrier.arrive.shared::cta.b64 state, [%0];\n"
          "again:\nmbarrier.try_wait.shared::cta.b64 done, [%0], state;\n@!done bra again;\n}" ::"r"(address)
          : "memory");
    }
  }
};
struct ClusterBarrier {
  static constexpr int kFirstArch = 90;
  __device__ void meet() { meet_cluster(); }
};
/// Memory is none of its business: who wants to read what others wrote before needs a fence.
struct RelaxedClusterBarrier {
  static constexpr int kFirstArch = 90;
  __device__ void meet() {
    if constexpr (kCompiledFor >= kFirstArch) {
      asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    }
  }
};
template <class Kind>
inline constexpr bool kOfClusters = std::is_same_v<Kind, ClusterBarrier> || std::is_same_v<Kind, RelaxedClusterBarrier>;
/// Around a barrier that orders no memory.
template <class Kind>
__device__ void fence_for() {
  if constexpr (std::is_same_v<Kind, RelaxedClusterBarrier>) asm volatile("fence.acq_rel.cluster;" ::: "memory");
}

template <class Kind>
__global__ void __launch_bounds__(kMostThreads) barriers_kernel(const BarrierLaunch run) {
  if constexpr (kCompiledFor < Kind::kFirstArch || !is_timed(kCompiledFor)) {
    __trap();
  } else {
    __shared__ std::uint32_t slots[kMostThreads];
    Kind barrier{};
    if constexpr (std::is_same_v<Kind, MemoryBarrier>) {
      __shared__ std::uint64_t object;
      barrier.address = shared_address(&object);
      if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier.address), "r"(blockDim.x) : "memory");
      }
    }
    __syncthreads();
    Stopwatch stopwatch(run.times);
    barrier.meet();
    const long long begin = clock64();
#pragma unroll 1
    for (unsigned s = 0; s < run.steps; s += kSyncSteps) {
#pragma unroll
      for (unsigned u = 0; u < kSyncSteps; ++u) barrier.meet();
    }
    stopwatch.add(clock64() - begin);
    stopwatch.finish();

    unsigned right = 0;
    const unsigned next = (threadIdx.x + 1) % blockDim.x;
    std::uint32_t from = shared_address(slots + next);
    if constexpr (kOfClusters<Kind>) from = cluster_address(from, (cluster_rank() + 1) % cluster_size());
    for (unsigned s = 0; s < run.checks; ++s) {
      slots[threadIdx.x] = s * kMostThreads + threadIdx.x;
      fence_for<Kind>();
      barrier.meet();
      fence_for<Kind>();
      std::uint32_t found;
      if constexpr (kOfClusters<Kind>) {
        found = load_cluster(from);
      } else {
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(found) : "r"(from) : "memory");
      }
      right += found == s * kMostThreads + next ? 1 : 0;
      barrier.meet();
    }
    atomicAdd(run.right, static_cast<unsigned long long>(right));
  }
}

/// One warp a block. A pair at a time: the block `from` lays the cycle into the memory of `to`, and follows it.
__global__ void __launch_bounds__(kWarpLanes) latencies_kernel(const LatencyLaunch run) {
  if constexpr (kCompiledFor < 90 || !is_timed(kCompiledFor)) {
    __trap();
  } else {
    __shared__ std::uint32_t nodes[kClusterNodes];
    const unsigned size = cluster_size(), rank = cluster_rank(), cluster = blockIdx.x / size;
    meet_cluster();
    for (unsigned pair = 0; pair < size * size; ++pair) {
      if (rank == pair / size) {
        const std::uint32_t base = cluster_address(shared_address(nodes), pair % size);
        for (std::uint32_t i = threadIdx.x; i < kClusterNodes; i += kWarpLanes) {
          asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(base + 4 * i), "r"(base + 4 * next_cluster_node(i))
                       : "memory");
        }
        asm volatile("fence.acq_rel.cluster;" ::: "memory");
        __syncwarp();
        if (threadIdx.x == 0) {
          std::uint32_t at = base;
          for (unsigned hop = 0; hop < kClusterNodes; ++hop) at = load_cluster(at);  // once around: back at the first
          do_not_optimize(at);
          const long long begin = clock64();
#pragma unroll 1
          for (unsigned hop = 0; hop < kClusterHops; hop += 4 * kSyncSteps) {
#pragma unroll
            for (unsigned u = 0; u < 4 * kSyncSteps; ++u) at = load_cluster(at);
          }
          do_not_optimize(at);
          const long long end = clock64();
          run.cycles[cluster * size * size + pair] = static_cast<std::uint32_t>(end - begin);
          run.ends[cluster * size * size + pair] = (at - base) / 4;
        }
      }
      meet_cluster();
    }
  }
}

template <unsigned kParallel>
__device__ std::uint32_t read_round(std::uint32_t from) {
  constexpr unsigned kCount = kRingBytes / sizeof(uint4);
  std::uint32_t checksum = 0;
  for (unsigned i = threadIdx.x; i < kCount; i += kParallel * blockDim.x) {
    uint4 words[kParallel];
#pragma unroll
    for (unsigned p = 0; p < kParallel; ++p) {
      asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(words[p].x), "=r"(words[p].y), "=r"(words[p].z), "=r"(words[p].w)
                   : "r"(from + static_cast<std::uint32_t>(sizeof(uint4)) * (i + p * blockDim.x))
                   : "memory");
    }
#pragma unroll
    for (unsigned p = 0; p < kParallel; ++p) checksum ^= words[p].x ^ words[p].y ^ words[p].z ^ words[p].w;
  }
  return checksum;
}

__global__ void __launch_bounds__(kMostThreads) ring_kernel(const RingLaunch run) {
  if constexpr (kCompiledFor < 90 || !is_timed(kCompiledFor)) {
    __trap();
  } else {
    auto* const own = reinterpret_cast<std::uint32_t*>(dynamic_shared);
    const unsigned rank = cluster_rank();
    for (unsigned i = threadIdx.x; i < kRingBytes / sizeof(std::uint32_t); i += blockDim.x) own[i] = ring_word(rank, i);
    meet_cluster();
    const std::uint32_t from = cluster_address(shared_address(own), (rank + 1) % cluster_size());
    std::uint32_t checksum = 0;
    Stopwatch stopwatch(run.times);
    stopwatch.start();
#pragma unroll 1
    for (unsigned round = 0; round < run.rounds; ++round) {
      switch (run.parallel) {
        case 1:
          checksum = read_round<1>(from);
          break;
        case 2:
          checksum = read_round<2>(from);
          break;
        case 4:
          checksum = read_round<4>(from);
          break;
        default:
          checksum = read_round<8>(from);
      }
      do_not_optimize(checksum);
    }
    stopwatch.stop();
    stopwatch.finish();
    run.checksums[blockIdx.x * blockDim.x + threadIdx.x] = checksum;
    meet_cluster();  // nobody leaves while its memory is read
  }
}

}  // namespace sync

namespace {

using namespace sync;

/// Shared memory with which no second block of a kernel fits on an SM, beside the kernel's own arrays: kRingBytes, more
/// than half of what Hopper's SMs have, or all that a block can have where that is less.
template <class Kernel>
cudaError_t find_spoiler(Kernel* kernel, std::size_t* bytes) {
  int device = 0, most = 0;
  cudaFuncAttributes own{};
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&own, kernel);
  if (error == cudaSuccess) *bytes = std::min(kRingBytes, static_cast<std::size_t>(most) - own.sharedSizeBytes);
  return error;
}

template <class Launch>
cudaError_t start(void (*kernel)(Launch), const ClusterGrid& grid, const Launch& run) {
  std::size_t spoiler = 0;
  if (const cudaError_t error = find_spoiler(kernel, &spoiler); error != cudaSuccess) return error;
  if (const cudaError_t error = allow(kernel, grid, spoiler); error != cudaSuccess) return error;
  cudaLaunchAttribute attribute{};
  const cudaLaunchConfig_t config = config_of(grid, spoiler, attribute);
  return cudaLaunchKernelEx(&config, kernel, Launch(run));
}

using AtomicKernel = void (*)(AtomicLaunch);
struct AtomicRow {
  std::string_view operation;
  AtomicKernel shared, cluster, global;
};
template <Atomic kOp>
constexpr AtomicRow row(std::string_view operation) {
  return {operation, atomics_kernel<kOp, SharedAtomics>, atomics_kernel<kOp, ClusterAtomics>,
          atomics_kernel<kOp, GlobalAtomics>};
}

}  // namespace

cudaError_t launch_atomics(std::string_view operation, AtomicSpace space, const ClusterGrid& grid, AtomicLaunch run) {
  static const AtomicRow kRows[] = {row<Atomic::add>("add.u32"), row<Atomic::reduce>("red.add.u32"),
                                    row<Atomic::add_float>("add.f32"), row<Atomic::exchange>("exch.b32"),
                                    row<Atomic::compare_and_swap>("cas.b32")};
  for (const AtomicRow& each : kRows) {
    if (each.operation != operation) continue;
    return start(space == AtomicSpace::shared    ? each.shared
                 : space == AtomicSpace::cluster ? each.cluster
                                                 : each.global,
                 grid, run);
  }
  return cudaErrorInvalidValue;
}

cudaError_t launch_barriers(Barrier barrier, const ClusterGrid& grid, BarrierLaunch run) {
  switch (barrier) {
    case Barrier::block:
      return start(barriers_kernel<BlockBarrier>, grid, run);
    case Barrier::mbarrier:
      return start(barriers_kernel<MemoryBarrier>, grid, run);
    case Barrier::cluster:
      return start(barriers_kernel<ClusterBarrier>, grid, run);
    case Barrier::relaxed_cluster:
      return start(barriers_kernel<RelaxedClusterBarrier>, grid, run);
  }
  return cudaErrorInvalidValue;
}

cudaError_t launch_latencies(const ClusterGrid& grid, LatencyLaunch run) { return start(latencies_kernel, grid, run); }

cudaError_t launch_ring(const ClusterGrid& grid, RingLaunch run) { return start(ring_kernel, grid, run); }

}  // namespace tcnum
