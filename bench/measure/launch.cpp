#include "launch.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "bench/device/launch_timing.hpp"
#include "line_fit.hpp"

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

void check_words(LaunchDevice& device, const LaunchWork& work, unsigned times) {
  const std::vector<std::uint32_t> words = device.words();
  if (words.size() != work.bytes / sizeof(std::uint32_t)) {
    throw WrongResult(fmt::format("copies of {} bytes left {} words", work.bytes, words.size()));
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t right = launch_word(i) + added(work, times);
    if (words[i] == right) continue;
    throw WrongResult(
        fmt::format("word {} after {} submissions of {} copies of {} bytes is 0x{:08x}; right would be "
                    "0x{:08x}",
                    i, times, work.kernels, work.bytes, words[i], right));
  }
}

/// Samples of what `of` makes of a submission's times, each the mean over a few, until there are enough.
template <class Of>
std::vector<double> sample(LaunchDevice& device, const LaunchWork& work, const StopRule& stop, const Of& of) {
  device.launch(work, kTimes);  // the first ones of a kernel load it
  return sample_until(stop, [&] {
    double sum = 0;
    for (const LaunchTimes& times : device.launch(work, kTimes)) sum += of(times);
    check_words(device, work, kTimes);
    return sum / kTimes;
  });
}

void put(Record& record, const std::string& name, const std::vector<double>& samples) {
  const Summary s = summarise(samples);
  record.set(name, s.median);
  record.set(name + "_p5", s.p5);
  record.set(name + "_p95", s.p95);
  record.set(name + "_samples", static_cast<std::int64_t>(s.count));
  record.series.push_back({"sample_" + name, samples});
}

class LaunchMeasurement final : public Measurement {
 public:
  std::string name() const override { return "launch"; }
  std::string meaning() const override {
    return "starting kernels, as CUDA streams and graphs do: empty ones, and small copies with a fit over their size";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = {
        {"way", "how kernels are submitted", {"stream", "graph"}, {"stream", "graph"}}};
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override {
    if (!tcnum::arch(arch).name.starts_with("sm_")) return {};
    return {kEmpty, kCopy};
  }

  void measure(TimingDevice& device, ArchId, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    for (const std::string& subject : subjects) {
      for (const std::string& way : selection.at("way")) {
        Record record{name(), subject, {{"way", way}}, {}, {}, "", ""};
        if (settings.has(record)) continue;
        if (!settings.go_on(fmt::format("{} kernels, {}", subject, way))) return;
        LaunchDevice* const launches = device.launches();
        if (launches == nullptr) {
          record.waived = "this device does not time launches";
        } else {
          measure_into(record, [&] {
            (subject == kEmpty ? measure_empty : measure_copies)(*launches, way == "graph", settings.stop, record);
          });
        }
        add(std::move(record));
      }
    }
  }

 private:
  static void measure_empty(LaunchDevice& device, bool as_graph, const StopRule& stop, Record& record) {
    const LaunchWork one{as_graph, 1, 0}, many{as_graph, kManyKernels, 0};
    put(record, "round_trip_us",
        sample(device, one, stop, [](const LaunchTimes& t) { return t.round_trip_seconds * kMicro; }));
    put(record, "submit_us",
        sample(device, many, stop, [](const LaunchTimes& t) { return t.submit_seconds / kManyKernels * kMicro; }));
    put(record, "kernel_us",
        sample(device, many, stop, [](const LaunchTimes& t) { return t.device_seconds / kManyKernels * kMicro; }));
  }

  /// Of copies in one way of submitting them: what they took, and the line through that.
  struct Copies {
    std::vector<double> bytes, times, lows, highs;
    std::vector<std::pair<double, double>> points;  ///< of the line

    void add(std::size_t size, const std::vector<double>& samples, bool of_the_line) {
      const Summary s = summarise(samples);
      bytes.push_back(static_cast<double>(size));
      times.push_back(s.median);
      lows.push_back(s.p5);
      highs.push_back(s.p95);
      if (of_the_line) points.emplace_back(bytes.back(), s.median);
    }
    void put(Record& record, const std::string& prefix) const {
      constexpr std::size_t kLeastPoints = 4;  // two more than any line goes through
      if (points.size() >= kLeastPoints) {
        const LineFit fit = fit_line(points);
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

  static void measure_copies(LaunchDevice& device, bool as_graph, const StopRule& stop, Record& record) {
    Copies alone, queued;
    for (std::size_t size = kLeastBytes; size <= kMostBytes; size *= 2) {
      alone.add(
          size,
          sample(device, {as_graph, 1, size}, stop, [](const LaunchTimes& t) { return t.round_trip_seconds * kMicro; }),
          true);
      double submitting = 0, all = 0;
      const auto samples = sample(device, {as_graph, kManyKernels, size}, stop, [&](const LaunchTimes& t) {
        submitting += t.submit_seconds;
        all += t.device_seconds;
        return t.device_seconds / kManyKernels * kMicro;
      });
      // Where the host takes as long to submit them, the device's time is the host's.
      queued.add(size, samples, submitting < kHostShare * all);
    }
    record.set("kernel_us", queued.times.front());
    queued.put(record, "");
    alone.put(record, "alone_");
    record.set("checked", std::string("every word after every sample"));
  }
};

}  // namespace

const Measurement& launch_measurement() {
  static const LaunchMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
