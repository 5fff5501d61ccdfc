// Latency of one copy, by its size: nothing else goes on on the device.
#include <fmt/format.h>

#include <algorithm>

#include "copies.hpp"
#include "sums.hpp"

namespace tcnum::bench {
namespace {

class CopyLatencyMeasurement final : public Measurement {
 public:
  std::string name() const override { return "copy latency"; }
  std::string meaning() const override {
    return "one copy from global to shared memory, from its first instruction until its last word is read";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<std::string> bytes = {"128",  "256",  "512",   "1024",  "2048",
                                                   "4096", "8192", "16384", "32768", "65536"};
    static const std::vector<Axis> axes = {from_axis(),
                                           {"latency_bytes", "bytes of the copy; a row has them all", bytes, bytes}};
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override { return copy_subjects(arch, kLatencyOf); }

  void measure(TimingDevice& device, ArchId arch, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    measure_methods(name(), kLatencyOf, device, arch, subjects, selection, settings, add,
                    [&](const CopyRow& row) { return sweep(row, selection.at("latency_bytes")); });
  }

 private:
  /// Why there is nothing to measure; empty: it was measured.
  static std::string sweep(const CopyRow& row, const std::vector<std::string>& sizes) {
    CopyDevice& device = row.device;
    const Settings& settings = row.settings;
    Record& record = row.record;
    CopyLatencyWork work{.method = row.method, .from_l2 = row.from_l2()};
    // Whether from DRAM or not: more would only cost page walks, which are the measurement of memories' business.
    work.buffer_bytes = copy_buffer_bytes(device, true);
    device.fill(work.buffer_bytes, copy_seed(settings));
    Record::Series bytes{"latency_bytes", {}}, medians{"latency_cycles", {}}, least{"latency_min_cycles", {}},
        most{"latency_max_cycles", {}};
    double spread = 0;
    std::size_t samples = 0;
    for (const std::string& text : sizes) {
      work.copy_bytes = static_cast<std::size_t>(std::stoul(text));
      if (work.copy_bytes < least_copy_bytes(row.method) || work.copy_bytes > most_copy_bytes(row.method)) continue;
      if (work.copy_bytes > device.ring_bytes()) continue;
      std::vector<double> cycles, of_launches;
      while (of_launches.size() < settings.stop.least_samples) {
        const CopyLatencies found = device.latencies(work);
        check_latencies(work, found, copy_seed(settings));
        cycles.insert(cycles.end(), found.cycles.begin(), found.cycles.end());
        of_launches.push_back(summarise(found.cycles).median);
      }
      const Summary all = summarise(std::move(cycles));
      bytes.numbers.push_back(static_cast<double>(work.copy_bytes));
      medians.numbers.push_back(all.median);
      least.numbers.push_back(all.min);
      most.numbers.push_back(all.max);
      spread = std::max(spread, summarise(of_launches).spread_percent());
      samples = all.count;
    }
    if (bytes.numbers.empty()) return kNoSuchSize;
    record.set("least_bytes", static_cast<std::int64_t>(bytes.numbers.front()));
    record.set("least_cycles", medians.numbers.front());
    record.set("most_bytes", static_cast<std::int64_t>(bytes.numbers.back()));
    record.set("most_cycles", medians.numbers.back());
    record.set("spread_percent", spread);
    record.set("samples_of_a_size", static_cast<std::int64_t>(samples));
    record.set("checked", std::string("the sum by place of every copy"));
    for (Record::Series* series : {&bytes, &medians, &least, &most}) record.series.push_back(std::move(*series));
    return "";
  }
};

}  // namespace

const Measurement& copy_latency_measurement() {
  static const CopyLatencyMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
