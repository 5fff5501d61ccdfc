// Latency: one lane follows pointers through a random cycle.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "bench/measure/steady.hpp"
#include "memory.hpp"
#include "src/questions/random_numbers.hpp"

namespace tcnum::bench {
namespace {

/// Uniform in 0 … end − 1, by multiplication: off by less than one in 2^32 / end.
std::size_t below(std::uint32_t random, std::size_t end) {
  return static_cast<std::size_t>((std::uint64_t{random} * end) >> 32);
}

}  // namespace

std::vector<std::uint64_t> random_cycle(std::size_t bytes, std::size_t piece_bytes, std::uint64_t seed,
                                        std::uint64_t n) {
  constexpr std::uint32_t kSeries = 500;  // a purpose of its own (src/questions/random_numbers.hpp)
  RandomNumbers random(seed, kSeries, n);
  std::vector<std::uint64_t> next(bytes / piece_bytes), order;
  std::iota(next.begin(), next.end(), std::uint64_t{0});
  for (std::size_t i = next.size(); i-- > 1;) std::swap(next[i], next[below(random.next(), i)]);
  const std::size_t lines = piece_bytes / kLineBytes;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < next.size(); ++i) {
    order.push_back(at * piece_bytes + (lines > 1 ? below(random.next(), lines) * kLineBytes : 0));
    at = next[at];
  }
  return order;
}

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
std::size_t most_bytes(const Row& row) {
  constexpr std::size_t kMostByIndex = std::size_t{16} << 30;  // indices of 32 bits into words of 4 bytes
  const std::size_t most = row.device.memory_facts().global_bytes / 4 * 3;
  return row.record.text("address") == "index" ? std::min(most, kMostByIndex) : most;
}

/// For each size some chases, each with a cycle of its own. The fastest and the slowest of them show the spread.
std::vector<LatencyPoint> sweep(const Row& row, Memory memory, const std::vector<std::size_t>& sizes,
                                std::size_t piece) {
  const bool by_index = row.record.text("address") == "index";
  const std::size_t least_samples = row.settings.stop.least_samples;
  std::vector<LatencyPoint> points;
  Points series{"sweep_bytes", "sweep_latency_cycles", "sweep_min_cycles", "sweep_max_cycles"};
  std::vector<double> clocks;
  double spread = 0;
  std::uint64_t n = 0;
  for (const std::size_t size : sizes) {
    if (!row.go_on(fmt::format("{} bytes", size))) break;
    std::vector<double> samples;
    while (samples.size() < least_samples) {
      const Chase chase = chase_of(row.device.memory_facts(), memory, size, piece, by_index, row.settings.seed, n++);
      const ChaseTimes times = row.device.chase(chase);
      check_end(chase, times);
      if (times.batch.clock_mhz > 0) clocks.push_back(times.batch.clock_mhz);
      samples.push_back(times.batch.cycles.front() / chase.hops);
    }
    const Summary s = summarise(samples);
    points.push_back({static_cast<double>(size), s.median});
    series.add(size, s.median, s.min, s.max);
    spread = std::max(spread, s.spread_percent());
  }
  row.record.set("samples_of_a_size", static_cast<std::int64_t>(least_samples));
  row.record.set("spread_percent", spread);
  if (!clocks.empty()) row.record.set("clock_mhz", median_of(clocks));
  series.put(row.record);
  return points;
}

void put_levels(Record& record, const std::vector<Level>& levels, const std::vector<std::string>& names) {
  const auto clock = record.number("clock_mhz");
  for (std::size_t i = 0; i < levels.size(); ++i) {
    record.set(names[i] + "_latency_cycles", levels[i].cycles);
    if (clock) record.set(names[i] + "_latency_ns", levels[i].cycles / *clock * 1e3);
    record.set(names[i] + "_fits_bytes", static_cast<std::int64_t>(levels[i].fits_bytes));
  }
}

void measure_global(const Row& row) {
  constexpr std::size_t kLeast = 1024, kTimesL2 = 4;
  const MemoryFacts& facts = row.device.memory_facts();
  const std::size_t most = most_bytes(row);
  std::vector<std::size_t> sizes = quarter_octaves(kLeast, std::min(most, kTimesL2 * facts.l2_bytes), kLineBytes);
  for (std::size_t size = 2 * kTimesL2 * facts.l2_bytes; size <= most; size *= 2) sizes.push_back(size);
  const auto levels = find_levels(sweep(row, Memory::l1, sizes, kLineBytes));
  put_levels(row.record, levels, names_of(levels, static_cast<double>(facts.l2_bytes)));
}

/// Lines of as many pages, all of which the L2 holds: what is above its latency is spent on the translation of
/// addresses.
void measure_pages(const Row& row) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 4 * kPageBytes; size <= most_bytes(row); size *= 2) sizes.push_back(size);
  const auto levels = find_levels(sweep(row, Memory::l2, sizes, kPageBytes));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < levels.size(); ++i) names.push_back(fmt::format("pages_{}", i + 1));
  put_levels(row.record, levels, names);
}

void measure_shared(const Row& row) {
  constexpr std::size_t kLeast = 1024;
  const auto sizes = quarter_octaves(kLeast, row.device.memory_facts().shared_bytes, kLineBytes);
  std::vector<double> cycles;
  for (const LatencyPoint& p : sweep(row, Memory::shared, sizes, kLineBytes)) cycles.push_back(p.cycles);
  row.record.set("shared_latency_cycles", median_of(cycles));
}

struct Subject {
  const char* name;
  void (*measure)(const Row& row);
};
constexpr Subject kSubjects[] = {
    {"latency.global", measure_global}, {"latency.global.pages", measure_pages}, {"latency.shared", measure_shared}};

}  // namespace

Measurement latency_measurement() {
  return {.name = "latency",
          .meaning = "latency of loads: a random cycle of pointers through buffers of all sizes",
          .axes = {{"address",
                    "what each load finds: the next one's address, or its index in an array",
                    {"pointer", "index"}}},
          .subjects = of_nvidia(names_in(kSubjects)),
          .measure_row = [](const Row& row) { named(kSubjects, row.record.subject).measure(row); }};
}

}  // namespace tcnum::bench
