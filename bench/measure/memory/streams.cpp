// Streams: kernels that go once over arrays larger than the caches, with few to all threads that an SM can have.
#include <fmt/format.h>

#include <algorithm>

#include "buffers.hpp"
#include "memory.hpp"

namespace tcnum::bench {
namespace {

/// A stream's subject is its kernel behind this.
constexpr std::string_view kPrefix = "stream.";
/// Of an SM (CUDA C++ Programming Guide, technical specifications of compute capabilities 8.0 and 9.0).
constexpr double kMostThreads = 2048;

/// 10^9 bytes a second of some launches; the sum of all results is checked.
std::vector<double> rates_of(const MemoryRow& row, const StreamWork& work, std::uint64_t expected) {
  constexpr unsigned kLaunches = 5;
  const StreamTimes times = row.memory.stream(work, kLaunches);
  if (times.checksum != expected) {
    throw WrongResult(fmt::format("{} with {} blocks of an SM: the sum of its results is 0x{:x}, and 0x{:x} on the CPU",
                                  work.kernel, work.blocks, times.checksum, expected));
  }
  std::vector<double> rates;
  for (double seconds : times.seconds) {
    rates.push_back(stream_bytes(work.kernel) * static_cast<double>(work.elements) / seconds * 1e-9);
  }
  return rates;
}

void put_rates(const MemoryRow& row, StreamWork work, std::uint64_t expected) {
  std::vector<double> rates;
  // Cycles stand for the time of a launch here: no clock is read, as all that is counted are bytes and seconds.
  const Steady steady = sample_steadily(
      row.device,
      [&] {
        const double rate = summarise(rates_of(row, work, expected)).median;
        rates.push_back(rate);
        return TimedSample{rate, 0};
      },
      row.settings);
  const Summary s = summarise(rates);
  Record& record = row.record;
  record.set("giga_bytes_per_second", s.median);
  record.set("giga_bytes_per_second_min", s.min);
  record.set("giga_bytes_per_second_p5", s.p5);
  record.set("giga_bytes_per_second_p95", s.p95);
  record.set("giga_bytes_per_second_max", s.max);
  put_conditions(record, s, steady);
  if (const auto pins = row.memory.memory_facts().dram_bytes_per_second) {
    record.set("percent_of_pins", s.median * 1e9 / *pins * 100);
  }
  if (const auto watts = record.number("power_watts")) record.set("giga_bytes_per_joule", s.median / *watts);
  record.series.push_back({"sample_giga_bytes_per_second", std::move(rates)});
}

double occupancy_percent(double blocks) { return blocks * kStreamThreads / kMostThreads * 100; }

std::string measure_stream(const MemoryRow& row, const std::vector<std::string>& all_blocks) {
  constexpr std::size_t kTimesL2 = 8;
  const MemoryFacts& facts = row.memory.memory_facts();
  StreamWork work{row.record.subject.substr(kPrefix.size()),
                  kTimesL2 * facts.l2_bytes / sizeof(double) / kStreamElements * kStreamElements, 1};
  if (3 * work.elements * sizeof(double) > facts.global_bytes) return "its arrays do not fit in the device's memory";
  const std::uint64_t expected = expected_checksum(work, row.settings.threads);
  Record::Series blocks{"sweep_blocks", {}}, occupancy{"sweep_occupancy_percent", {}},
      rates{"sweep_giga_bytes_per_second", {}};
  for (const std::string& text : all_blocks) {
    if (!row.settings.go_on(fmt::format("{} {} blocks", row.record.subject, text))) break;
    work.blocks = static_cast<unsigned>(std::stoi(text));
    blocks.numbers.push_back(work.blocks);
    occupancy.numbers.push_back(occupancy_percent(work.blocks));
    rates.numbers.push_back(summarise(rates_of(row, work, expected)).median);
  }
  if (rates.numbers.empty()) return "interrupted";
  constexpr double kSaturated = 0.97;
  const double best = std::ranges::max(rates.numbers);
  const auto at = static_cast<std::size_t>(std::ranges::find(rates.numbers, best) - rates.numbers.begin());
  const auto saturated = static_cast<std::size_t>(
      std::ranges::find_if(rates.numbers, [&](double x) { return x >= kSaturated * best; }) - rates.numbers.begin());
  work.blocks = static_cast<unsigned>(blocks.numbers[at]);
  put_rates(row, work, expected);
  row.record.set("best_occupancy_percent", occupancy.numbers[at]);
  row.record.set("saturated_occupancy_percent", occupancy.numbers[saturated]);
  for (Record::Series* series : {&blocks, &occupancy, &rates}) row.record.series.push_back(std::move(*series));
  return "";
}

class StreamsMeasurement final : public Measurement {
 public:
  std::string name() const override { return "streams"; }
  std::string meaning() const override {
    return "kernels that go over large arrays of doubles, by how many threads an SM has at a time";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<std::string> blocks = {"1", "2", "3", "4", "6", "8", "12", "16", "20", "24", "28", "32"};
    static const std::vector<Axis> axes = {
        {"blocks", "blocks of 64 threads that an SM has at a time: 3 % of its threads each", blocks, blocks}};
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override {
    std::vector<std::string> names;
    for (const char* kernel : {"init", "read", "scale", "triad", "3pt", "5pt"}) {
      names.push_back(std::string(kPrefix) + kernel);
    }
    return if_nvidia(arch, std::move(names));
  }
  void measure(TimingDevice& device, ArchId, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    // The numbers of blocks make one row, whatever there are.
    const auto no_axes = [&](const MemoryRow& row) { return measure_stream(row, selection.at("blocks")); };
    measure_rows(name(), {}, device, subjects, {}, settings, add, no_axes);
  }
};

}  // namespace

const Measurement& streams_measurement() {
  static const StreamsMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
