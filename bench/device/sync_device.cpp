// Atomics, barriers and clusters, on a GPU.
#include <fmt/format.h>

#include <stdexcept>

#include "gpu_device.hpp"
#include "sync_kernels.hpp"

namespace tcnum {
namespace {

constexpr unsigned kBarrierChecks = 64;

ClusterGrid grid_of(unsigned sms, unsigned threads, unsigned cluster) {
  if (cluster == 1) return {sms, threads, 1};
  int clusters = 0;
  check(count_clusters(cluster, &clusters), "cudaOccupancyMaxActiveClusters");
  if (clusters == 0) throw std::runtime_error(fmt::format("no cluster of {} blocks fits", cluster));
  return {static_cast<unsigned>(clusters) * cluster, threads, cluster};
}

}  // namespace

unsigned GpuTimingDevice::most_cluster_blocks() {
  require_kernels("clusters");
  if (most_cluster_blocks_) return *most_cluster_blocks_;
  most_cluster_blocks_ = 1;
  for (const unsigned size : {2U, 4U, 8U, 16U}) {
    int clusters = 0;
    if (count_clusters(size, &clusters) == cudaSuccess && clusters > 0) most_cluster_blocks_ = size;
    cudaGetLastError();  // not an error of what follows
  }
  return *most_cluster_blocks_;
}

AtomicTimes GpuTimingDevice::atomics(const AtomicWork& work, unsigned launches) {
  require_kernels("atomics");
  const ClusterGrid grid = grid_of(sms_, work.threads, work.space == AtomicSpace::cluster ? 2 : 1);
  const std::size_t threads = std::size_t{grid.blocks} * grid.threads;
  AtomicLaunch run{memory<std::uint32_t>("words", threads),
                   memory<std::uint32_t>("given", threads),
                   clear_times(std::size_t{launches} * grid.blocks),
                   work.threads,
                   work.steps,
                   chain_start(work.operation == "add.f32"),
                   work.same_address,
                   work.chained};
  for (unsigned i = 0; i < launches; ++i, run.times += grid.blocks) {
    memory_of<std::uint32_t>(0, "words", threads);
    check(launch_atomics(work.operation, work.space, grid, run), "launch of atomics");
  }
  TimedBatch batch = finish("atomics", launches, grid.blocks, BlocksRun::anywhere);
  return {std::move(batch.cycles), grid.blocks, downloaded(run.words, threads), downloaded(run.given, threads)};
}

BarrierTimes GpuTimingDevice::barriers(const BarrierWork& work, unsigned launches) {
  require_kernels("barriers");
  const ClusterGrid grid = grid_of(sms_, work.threads, work.cluster);
  BarrierLaunch run{clear_times(std::size_t{launches} * grid.blocks), memory_of<unsigned long long>(0, "right", 1),
                    work.steps, kBarrierChecks};
  for (unsigned i = 0; i < launches; ++i, run.times += grid.blocks) {
    check(launch_barriers(work.barrier, grid, run), "launch of barriers");
  }
  TimedBatch batch = finish("barriers", launches, grid.blocks, BlocksRun::anywhere);
  return {std::move(batch.cycles), grid.blocks, std::uint64_t{launches} * grid.blocks * grid.threads * kBarrierChecks,
          downloaded(run.right, 1).front()};
}

ClusterLatencies GpuTimingDevice::cluster_latencies(unsigned cluster) {
  constexpr unsigned kThreads = 32;
  const ClusterGrid grid = grid_of(sms_, kThreads, cluster);
  const std::size_t clusters = grid.blocks / cluster, count = clusters * cluster * cluster;
  const LatencyLaunch run{memory<std::uint32_t>("words", count), memory<std::uint32_t>("given", count)};
  check(launch_latencies(grid, run), "launch of a cluster's latencies");
  finish("a cluster's latencies");
  const auto cycles = downloaded(run.cycles, count);
  return {clusters, {cycles.begin(), cycles.end()}, downloaded(run.ends, count)};
}

RingTimes GpuTimingDevice::ring(const RingWork& work, unsigned launches) {
  const ClusterGrid grid = grid_of(sms_, work.threads, work.cluster);
  const std::size_t threads = std::size_t{grid.blocks} * grid.threads;
  RingLaunch run{memory<std::uint32_t>("given", threads), clear_times(std::size_t{launches} * grid.blocks),
                 work.parallel, work.rounds};
  for (unsigned i = 0; i < launches; ++i, run.times += grid.blocks) check(launch_ring(grid, run), "launch of a ring");
  TimedBatch batch = finish("a ring", launches, grid.blocks, BlocksRun::anywhere);
  return {std::move(batch.cycles), grid.blocks, batch.clock_mhz, downloaded(run.checksums, threads)};
}

}  // namespace tcnum
