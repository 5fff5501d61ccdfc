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

/// 10^9 bytes a second: the median of some launches. The sum of all results is checked.
double rate_of(const Row& row, const StreamWork& work, std::uint64_t expected) {
  constexpr unsigned kLaunches = 5;
  const StreamTimes times = row.device.stream(work, kLaunches);
  if (times.checksum != expected) {
    throw WrongResult(fmt::format("{} with {} blocks of an SM: the sum of its results is 0x{:x}, and 0x{:x} on the CPU",
                                  work.kernel, work.blocks, times.checksum, expected));
  }
  return stream_bytes(work.kernel) * static_cast<double>(work.elements) / median_of(times.seconds) * 1e-9;
}

void put_rates(const Row& row, const StreamWork& work, std::uint64_t expected) {
  std::vector<double> rates;
  // Cycles stand for the time of a launch here: no clock is read, as all that is counted are bytes and seconds.
  const Steady steady = sample_steadily(
      row.device,
      [&] {
        rates.push_back(rate_of(row, work, expected));
        return TimedSample{rates.back(), 0};
      },
      row.settings);
  const Summary s = summarise(rates);
  put_summary(row.record, "giga_bytes_per_second", s);
  put_conditions(row.record, s, steady);
  put_share_of_pins(row, s.median * 1e9);
  if (const auto watts = row.record.number("power_watts")) row.record.set("giga_bytes_per_joule", s.median / *watts);
  row.record.series.push_back({"sample_giga_bytes_per_second", std::move(rates)});
}

void measure_stream(const Row& row) {
  constexpr std::size_t kTimesL2 = 8;
  const MemoryFacts& facts = row.device.memory_facts();
  StreamWork work{row.record.subject.substr(kPrefix.size()),
                  kTimesL2 * facts.l2_bytes / sizeof(double) / kStreamElements * kStreamElements, 1};
  if (3 * work.elements * sizeof(double) > facts.global_bytes) {
    throw UnavailableError("its arrays do not fit in the device's memory");
  }
  const std::uint64_t expected = expected_checksum(work, row.settings.threads);
  Points sweep{"sweep_blocks", "sweep_occupancy_percent", "sweep_giga_bytes_per_second"};
  for (const unsigned blocks : row.numbers("blocks")) {
    if (!row.go_on(fmt::format("{} blocks", blocks))) break;
    work.blocks = blocks;
    sweep.add(blocks, blocks * kStreamThreads / kMostThreads * 100, rate_of(row, work, expected));
  }
  sweep.put(row.record);
  const auto at = static_cast<std::size_t>(std::ranges::max_element(sweep[2]) - sweep[2].begin());
  work.blocks = static_cast<unsigned>(sweep[0][at]);
  put_rates(row, work, expected);
  row.record.set("best_occupancy_percent", sweep[1][at]);
  row.record.set("saturated_occupancy_percent", saturated_from(sweep[1], sweep[2]));
}

}  // namespace

Measurement streams_measurement() {
  return {
      .name = "streams",
      .meaning = "kernels that go over large arrays of doubles, by how many threads an SM has at a time",
      .axes = {swept({"blocks", "blocks of 64 threads that an SM has at a time: 3 % of its threads each",
                      numbers({1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32})})},
      .subjects = of_nvidia({"stream.init", "stream.read", "stream.scale", "stream.triad", "stream.3pt", "stream.5pt"}),
      .measure_row = measure_stream};
}

}  // namespace tcnum::bench
