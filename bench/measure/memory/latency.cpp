// Latency: one lane follows pointers through a random cycle.
#include <fmt/format.h>

#include <algorithm>

#include "buffers.hpp"
#include "levels.hpp"
#include "memory.hpp"
#include "sizes.hpp"

namespace tcnum::bench {
namespace {

unsigned whole_bodies(std::size_t hops) {
  return static_cast<unsigned>(std::max<std::size_t>(1, hops / kChaseHops) * kChaseHops);
}

/// The chase through a buffer of that size, with the n-th cycle. Once round, or a part of the way of the largest ones,
/// fills the caches before. A buffer several times larger than all caches would take long to go round: it has pointers
/// in some of its lines alone, each is visited once, and none is in a cache.
Chase chase_of(const MemoryFacts& facts, Memory memory, std::size_t bytes, std::size_t piece, bool by_index,
               std::uint64_t seed, std::uint64_t n) {
  constexpr std::size_t kWarmest = 8192, kLeastHops = 2048, kColdHops = 16384, kMostPointers = 1 << 17;
  constexpr std::size_t kSurelyBeyond = 4;  // times the L2
  Chase chase{memory, by_index, bytes, {}, false, false, 0, 0};
  if (piece == kLineBytes && bytes > kSurelyBeyond * facts.l2_bytes) {
    const std::size_t lines = std::max<std::size_t>(1, bytes / kMostPointers / kLineBytes);
    chase.order = random_cycle(bytes, lines * kLineBytes, seed, n);
    chase.flush = true;
    chase.hops = whole_bodies(std::min(chase.order.size(), kColdHops));
    return chase;
  }
  chase.order = random_cycle(bytes, piece, seed, n);
  const std::size_t pointers = chase.order.size();
  chase.touch = memory != Memory::shared && pointers > kWarmest;
  chase.warm_hops = whole_bodies(std::min(pointers, kWarmest));
  chase.hops = whole_bodies(std::clamp(pointers, kLeastHops, kColdHops));
  return chase;
}

void check_end(const Chase& chase, const ChaseTimes& times) {
  const std::size_t end = (chase.warm_hops + chase.hops) % chase.order.size();
  if (times.end != chase.order[end]) {
    throw WrongResult(fmt::format("a chase through {} bytes ended at offset {}, and its cycle leads to {}", chase.bytes,
                                  times.end, chase.order[end]));
  }
}

/// Most that a chase may take of the device's memory.
std::size_t most_bytes(const MemoryFacts& facts, bool by_index) {
  constexpr std::size_t kMostByIndex = std::size_t{16} << 30;  // indices of 32 bits into words of 4 bytes
  const std::size_t most = facts.global_bytes / 4 * 3;
  return by_index ? std::min(most, kMostByIndex) : most;
}

/// For each size some chases, each with a cycle of its own. The fastest and the slowest of them show the spread.
std::vector<LatencyPoint> sweep(const MemoryRow& row, Memory memory, const std::vector<std::size_t>& sizes,
                                std::size_t piece, bool by_index) {
  std::vector<LatencyPoint> points;
  Record::Series bytes{"sweep_bytes", {}}, median{"sweep_latency_cycles", {}}, least{"sweep_min_cycles", {}},
      most{"sweep_max_cycles", {}}, all{"sample_latency_cycles", {}};
  std::vector<double> clocks;
  double spread = 0;
  std::uint64_t n = 0;
  for (const std::size_t size : sizes) {
    if (!row.settings.go_on(fmt::format("{} {} bytes", row.record.subject, size))) break;
    std::vector<double> samples;
    while (samples.size() < row.settings.stop.least_samples) {
      const Chase chase = chase_of(row.memory.memory_facts(), memory, size, piece, by_index, row.settings.seed, n++);
      const ChaseTimes times = row.memory.chase(chase);
      check_end(chase, times);
      if (times.batch.clock_mhz > 0) clocks.push_back(times.batch.clock_mhz);
      samples.push_back(times.batch.cycles.front() / chase.hops);
    }
    const Summary s = summarise(samples);
    points.push_back({static_cast<double>(size), s.median});
    bytes.numbers.push_back(static_cast<double>(size));
    median.numbers.push_back(s.median);
    least.numbers.push_back(s.min);
    most.numbers.push_back(s.max);
    all.numbers.insert(all.numbers.end(), samples.begin(), samples.end());
    spread = std::max(spread, s.spread_percent());
  }
  row.record.set("samples_of_a_size", static_cast<std::int64_t>(row.settings.stop.least_samples));
  row.record.set("spread_percent", spread);
  if (!clocks.empty()) row.record.set("clock_mhz", summarise(clocks).median);
  for (Record::Series* series : {&bytes, &median, &least, &most, &all}) row.record.series.push_back(std::move(*series));
  return points;
}

void put_levels(Record& record, const std::vector<Level>& levels, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    record.set(names[i] + "_latency_cycles", levels[i].cycles);
    if (const auto clock = record.number("clock_mhz"))
      record.set(names[i] + "_latency_ns", levels[i].cycles / *clock * 1e3);
    record.set(names[i] + "_fits_bytes", static_cast<std::int64_t>(levels[i].fits_bytes));
  }
}

void measure_global(const MemoryRow& row, bool by_index) {
  constexpr std::size_t kLeast = 1024, kTimesL2 = 4;
  const MemoryFacts& facts = row.memory.memory_facts();
  const std::size_t most = most_bytes(facts, by_index);
  std::vector<std::size_t> sizes = quarter_octaves(kLeast, std::min(most, kTimesL2 * facts.l2_bytes), kLineBytes);
  append_octaves(sizes, 2 * kTimesL2 * facts.l2_bytes, most);
  const auto levels = find_levels(sweep(row, Memory::l1, sizes, kLineBytes, by_index));
  put_levels(row.record, levels, names_of(levels, static_cast<double>(facts.l2_bytes)));
}

/// Lines of as many pages, all of which the L2 holds: what is above its latency is spent on the translation of
/// addresses.
void measure_pages(const MemoryRow& row, bool by_index) {
  std::vector<std::size_t> sizes;
  append_octaves(sizes, 4 * kPageBytes, most_bytes(row.memory.memory_facts(), by_index));
  const auto levels = find_levels(sweep(row, Memory::l2, sizes, kPageBytes, by_index));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < levels.size(); ++i) names.push_back(fmt::format("pages_{}", i + 1));
  put_levels(row.record, levels, names);
}

