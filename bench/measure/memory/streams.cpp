// Streams: kernels that go once over arrays larger than the caches, with few to all threads that an SM can have.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string_view>

#include "bench/measure/steady.hpp"
#include "emu/parallel.hpp"
#include "memory.hpp"

namespace tcnum::bench {
namespace {

struct Stream {
  std::string_view name;
  double bytes;                              ///< of an element: read and written
  std::uint64_t (*result)(std::uint64_t i);  ///< its bits
};
double x(std::uint64_t i) { return stream_element(0, i); }
double y(std::uint64_t i) { return stream_element(1, i); }
std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
constexpr std::size_t kWarp = 32;
constexpr auto kStreams = std::to_array<Stream>({
    {"stream.init", 8, [](std::uint64_t) { return bits(kStreamFactor); }},
    {"stream.read", 8 + 8.0 / kWarp,
     [](std::uint64_t i) {
       std::uint64_t all = 0;
       for (std::uint64_t lane = 0; lane < kWarp; ++lane) all ^= bits(x(kWarp * i + lane));
       return all;
     }},
    {"stream.scale", 16, [](std::uint64_t i) { return bits(kStreamFactor * x(i)); }},
    {"stream.triad", 24, [](std::uint64_t i) { return bits(x(i) + kStreamFactor * y(i)); }},
    {"stream.3pt", 16, [](std::uint64_t i) { return bits(x(i) + x(i + 1) + x(i + 2)); }},
    {"stream.5pt", 16, [](std::uint64_t i) { return bits(x(i) + x(i + 1) + x(i + 2) + x(i + 3) + x(i + 4)); }},
});

/// Of all results of a stream.
std::uint64_t expected_checksum(const Stream& stream, std::size_t elements, unsigned threads) {
  constexpr std::uint64_t kPart = 1 << 16;
  const std::uint64_t results = stream.name == "stream.read" ? elements / kWarp : elements;
  std::vector<std::uint64_t> sums((results + kPart - 1) / kPart);
  in_parallel(sums.size(), threads, [&](std::size_t part) {
    const std::uint64_t end = std::min(results, (part + 1) * kPart);
    for (std::uint64_t i = part * kPart; i < end; ++i) {
      sums[part] += stream.result(i) * (2 * i + 1);
    }
  });
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

/// Of an SM (CUDA C++ Programming Guide, technical specifications of compute capabilities 8.0 and 9.0).
constexpr double kMostThreads = 2048;

/// 10^9 bytes a second: the median of some launches. The sum of all results is checked.
double rate_of(const Row& row, const Stream& stream, const StreamWork& work, std::uint64_t expected) {
  constexpr unsigned kLaunches = 5;
  const StreamTimes times = row.device.stream(work, kLaunches);
  if (times.checksum != expected) {
    throw WrongResult(fmt::format("{} with {} blocks of an SM: the sum of its results is 0x{:x}, and 0x{:x} on the CPU",
                                  work.kernel, work.blocks, times.checksum, expected));
  }
  return stream.bytes * static_cast<double>(work.elements) / median_of(times.seconds) * 1e-9;
}

void put_rates(const Row& row, const Stream& stream, const StreamWork& work, std::uint64_t expected) {
  // No clock is read, as all that is counted are bytes and seconds.
  const Steady steady = sample_steadily(
      row.device,
      [&] {
        return TimedSample{rate_of(row, stream, work, expected), 0};
      },
      row.settings);
  put_rates(row.record, "giga_bytes_per_second", steady);
  const double rate = median_of(steady.samples);
  put_share_of_pins(row, rate * 1e9);
  if (const auto watts = row.record.number("power_watts")) row.record.set("giga_bytes_per_joule", rate / *watts);
  row.record.series.push_back({"sample_giga_bytes_per_second", steady.samples});
}

void measure_stream(const Row& row) {
  constexpr std::size_t kTimesL2 = 8;
  const MemoryFacts& facts = row.device.memory_facts();
  const Stream& stream = named(kStreams, row.record.subject);
  StreamWork work{std::string(stream.name.substr(stream.name.find('.') + 1)),
                  kTimesL2 * facts.l2_bytes / sizeof(double) / kStreamElements * kStreamElements, 1};
  if (3 * work.elements * sizeof(double) > facts.global_bytes) {
    throw UnavailableError("its arrays do not fit in the device's memory");
  }
  const std::uint64_t expected = expected_checksum(stream, work.elements, row.settings.threads);
  Points sweep{"sweep_blocks", "sweep_occupancy_percent", "sweep_giga_bytes_per_second"};
  for (const unsigned blocks : row.numbers("blocks")) {
    if (!row.go_on(fmt::format("{} blocks", blocks))) break;
    work.blocks = blocks;
    sweep.add(blocks, blocks * kStreamThreads / kMostThreads * 100, rate_of(row, stream, work, expected));
  }
  sweep.put(row.record);
  const auto at = static_cast<std::size_t>(std::ranges::max_element(sweep[2]) - sweep[2].begin());
  work.blocks = static_cast<unsigned>(sweep[0][at]);
  put_rates(row, stream, work, expected);
  row.record.set("best_occupancy_percent", sweep[1][at]);
  row.record.set("saturated_occupancy_percent", saturated_from(sweep[1], sweep[2]));
}

}  // namespace

Measurement streams_measurement() {
  return {.name = "streams",
          .meaning = "kernels that go over large arrays of doubles, by how many threads an SM has at a time",
          .axes = {swept({"blocks", "blocks of 64 threads that an SM has at a time: 3 % of its threads each",
                          numbers({1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32})})},
          .subjects = of_nvidia(names_in(kStreams)),
          .measure_row = measure_stream};
}

}  // namespace tcnum::bench
