// Clusters of a device that does what their kernels do, and makes its cycles up.
#pragma once

#include <algorithm>

#include "bench/device/device.hpp"

namespace tcnum {

/// Four SMs, and clusters of up to `most_blocks`.
class FakeClusters : public TimingDevice {
 public:
  explicit FakeClusters(unsigned most_blocks) : most_blocks_(most_blocks) {}

  const TimingFacts& facts() const override { return facts_; }
  unsigned most_cluster_blocks() override { return most_blocks_; }

  ClusterLatencies cluster_latencies(unsigned cluster) override {
    ClusterLatencies found;
    found.clusters = 2;
    std::uint32_t end = 0;
    for (unsigned hop = 0; hop < kClusterHops; ++hop) end = next_cluster_node(end);
    for (std::size_t i = 0; i < found.clusters * cluster * cluster; ++i) {
      const std::size_t from = i / cluster % cluster, to = i % cluster;
      found.cycles.push_back((from == to ? 30.0 : 200.0 + static_cast<double>(from)) * kClusterHops);
      found.ends.push_back(end ^ (spoil && i == 3 ? 1u : 0u));
    }
    return found;
  }

  CheckedTimes ring(const RingWork& work, unsigned launches) override {
    // As many bytes a clock as there are loads in flight, up to 16.
    const double rate = std::min(16.0, work.threads / 1024.0 * 4 * work.parallel);
    CheckedTimes times{
        {std::vector<double>(launches, static_cast<double>(kRingBytes) * work.rounds / rate), 1000}, kBlocks, {}};
    for (unsigned block = 0; block < kBlocks; ++block) {
      for (unsigned thread = 0; thread < work.threads; ++thread) {
        std::uint32_t checksum = 0;
        for (std::uint32_t load = thread; load < kRingBytes / 16; load += work.threads) {
          for (std::uint32_t w = 0; w < 4; ++w) {
            checksum ^= ring_word((block % work.cluster + 1) % work.cluster, 4 * load + w);
          }
        }
        times.checksums.push_back(checksum);
      }
    }
    if (spoil) times.checksums.back() ^= 1;
    return times;
  }

  bool spoil = false;

 protected:
  static constexpr unsigned kBlocks = 4;
  TimingFacts facts_ = {"sm_90", "fake", "1", "13.0", "2026-01-01", kBlocks, {}, {}};

 private:
  unsigned most_blocks_;
};

}  // namespace tcnum
