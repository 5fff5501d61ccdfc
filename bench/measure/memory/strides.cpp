// Strides: bytes a clock that lanes get which load elements so far apart, from the L1 and from the banks of shared
// memory.
#include <fmt/format.h>

#include <algorithm>

#include "buffers.hpp"
#include "memory.hpp"

namespace tcnum::bench {
namespace {

constexpr const char* kShared = "strides.shared";
constexpr const char* kL1 = "strides.l1";
constexpr std::size_t kMostStride = 128;
constexpr std::size_t kLanes = 32;

/// Each load of a warp begins at a line of the buffer's first half, most of them at others, and goes up from there.
GatherWork work_of(Memory memory, unsigned width, std::size_t stride) {
  constexpr std::size_t kBytes = 65536, kBegins = kBytes / 2 / kLineBytes;
  constexpr unsigned kRounds = 64;
  static_assert((kLanes - 1) * kMostStride * 8 + 8 <= kBytes / 2 + kLineBytes);
  GatherWork work{memory, width, kBytes, {}, kRounds};
  for (std::size_t place = 0; place < kGathered; ++place) {
    for (std::size_t thread = 0; thread < kGatherThreads; ++thread) {
      const std::size_t begin = (thread / kLanes * kGathered + place) % kBegins * kLineBytes;
      work.offsets.push_back(static_cast<std::uint32_t>(begin + thread % kLanes * stride * width));
    }
  }
  return work;
}

/// Bytes of an SM in a clock, of a few launches whose checksums are compared with the CPU's.
std::vector<double> rates_of(const Row& row, const GatherWork& work) {
  constexpr std::size_t kFew = 3;
  const auto expected = expected_checksums(work, row.settings.fill_seed());
  std::vector<double> rates;
  while (rates.size() < kFew) {
    const GatherTimes times = row.device.gather(work);
    for (std::size_t i = 0; i < times.checksums.size(); ++i) {
      if (times.checksums[i] == expected[i % kGatherThreads]) continue;
      throw WrongResult(fmt::format("{}: thread {} of block {} has another checksum than the CPU", row.record.subject,
                                    i % kGatherThreads, i / kGatherThreads));
    }
    rates.push_back(static_cast<double>(kGathered * kGatherThreads * work.width) * work.rounds /
                    times.batch.cycles.front());
  }
  return rates;
}

void measure_strides(const Row& row) {
  const Memory memory = row.record.subject == kShared ? Memory::shared : Memory::l1;
  const unsigned width = row.number("width");
  row.device.fill(work_of(memory, width, 1).bytes, row.settings.fill_seed());
  Points sweep{"sweep_stride", "sweep_bytes_per_clock"};
  double spread = 0;
  for (std::size_t stride = 1; stride <= kMostStride; ++stride) {
    const Summary s = summarise(rates_of(row, work_of(memory, width, stride)));
    sweep.add(stride, s.median);
    spread = std::max(spread, s.spread_percent());
  }
  row.record.set("bytes_per_clock", sweep[1].front());
  row.record.set("bytes_per_clock_min", std::ranges::min(sweep[1]));
  row.record.set("spread_percent", spread);
  sweep.put(row.record);
}

}  // namespace

Measurement strides_measurement() {
  return {.name = "strides",
          .meaning = "bytes a clock of loads whose lanes lie 1 … 128 elements apart",
          .axes = {{"width", "bytes of an element", numbers({4, 8})}},
          .subjects = of_nvidia({kL1, kShared}),
          .measure_row = measure_strides};
}

}  // namespace tcnum::bench
