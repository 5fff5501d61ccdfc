// How long kernels take to start, one by one and as CUDA graphs, and what small ones take.
#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "line_fit.hpp"
#include "measurements.hpp"

namespace tcnum::bench {
namespace {

const std::string kEmpty = "empty", kCopy = "copy";
constexpr double kMicro = 1e6;  // microseconds of a second

/// Behind each other in one submission: so many that what lies before and behind them does not show.
constexpr unsigned kManyKernels = 256;
constexpr std::size_t kLeastBytes = 1024, kMostBytes = std::size_t{16} << 20;
constexpr unsigned kTimes = 4;  // submissions of a sample
/// Of the device's time, with which submitting holds it up.
constexpr double kHostShare = 0.9;

/// What was added to A's words in the buffer that holds the result.
std::uint32_t added(const LaunchWork& work, unsigned times) {
  const unsigned odd = work.kernels % 2;  // the last goes to B, and leaves A one behind
  return odd == 0 ? work.kernels * times : work.kernels + (work.kernels - 1) * (times - 1);
}

void check_words(const std::vector<std::uint32_t>& words, const LaunchWork& work, unsigned times) {
  if (words.size() != work.bytes / sizeof(std::uint32_t)) {
    throw WrongResult(fmt::format("copies of {} bytes left {} words", work.bytes, words.size()));
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t expected = launch_word(i) + added(work, times);
    if (words[i] == expected) continue;
    throw WrongResult(
        fmt::format("word {} after {} submissions of {} copies of {} bytes is 0x{:08x}; expected 0x{:08x}", i, times,
                    work.kernels, work.bytes, words[i], expected));
  }
}

/// Samples of what `of` makes of a submission's times, each the mean over a few, until there are enough.
template <class Of>
std::vector<double> sample(const Row& row, const LaunchWork& work, const Of& of) {
  row.device.launch(work, kTimes);  // the first ones of a kernel load it
  return sample_until(row.settings.stop, [&] {
    double sum = 0;
    for (const LaunchTimes& times : row.device.launch(work, kTimes)) sum += of(times);
    if (work.bytes != 0) check_words(row.device.launched_words(), work, kTimes);
    return sum / kTimes;
  });
}
double round_trip_us(const LaunchTimes& times) { return times.round_trip_seconds * kMicro; }
double submit_us(const LaunchTimes& times) { return times.submit_seconds / kManyKernels * kMicro; }
double kernel_us(const LaunchTimes& times) { return times.device_seconds / kManyKernels * kMicro; }

void measure_empty(const Row& row, bool as_graph) {
  const auto put = [&](const std::string& name, unsigned kernels, double (*of)(const LaunchTimes&)) {
    std::vector<double> samples = sample(row, {as_graph, kernels, 0}, of);
    const Summary s = summarise(samples);
    row.record.set(name, s.median);
    row.record.set(name + "_p5", s.p5);
    row.record.set(name + "_p95", s.p95);
    row.record.set(name + "_samples", static_cast<std::int64_t>(s.count));
    row.record.series.push_back({"sample_" + name, std::move(samples)});
  };
  put("round_trip_us", 1, round_trip_us);
  put("submit_us", kManyKernels, submit_us);
  put("kernel_us", kManyKernels, kernel_us);
}

/// Of copies in one way of submitting them: what they took, and the line through that.
struct Copies {
  std::string prefix;
  std::vector<double> bytes, times, lows, highs;
  std::vector<std::pair<double, double>> line;  ///< points of it

  void add(std::size_t size, const std::vector<double>& samples, bool of_the_line) {
    const Summary s = summarise(samples);
    bytes.push_back(static_cast<double>(size));
    times.push_back(s.median);
    lows.push_back(s.p5);
    highs.push_back(s.p95);
    if (of_the_line) line.emplace_back(bytes.back(), s.median);
  }
  void put(Record& record) const {
    constexpr std::size_t kLeastPoints = 4;  // two more than any line goes through
    if (line.size() >= kLeastPoints) {
      const LineFit fit = fit_line(line);
      record.set(prefix + "start_us", fit.start);
      if (fit.slope > 0) record.set(prefix + "giga_bytes_per_second", 2e-3 / fit.slope);  // read and written
      record.set(prefix + "fit_off_percent", fit.largest_residual_percent);
    }
    record.series.push_back({prefix + "copy_bytes", bytes});
    record.series.push_back({prefix + "copy_us", times});
    record.series.push_back({prefix + "copy_us_p5", lows});
    record.series.push_back({prefix + "copy_us_p95", highs});
  }
};

void measure_copies(const Row& row, bool as_graph) {
  Copies alone{"alone_", {}, {}, {}, {}, {}}, queued{"", {}, {}, {}, {}, {}};
  for (std::size_t size = kLeastBytes; size <= kMostBytes; size *= 2) {
    alone.add(size, sample(row, {as_graph, 1, size}, round_trip_us), true);
    double submitting = 0, all = 0;
    const auto samples = sample(row, {as_graph, kManyKernels, size}, [&](const LaunchTimes& t) {
      submitting += t.submit_seconds;
      all += t.device_seconds;
      return kernel_us(t);
    });
    // Where the host takes as long to submit them, the device's time is the host's.
    queued.add(size, samples, submitting < kHostShare * all);
  }
  row.record.set("kernel_us", queued.times.front());
  queued.put(row.record);
  alone.put(row.record);
  row.record.set("checked", std::string("every word after every sample"));
}

}  // namespace

std::vector<Measurement> launch_measurements() {
  return {{.name = "launch",
           .meaning = "starting kernels, as CUDA streams and graphs do: empty ones, and small copies with a fit over "
                      "their size",
           .axes = {{"way", "how kernels are submitted", {"stream", "graph"}}},
           .subjects = of_nvidia({kEmpty, kCopy}),
           .measure_row = [](const Row& row) {
             (row.record.subject == kEmpty ? measure_empty : measure_copies)(row, row.record.text("way") == "graph");
           }}};
}

}  // namespace tcnum::bench
