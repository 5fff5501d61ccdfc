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

double median_of(std::vector<double> values) { return summarise(std::move(values)).median; }

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
    throw WrongResult(fmt::format("a histogram of {} bins; right would be {}", times.counts.size(), work.bins));
  }
  const std::vector<std::uint32_t> counts = count_elements(work.bins);
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    const std::uint32_t right = counts[bin] * work.rounds;
    if (times.counts[bin] == right) continue;
    throw WrongResult(fmt::format("a histogram of {} bins in clusters of {}: bin {} has {} elements; right would be {}",
                                  work.bins, work.cluster, bin, times.counts[bin], right));
  }
}

namespace {

class HistogramMeasurement final : public Measurement {
 public:
  std::string name() const override { return "histogram"; }
  std::string meaning() const override {
    return "a histogram with its bins in the shared memory of a cluster's blocks: elements a second";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<std::string> clusters = {"1", "2", "4", "8", "16"},
                                          threads = {"128", "256", "512", "1024"};
    static const std::vector<std::string> bins = [] {
      std::vector<std::string> all;
      for (unsigned count = kLeastBins; count <= kMostBins; count *= 2) all.push_back(std::to_string(count));
      return all;
    }();
    static const std::vector<Axis> axes = {{"cluster", "blocks of a cluster", clusters, clusters},
                                           {"bins", "bins of a histogram", bins, bins},
                                           {"histogram_threads", "threads of a histogram's block", threads, threads}};
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override {
    return tcnum::arch(arch).name.starts_with("sm_") ? std::vector<std::string>{"histogram"}
                                                     : std::vector<std::string>{};
  }

  void measure(TimingDevice& device, ArchId, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    for (const std::string& subject : subjects) {
      for (const std::string& blocks : selection.at("cluster")) {
        const auto cluster = static_cast<unsigned>(std::stoi(blocks));
        Record record{name(), subject, {{"cluster", std::int64_t{cluster}}}, {}, {}, "", ""};
        if (settings.has(record)) continue;
        if (!settings.go_on(fmt::format("{}, {} blocks", subject, blocks))) return;
        SyncDevice* const sync = device.sync();
        if (sync == nullptr) {
          record.waived = "this device or build does not time histograms";
        } else if (cluster > sync->most_cluster_blocks()) {
          record.waived = fmt::format("clusters of this device have at most {} blocks", sync->most_cluster_blocks());
        } else if (const auto works = works_of(*sync, cluster, selection); works.empty()) {
          record.waived = fmt::format("{} blocks have no room for so many bins", cluster);
        } else {
          measure_into(record, [&] { measure_one(*sync, works, device.facts().sms, settings.stop, record); });
        }
        add(std::move(record));
      }
    }
  }

 private:
  struct Point {
    HistogramWork work;
    std::size_t blocks;
    double giga_elements;  ///< a second
  };

  /// Those for which there is room.
  static std::vector<HistogramWork> works_of(SyncDevice& device, unsigned cluster, const Selection& selection) {
    std::vector<HistogramWork> works;
    for (const std::string& bins : selection.at("bins")) {
      for (const std::string& threads : selection.at("histogram_threads")) {
        const HistogramWork work{static_cast<unsigned>(std::stoi(bins)), cluster,
                                 static_cast<unsigned>(std::stoi(threads))};
        if (device.has_room(work)) works.push_back(work);
      }
    }
    return works;
  }

  static double giga_elements(const HistogramWork& work, const HistogramTimes& times) {
    return kElements * work.rounds / median_of(times.seconds) * 1e-9;
  }

  static Point measure_point(SyncDevice& device, HistogramWork work) {
    work.rounds = kFirstRounds;
    const double once = median_of(device.histogram(work, kLaunches).seconds) / kFirstRounds;
    work.rounds =
        static_cast<unsigned>(std::clamp(std::ceil(kLaunchSeconds / once), 1.0, double{kMostHistogramRounds}));
    const HistogramTimes times = device.histogram(work, kLaunches);
    check_histogram(work, times);
    return {work, times.blocks, giga_elements(work, times)};
  }

  static void measure_one(SyncDevice& device, const std::vector<HistogramWork>& works, int sms, const StopRule& stop,
                          Record& record) {
    std::vector<Point> points;
    for (const HistogramWork& work : works) points.push_back(measure_point(device, work));
    const Point best = *std::ranges::max_element(points, {}, &Point::giga_elements);
    std::vector<double> clocks;
    const Summary s = summarise(sample_until(stop, [&] {
      const HistogramTimes times = device.histogram(best.work, kLaunches);
      check_histogram(best.work, times);
      if (times.clock_mhz > 0) clocks.push_back(times.clock_mhz);
      return giga_elements(best.work, times);
    }));
    record.set("giga_elements_per_second", s.median);
    if (!clocks.empty()) {
      const double clock = median_of(clocks);
      record.set("clock_mhz", clock);
      record.set("elements_per_clock", s.median * 1e3 / clock / sms);
    }
    record.set("best_bins", std::int64_t{best.work.bins});
    record.set("best_threads", std::int64_t{best.work.threads});
    record.set("device_blocks", static_cast<std::int64_t>(best.blocks));
    record.set("most_bins", std::int64_t{std::ranges::max_element(works, {}, &HistogramWork::bins)->bins});
    record.set("spread_percent", s.spread_percent());
    record.set("samples", static_cast<std::int64_t>(s.count));
    record.set("checked", std::string("the count of every bin"));
    std::vector<double> bins, threads, blocks, rates;
    for (const Point& p : points) {
      bins.push_back(p.work.bins);
      threads.push_back(p.work.threads);
      blocks.push_back(static_cast<double>(p.blocks));
      rates.push_back(p.giga_elements);
    }
    record.series.push_back({"sweep_bins", std::move(bins)});
    record.series.push_back({"sweep_threads", std::move(threads)});
    record.series.push_back({"sweep_blocks", std::move(blocks)});
    record.series.push_back({"sweep_giga_elements_per_second", std::move(rates)});
  }
};

}  // namespace

const Measurement& histogram_measurement() {
  static const HistogramMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