void measure_shared(const MemoryRow& row, bool by_index) {
  constexpr std::size_t kLeast = 1024;
  const auto sizes = quarter_octaves(kLeast, row.memory.memory_facts().shared_bytes, kLineBytes);
  std::vector<double> cycles;
  for (const LatencyPoint& p : sweep(row, Memory::shared, sizes, kLineBytes, by_index)) cycles.push_back(p.cycles);
  if (!cycles.empty()) row.record.set("shared_latency_cycles", summarise(cycles).median);
}

struct Subject {
  std::string name;
  void (*measure)(const MemoryRow& row, bool by_index);
};
const std::vector<Subject>& subject_table() {
  static const std::vector<Subject> table = {
      {"latency.global", measure_global}, {"latency.global.pages", measure_pages}, {"latency.shared", measure_shared}};
  return table;
}

class LatencyMeasurement final : public Measurement {
 public:
  std::string name() const override { return "latency"; }
  std::string meaning() const override {
    return "latency of loads: a random cycle of pointers through buffers of all sizes";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = {{"address",
                                            "what each load finds: the next one's address, or its index in an array",
                                            {"pointer", "index"},
                                            {"pointer", "index"}}};
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override {
    std::vector<std::string> names;
    for (const Subject& subject : subject_table()) names.push_back(subject.name);
    return if_nvidia(arch, std::move(names));
  }
  void measure(TimingDevice& device, ArchId, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    measure_rows(name(), axes(), device, subjects, selection, settings, add, [](const MemoryRow& row) {
      const auto subject = std::ranges::find(subject_table(), row.record.subject, &Subject::name);
      subject->measure(row, row.record.text("address") == "index");
      return std::string();
    });
  }
};

}  // namespace

const Measurement& latency_measurement() {
  static const LatencyMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
