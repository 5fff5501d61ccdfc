// A histogram whose bins are divided over the blocks of a cluster: how many elements a second, over bins and cluster
// size.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "sync.hpp"

namespace tcnum::bench {
namespace {

constexpr unsigned kLeastBins = 256, kMostBins = 1U << 19;  // the most that 16 blocks of Hopper's have room for
constexpr unsigned kLaunches = 3, kFirstRounds = 8;
/// Of a launch, at least: a thousand times what the device's timer steps by.
constexpr double kLaunchSeconds = 1e-3;
constexpr double kElements = double{kHistogramStretches} * kStretchElements;

/// How many elements each of so many bins has.
std::vector<std::uint32_t> count_elements(unsigned bins) {
  static const std::vector<std::uint32_t> finest = [] {
    constexpr int kShift = 32 - std::countr_zero(kMostBins);
    std::vector<std::uint32_t> counts(kMostBins);
    for (std::uint32_t stretch = 0; stretch < kHistogramStretches; ++stretch) {
      std::uint32_t element = first_element(stretch);
      for (unsigned i = 0; i < kStretchElements; ++i, element = next_element(element)) ++counts[element >> kShift];
    }
    return counts;
  }();
  std::vector<std::uint32_t> counts(bins);
  for (std::size_t i = 0; i < finest.size(); ++i) counts[i / (kMostBins / bins)] += finest[i];
  return counts;
}

}  // namespace

void check_histogram(const HistogramWork& work, const HistogramTimes& times) {
  if (times.blocks == 0 || times.counts.size() != work.bins) {
    throw WrongResult(fmt::format("a histogram of {} bins; expected {}", times.counts.size(), work.bins));
  }
  const std::vector<std::uint32_t> counts = count_elements(work.bins);
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    const std::uint32_t right = counts[bin] * work.rounds;
    if (times.counts[bin] == right) continue;
    throw WrongResult(fmt::format("a histogram of {} bins in clusters of {}: bin {} has {} elements; expected {}",
                                  work.bins, work.cluster, bin, times.counts[bin], right));
  }
}

namespace {

double giga_elements(const HistogramWork& work, const HistogramTimes& times) {
  return kElements * work.rounds / median_of(times.seconds) * 1e-9;
}

void measure_histogram(const Row& row) {
  const unsigned cluster = row.number("cluster");
  require_clusters(row, cluster);
  HistogramWork best;
  double highest = 0;
  std::size_t best_blocks = 0;
  unsigned most_bins = 0;
  Points sweep{"sweep_bins", "sweep_threads", "sweep_blocks", "sweep_giga_elements_per_second"};
  for (const unsigned bins : row.numbers("bins")) {
    for (const unsigned threads : row.numbers("histogram_threads")) {
      HistogramWork work{bins, cluster, threads, kFirstRounds};
      if (!row.device.has_room(work)) continue;
      const double once = median_of(row.device.histogram(work, kLaunches).seconds) / kFirstRounds;
      work.rounds =
          static_cast<unsigned>(std::clamp(std::ceil(kLaunchSeconds / once), 1.0, double{kMostHistogramRounds}));
      const HistogramTimes times = row.device.histogram(work, kLaunches);
      check_histogram(work, times);
      const double rate = giga_elements(work, times);
      sweep.add(bins, threads, times.blocks, rate);
      most_bins = std::max(most_bins, bins);
      if (rate <= highest) continue;
      highest = rate;
      best = work;
      best_blocks = times.blocks;
    }
  }
  if (sweep.empty()) throw UnavailableError(fmt::format("{} blocks have no room for so many bins", cluster));
  std::vector<double> clocks;
  const Summary s = summarise(sample_until(row.settings.stop, [&] {
    const HistogramTimes times = row.device.histogram(best, kLaunches);
    check_histogram(best, times);
    if (times.clock_mhz > 0) clocks.push_back(times.clock_mhz);
    return giga_elements(best, times);
  }));
  row.record.set("giga_elements_per_second", s.median);
  if (!clocks.empty()) {
    const double clock = median_of(clocks);
    row.record.set("clock_mhz", clock);
    row.record.set("elements_per_clock", s.median * 1e3 / clock / row.device.facts().sms);
  }
  row.record.set("best_bins", std::int64_t{best.bins});
  row.record.set("best_threads", std::int64_t{best.threads});
  row.record.set("device_blocks", static_cast<std::int64_t>(best_blocks));
  row.record.set("most_bins", std::int64_t{most_bins});
  put_samples(row.record, s);
  row.record.set("checked", std::string("the count of every bin"));
  sweep.put(row.record);
}

}  // namespace

std::vector<Measurement> sync_measurements() {
  return {atomics_measurement(),
          barriers_measurement(),
          clusters_measurement(),
          {.name = "histogram",
           .meaning = "a histogram with its bins in the shared memory of a cluster's blocks: elements a second",
           .axes = {{"cluster", "blocks of a cluster", doubled(1, 16)},
                    swept({"bins", "bins of a histogram", doubled(kLeastBins, kMostBins)}),
                    swept({"histogram_threads", "threads of a histogram's block", doubled(128, 1024)})},
           .subjects = of_nvidia({"histogram"}),
           .measure_row = measure_histogram}};
}

void require_clusters(const Row& row, unsigned blocks) {
  if (blocks == 1 || blocks <= row.device.most_cluster_blocks()) return;
  throw UnavailableError(
      fmt::format("clusters of this device have at most {} blocks", row.device.most_cluster_blocks()));
}

}  // namespace tcnum::bench
