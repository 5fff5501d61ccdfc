#include "gathers.hpp"

#include <fmt/format.h>

#include <chrono>

#include "buffers.hpp"

namespace tcnum::bench {

std::uint32_t fill_seed(const Settings& settings) { return static_cast<std::uint32_t>(settings.seed); }

Settings few_samples(const Settings& settings) {
  constexpr std::size_t kFew = 3;
  Settings few = settings;
  few.stop = {.least_samples = kFew, .least_seconds = 0, .most_seconds = 0, .relative_deviation = 1};
  return few;
}

Steady sample_gathers(const MemoryRow& row, const GatherWork& work, const Settings& settings) {
  const auto expected = expected_checksums(work, fill_seed(settings));
  return sample_steadily(
      row.device,
      [&] {
        const GatherTimes times = row.memory.gather(work);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < times.checksums.size(); ++i) {
          wrong += times.checksums[i] == expected[i % kGatherThreads] ? 0 : 1;
        }
        if (wrong != 0) {
          throw WrongResult(fmt::format("{}: {} of {} threads have other checksums than the CPU", row.record.subject,
                                        wrong, times.checksums.size()));
        }
        return TimedSample{times.batch.cycles.front() / work.rounds, times.batch.clock_mhz};
      },
      settings);
}

void settle_clock(const MemoryRow& row) {
  if (row.settings.warm_up_seconds <= 0) return;
  constexpr unsigned kWidth = 4, kRounds = 10'000;
  constexpr std::uint32_t kPlaces = kGathered * kGatherThreads;
  GatherWork work{Memory::l1, kWidth, std::size_t{kPlaces} * kWidth, {}, kRounds};
  for (std::uint32_t i = 0; i < kPlaces; ++i) work.offsets.push_back(i * kWidth);
  row.memory.fill(work.bytes, fill_seed(row.settings));
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() <
         row.settings.warm_up_seconds) {
    row.memory.gather(work);
  }
  row.settings.warm_up_seconds = 0;
}

}  // namespace tcnum::bench
