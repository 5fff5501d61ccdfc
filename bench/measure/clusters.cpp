// Distributed shared memory: latency between all blocks of a cluster, and rings in which each reads the next one's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/device/cluster_timing.hpp"
#include "measurements.hpp"
#include "steady.hpp"

namespace tcnum::bench {
namespace {

const std::string kLatency = "latency", kRing = "ring";
constexpr unsigned kLaunches = 3;
/// Of a launch, at least: a hundred times what the device's timer steps by.
constexpr double kLaunchCycles = 3e5;

void check_latencies(unsigned cluster, const ClusterLatencies& found) {
  std::uint32_t right = 0;
  for (unsigned hop = 0; hop < kClusterHops; ++hop) right = next_cluster_node(right);
  const std::size_t count = found.clusters * cluster * cluster;
  if (count == 0 || found.cycles.size() != count || found.ends.size() != count) {
    throw WrongResult(fmt::format("latencies of {} pairs; expected {}", found.cycles.size(), count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (found.ends[i] == right) continue;
    throw WrongResult(fmt::format("{} hops from block {} to block {} of a cluster end at node {}; expected {}",
                                  kClusterHops, i / cluster % cluster, i % cluster, found.ends[i], right));
  }
}

void check_ring(const RingWork& work, const CheckedTimes& times) {
  if (times.checksums.size() != times.blocks * work.threads || times.blocks == 0) {
    throw WrongResult(fmt::format("a ring's checksums of {} threads; expected {}", times.checksums.size(),
                                  times.blocks * work.threads));
  }
  constexpr std::uint32_t kWords = 4;                                          // of a load
  std::vector<std::uint32_t> right(std::size_t{work.cluster} * work.threads);  // [rank that is read][thread]
  for (unsigned rank = 0; rank < work.cluster; ++rank) {
    for (std::uint32_t i = 0; i < kRingBytes / sizeof(std::uint32_t); ++i) {
      right[rank * work.threads + i / kWords % work.threads] ^= ring_word(rank, i);
    }
  }
  for (std::size_t i = 0; i < times.checksums.size(); ++i) {
    const std::size_t rank = i / work.threads % work.cluster, next = (rank + 1) % work.cluster;
    const std::uint32_t sum = right[next * work.threads + i % work.threads];
    if (times.checksums[i] == sum) continue;
    throw WrongResult(
        fmt::format("a ring of {}: block {}, thread {} read words whose xor is 0x{:08x}; expected "
                    "0x{:08x}",
                    work.cluster, i / work.threads, i % work.threads, times.checksums[i], sum));
  }
}

void measure_latency(const Row& row) {
  const unsigned cluster = row.number("blocks");
  const std::size_t pairs = std::size_t{cluster} * cluster;
  std::vector<std::vector<double>> by_pair(pairs);
  std::size_t clusters = 0;
  double least = INFINITY, most = 0;
  const Summary s = summarise(sample_until(row.settings.stop, [&] {
    const ClusterLatencies found = row.device.cluster_latencies(cluster);
    check_latencies(cluster, found);
    clusters = found.clusters;
    std::vector<double> others;
    for (std::size_t i = 0; i < found.cycles.size(); ++i) {
      const double cycles = found.cycles[i] / kClusterHops;
      by_pair[i % pairs].push_back(cycles);
      if (i % pairs / cluster != i % cluster) others.push_back(cycles);
    }
    const Summary of_others = summarise(std::move(others));
    least = std::min(least, of_others.min);
    most = std::max(most, of_others.max);
    return of_others.mean;
  }));
  std::vector<double> medians, own;
  for (std::size_t i = 0; i < pairs; ++i) {
    medians.push_back(median_of(by_pair[i]));
    if (i / cluster == i % cluster) own.push_back(medians.back());
  }
  row.record.set("latency_cycles", s.median);
  row.record.set("least_cycles", least);
  row.record.set("most_cycles", most);
  row.record.set("own_cycles", median_of(own));
  row.record.set("clusters", static_cast<std::int64_t>(clusters));
  put_samples(row.record, s);
  row.record.set("checked", std::string("where every way ends"));
  row.record.series.push_back({"pair_cycles", std::move(medians)});
}

/// Of an SM.
double bytes_per_clock(const RingWork& work, double cycles) {
  return static_cast<double>(kRingBytes) * work.rounds / cycles;
}

void measure_ring(const Row& row) {
  RingWork best;
  double highest = 0;
  Points sweep{"ring_threads", "ring_parallel", "ring_bytes_per_clock"};
  for (const unsigned threads : row.numbers("ring_threads")) {
    for (const unsigned parallel : row.numbers("parallel")) {
      RingWork work{row.number("blocks"), threads, parallel, 1};
      const double once = median_of(row.device.ring(work, kLaunches).batch.cycles);
      work.rounds = static_cast<unsigned>(std::clamp(std::ceil(kLaunchCycles / once), 1.0, 1e4));
      const CheckedTimes times = row.device.ring(work, kLaunches);
      check_ring(work, times);
      const double rate = bytes_per_clock(work, median_of(times.batch.cycles));
      sweep.add(threads, parallel, rate);
      if (rate > highest) best = work;
      highest = std::max(highest, rate);
    }
  }
  std::uint32_t blocks = 0;
  const Steady steady = sample_steadily(
      row.device,
      [&] {
        const CheckedTimes times = row.device.ring(best, kLaunches);
        check_ring(best, times);
        blocks = times.blocks;
        return TimedSample{bytes_per_clock(best, median_of(times.batch.cycles)), times.batch.clock_mhz};
      },
      row.settings);
  put_rates(row.record, "bytes_per_clock", steady);
  row.record.set("device_blocks", std::int64_t{blocks});
  if (const auto clock = row.record.number("clock_mhz")) {
    row.record.set("tera_bytes_per_second", median_of(steady.samples) * blocks * *clock * 1e-6);
  }
  row.record.set("best_threads", std::int64_t{best.threads});
  row.record.set("best_parallel", std::int64_t{best.parallel});
  row.record.set("checked", std::string("the xor of what every thread read"));
  sweep.put(row.record);
}

/// Throws UnavailableError unless clusters of the device can have so many blocks.
void require_clusters(const Row& row, unsigned blocks) {
  const unsigned most = row.device.most_cluster_blocks();
  if (blocks > most) throw UnavailableError(fmt::format("clusters of this device have at most {} blocks", most));
}

}  // namespace

std::vector<Measurement> cluster_measurements() {
  return {{.name = "clusters",
           .meaning = "distributed shared memory: latency between all blocks of a cluster, and rings of reads",
           .axes = {{"blocks", "blocks of a cluster", doubled(2, 16)},
                    swept({"ring_threads", "threads of a ring's block", doubled(128, 1024)}),
                    swept({"parallel", "loads of a ring's thread in flight", doubled(1, 8)})},
           .subjects = of_nvidia({kLatency, kRing}),
           .measure_row = [](const Row& row) {
             require_clusters(row, row.number("blocks"));
             (row.record.subject == kLatency ? measure_latency : measure_ring)(row);
           }}};
}

}  // namespace tcnum::bench
