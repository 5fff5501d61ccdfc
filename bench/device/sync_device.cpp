#include "sync_device.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "cuda/device_memory.hpp"
#include "sync_kernels.hpp"

namespace tcnum {
namespace {

constexpr unsigned kClusterSizes[] = {16, 8, 4, 2};
constexpr unsigned kBarrierChecks = 64;

template <class T>
std::vector<T> download(const DeviceBuffer& from, std::size_t count) {
  std::vector<std::byte> bytes(count * sizeof(T));
  from.download(bytes);
  std::vector<T> values(count);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

double mean_cycles(const std::vector<BlockTimes>& times) {
  double sum = 0;
  for (const BlockTimes& block : times) sum += static_cast<double>(block.cycles);
  return sum / static_cast<double>(times.size());
}

/// Of the SMs over a launch: the median over its blocks; 0: it was too short for the timer, which may step by a
/// microsecond.
double clock_mhz(const std::vector<BlockTimes>& times) {
  constexpr double kShortestNs = 100e3;
  std::vector<double> clocks;
  for (const BlockTimes& block : times) {
    const auto ns = static_cast<double>(block.last_ns - block.first_ns);
    if (ns >= kShortestNs) clocks.push_back(static_cast<double>(block.last_clock - block.first_clock) / ns * 1e3);
  }
  if (clocks.empty()) return 0;
  const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
  std::ranges::nth_element(clocks, middle);
  return *middle;
}

double span_seconds(const std::vector<BlockTimes>& times) {
  const auto first = std::ranges::min_element(times, {}, &BlockTimes::first_ns);
  const auto last = std::ranges::max_element(times, {}, &BlockTimes::last_ns);
  return static_cast<double>(last->last_ns - first->first_ns) * 1e-9;
}

class GpuSyncDevice final : public SyncDevice {
 public:
  explicit GpuSyncDevice(int sms) : sms_(static_cast<unsigned>(sms)) {
    for (unsigned size : kClusterSizes) {
      int clusters = 0;
      const bool fits = count_clusters(size, &clusters) == cudaSuccess && clusters > 0;
      if (!fits) {
        cudaGetLastError();  // not an error of what follows
        continue;
      }
      most_cluster_blocks_ = size;
      break;
    }
  }

  unsigned most_cluster_blocks() const override { return most_cluster_blocks_; }

  AtomicTimes atomics(const AtomicWork& work, unsigned launches) override {
    const ClusterGrid grid = grid_of(work.threads, work.space == AtomicSpace::cluster ? 2 : 1);
    const std::size_t threads = std::size_t{grid.blocks} * grid.threads;
    words_.reserve(threads * sizeof(std::uint32_t));
    given_.reserve(threads * sizeof(std::uint32_t));
    AtomicTimes times;
    times.blocks = grid.blocks;
    for (unsigned i = 0; i < launches; ++i) {
      check(cudaMemset(words_.data(), 0, threads * sizeof(std::uint32_t)), "cudaMemset");
      const AtomicLaunch run{static_cast<std::uint32_t*>(words_.data()),
                             static_cast<std::uint32_t*>(given_.data()),
                             clear_times(grid.blocks),
                             work.threads,
                             work.steps,
                             chain_start(work.operation == "add.f32"),
                             work.same_address,
                             work.chained};
      check(launch_atomics(work.operation, work.space, grid, run), "launch of atomics");
      times.cycles.push_back(mean_cycles(finish(grid.blocks)));
    }
    times.words = download<std::uint32_t>(words_, threads);
    times.given = download<std::uint32_t>(given_, threads);
    return times;
  }

  BarrierTimes barriers(const BarrierWork& work, unsigned launches) override {
    const ClusterGrid grid = grid_of(work.threads, work.cluster);
    BarrierTimes times;
    times.blocks = grid.blocks;
    words_.reserve(sizeof(unsigned long long));
    check(cudaMemset(words_.data(), 0, sizeof(unsigned long long)), "cudaMemset");
    for (unsigned i = 0; i < launches; ++i) {
      const BarrierLaunch run{clear_times(grid.blocks), static_cast<unsigned long long*>(words_.data()), work.steps,
                              kBarrierChecks};
      check(launch_barriers(work.barrier, grid, run), "launch of barriers");
      times.cycles.push_back(mean_cycles(finish(grid.blocks)));
    }
    times.checks = std::uint64_t{launches} * grid.blocks * grid.threads * kBarrierChecks;
    times.right = download<unsigned long long>(words_, 1).front();
    return times;
  }

  ClusterLatencies cluster_latencies(unsigned cluster) override {
    constexpr unsigned kThreads = 32;
    const ClusterGrid grid = grid_of(kThreads, cluster);
    ClusterLatencies found;
    found.clusters = grid.blocks / cluster;
    const std::size_t count = found.clusters * cluster * cluster;
    words_.reserve(count * sizeof(std::uint32_t));
    given_.reserve(count * sizeof(std::uint32_t));
    check(launch_latencies(grid,
                           {static_cast<std::uint32_t*>(words_.data()), static_cast<std::uint32_t*>(given_.data())}),
          "launch of a cluster's latencies");
    check(cudaDeviceSynchronize(), "a cluster's latencies (cudaDeviceSynchronize)");
    for (std::uint32_t cycles : download<std::uint32_t>(words_, count)) found.cycles.push_back(cycles);
    found.ends = download<std::uint32_t>(given_, count);
    return found;
  }

  RingTimes ring(const RingWork& work, unsigned launches) override {
    const ClusterGrid grid = grid_of(work.threads, work.cluster);
    const std::size_t threads = std::size_t{grid.blocks} * grid.threads;
    given_.reserve(threads * sizeof(std::uint32_t));
    RingTimes times;
    times.blocks = grid.blocks;
    for (unsigned i = 0; i < launches; ++i) {
      const RingLaunch run{static_cast<std::uint32_t*>(given_.data()), clear_times(grid.blocks), work.parallel,
                           work.rounds};
      check(launch_ring(grid, run), "launch of a ring");
      const std::vector<BlockTimes> blocks = finish(grid.blocks);
      times.cycles.push_back(mean_cycles(blocks));
      times.clock_mhz = clock_mhz(blocks);
    }
    times.checksums = download<std::uint32_t>(given_, threads);
    return times;
  }

  bool has_room(const HistogramWork& work) override { return histogram_blocks(work) > 0; }

  HistogramTimes histogram(const HistogramWork& work, unsigned launches) override {
    const unsigned blocks = histogram_blocks(work);
    if (blocks == 0)
      throw std::runtime_error(fmt::format("no cluster of {} blocks has {} bins", work.cluster, work.bins));
    const std::size_t bytes = work.bins * sizeof(std::uint32_t);
    words_.reserve(bytes);
    HistogramTimes times;
    times.blocks = blocks;
    for (unsigned i = 0; i < launches; ++i) {
      check(cudaMemset(words_.data(), 0, bytes), "cudaMemset");
      constexpr unsigned kElementBits = 32;
      const HistogramLaunch run{.counts = static_cast<std::uint32_t*>(words_.data()),
                                .times = clear_times(blocks),
                                .stretches = work.rounds * kHistogramStretches,
                                .block_bits = static_cast<unsigned>(std::countr_zero(work.bins / work.cluster)),
                                .element_shift = kElementBits - static_cast<unsigned>(std::countr_zero(work.bins))};
      check(launch_histogram(work, blocks, run), "launch of a histogram");
      const std::vector<BlockTimes> of_blocks = finish(blocks);
      times.seconds.push_back(span_seconds(of_blocks));
      times.clock_mhz = clock_mhz(of_blocks);
    }
    times.counts = download<std::uint32_t>(words_, work.bins);
    return times;
  }

 private:
  unsigned histogram_blocks(const HistogramWork& work) const {
    int blocks = 0;
    check(count_histogram_blocks(work, static_cast<int>(sms_), &blocks), "how many blocks of a histogram fit");
    return static_cast<unsigned>(blocks);
  }

  ClusterGrid grid_of(unsigned threads, unsigned cluster) const {
    if (cluster == 1) return {sms_, threads, 1};
    int clusters = 0;
    check(count_clusters(cluster, &clusters), "cudaOccupancyMaxActiveClusters");
    if (clusters == 0) throw std::runtime_error(fmt::format("no cluster of {} blocks fits", cluster));
    return {static_cast<unsigned>(clusters) * cluster, threads, cluster};
  }

  BlockTimes* clear_times(std::size_t blocks) {
    times_.reserve(blocks * sizeof(BlockTimes));
    check(cudaMemset(times_.data(), 0, blocks * sizeof(BlockTimes)), "cudaMemset");
    return static_cast<BlockTimes*>(times_.data());
  }
  std::vector<BlockTimes> finish(std::size_t blocks) {
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return download<BlockTimes>(times_, blocks);
  }

  unsigned sms_, most_cluster_blocks_ = 1;
  DeviceBuffer words_, given_, times_;
};

}  // namespace

std::unique_ptr<SyncDevice> make_gpu_sync_device(int sms) { return std::make_unique<GpuSyncDevice>(sms); }

}  // namespace tcnum
