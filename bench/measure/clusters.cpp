// Distributed shared memory: latency between all blocks of a cluster, and rings in which each reads the next one's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sync.hpp"

namespace tcnum::bench {
namespace {

const std::string kLatency = "latency", kRing = "ring";
constexpr unsigned kLaunches = 3;
/// Of a launch, at least: a hundred times what the device's timer steps by.
constexpr double kLaunchCycles = 3e5;

double median_of(std::vector<double> values) { return summarise(std::move(values)).median; }

}  // namespace

void check_latencies(unsigned cluster, const ClusterLatencies& found) {
  std::uint32_t right = 0;
  for (unsigned hop = 0; hop < kClusterHops; ++hop) right = next_cluster_node(right);
  const std::size_t count = found.clusters * cluster * cluster;
  if (count == 0 || found.cycles.size() != count || found.ends.size() != count) {
    throw WrongResult(fmt::format("latencies of {} pairs; right would be {}", found.cycles.size(), count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (found.ends[i] == right) continue;
    throw WrongResult(fmt::format("{} hops from block {} to block {} of a cluster end at node {}; right would be {}",
                                  kClusterHops, i / cluster % cluster, i % cluster, found.ends[i], right));
  }
}

void check_ring(const RingWork& work, const RingTimes& times) {
  if (times.checksums.size() != times.blocks * work.threads || times.blocks == 0) {
    throw WrongResult(fmt::format("a ring's checksums of {} threads; right would be {}", times.checksums.size(),
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
    const std::uint32_t expected = right[next * work.threads + i % work.threads];
    if (times.checksums[i] == expected) continue;
    throw WrongResult(
        fmt::format("a ring of {}: block {}, thread {} read words whose xor is 0x{:08x}; right would be "
                    "0x{:08x}",
                    work.cluster, i / work.threads, i % work.threads, times.checksums[i], expected));
  }
}

namespace {

class ClustersMeasurement final : public Measurement {
 public:
  std::string name() const override { return "clusters"; }
  std::string meaning() const override {
    return "distributed shared memory: latency between all blocks of a cluster, and rings of reads";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<std::string> clusters = {"2", "4", "8", "16"}, threads = {"128", "256", "512", "1024"},
                                          parallel = {"1", "2", "4", "8"};
    static const std::vector<Axis> axes = {{"blocks", "blocks of a cluster", clusters, clusters},
                                           {"ring_threads", "threads of a ring's block", threads, threads},
                                           {"parallel", "loads of a ring's thread in flight", parallel, parallel}};
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override {
    return tcnum::arch(arch).name.starts_with("sm_") ? std::vector{kLatency, kRing} : std::vector<std::string>{};
  }

  void measure(TimingDevice& device, ArchId, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    for (const std::string& subject : subjects) {
      for (const std::string& blocks : selection.at("blocks")) {
        const auto cluster = static_cast<unsigned>(std::stoi(blocks));
        Record record{name(), subject, {{"blocks", std::int64_t{cluster}}}, {}, {}, "", ""};
        if (settings.has(record)) continue;
        if (!settings.go_on(fmt::format("{}, {} blocks", subject, blocks))) return;
        SyncDevice* const sync = device.sync();
        if (sync == nullptr) {
          record.waived = "this device or build does not time clusters";
        } else if (cluster > sync->most_cluster_blocks()) {
          record.waived = fmt::format("clusters of this device have at most {} blocks", sync->most_cluster_blocks());
        } else {
          measure_into(record, [&] {
            if (subject == kLatency) {
              measure_latency(*sync, cluster, settings.stop, record);
            } else {
              measure_ring(*sync, cluster, selection, settings.stop, record);
            }
          });
        }
        add(std::move(record));
      }
    }
  }

 private:
  static void measure_latency(SyncDevice& device, unsigned cluster, const StopRule& stop, Record& record) {
    const std::size_t pairs = std::size_t{cluster} * cluster;
    std::vector<std::vector<double>> by_pair(pairs);
    std::size_t clusters = 0;
    double least = INFINITY, most = 0;
    const Summary s = summarise(sample_until(stop, [&] {
      const ClusterLatencies found = device.cluster_latencies(cluster);
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
    record.set("latency_cycles", s.median);
    record.set("least_cycles", least);
    record.set("most_cycles", most);
    record.set("own_cycles", median_of(own));
    record.set("clusters", static_cast<std::int64_t>(clusters));
    record.set("spread_percent", s.spread_percent());
    record.set("samples", static_cast<std::int64_t>(s.count));
    record.set("checked", std::string("where every way ends"));
    record.series.push_back({"pair_cycles", std::move(medians)});
  }

  struct Point {
    RingWork work;
    double bytes_per_clock;  ///< of an SM
  };

  static double bytes_per_clock(const RingWork& work, double cycles) {
    return static_cast<double>(kRingBytes) * work.rounds / cycles;
  }

  static void measure_ring(SyncDevice& device, unsigned cluster, const Selection& selection, const StopRule& stop,
                           Record& record) {
    std::vector<Point> points;
    for (const std::string& threads : selection.at("ring_threads")) {
      for (const std::string& parallel : selection.at("parallel")) {
        RingWork work{cluster, static_cast<unsigned>(std::stoi(threads)), static_cast<unsigned>(std::stoi(parallel)),
                      1};
        const double once = median_of(device.ring(work, kLaunches).cycles);
        work.rounds = static_cast<unsigned>(std::clamp(std::ceil(kLaunchCycles / once), 1.0, 1e4));
        const RingTimes times = device.ring(work, kLaunches);
        check_ring(work, times);
        points.push_back({work, bytes_per_clock(work, median_of(times.cycles))});
      }
    }
    const Point best = *std::ranges::max_element(points, {}, &Point::bytes_per_clock);
    std::vector<double> clocks;
    std::size_t blocks = 0;
    const Summary s = summarise(sample_until(stop, [&] {
      const RingTimes times = device.ring(best.work, kLaunches);
      check_ring(best.work, times);
      if (times.clock_mhz > 0) clocks.push_back(times.clock_mhz);
      blocks = times.blocks;
      return bytes_per_clock(best.work, median_of(times.cycles));
    }));
    record.set("bytes_per_clock", s.median);
    record.set("device_blocks", static_cast<std::int64_t>(blocks));
    if (!clocks.empty()) {
      const double clock = median_of(clocks);
      record.set("clock_mhz", clock);
      record.set("tera_bytes_per_second", s.median * static_cast<double>(blocks) * clock * 1e-6);
    }
    record.set("best_threads", std::int64_t{best.work.threads});
    record.set("best_parallel", std::int64_t{best.work.parallel});
    record.set("spread_percent", s.spread_percent());
    record.set("samples", static_cast<std::int64_t>(s.count));
    record.set("checked", std::string("the xor of what every thread read"));
    std::vector<double> all_threads, all_parallel, all_bytes;
    for (const Point& p : points) {
      all_threads.push_back(p.work.threads);
      all_parallel.push_back(p.work.parallel);
      all_bytes.push_back(p.bytes_per_clock);
    }
    record.series.push_back({"ring_threads", std::move(all_threads)});
    record.series.push_back({"ring_parallel", std::move(all_parallel)});
    record.series.push_back({"ring_bytes_per_clock", std::move(all_bytes)});
  }
};

}  // namespace

const Measurement& clusters_measurement() {
  static const ClustersMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
