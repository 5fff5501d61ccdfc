#include "block_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace tcnum {
double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

TimedBatch summarise(std::span<const BlockTimes> times, unsigned launches, std::string_view kernel, BlocksRun where) {
  const std::size_t blocks = times.size() / launches;
  TimedBatch batch;
  for (unsigned i = 0; i < launches; ++i) {
    std::vector<bool> taken(1024, false);  // more SMs than any GPU has
    double cycles = 0;
    const auto of_launch = times.subspan(i * blocks, blocks);
    for (const BlockTimes& block : of_launch) {
      if (block.differences != 0) {
        throw std::runtime_error(fmt::format("{}: {} times, a thread's results of a round were others than before",
                                             kernel, block.differences));
      }
      if (where == BlocksRun::one_an_sm && taken.at(block.sm))
        throw std::runtime_error(fmt::format("{}: two blocks ran on SM {}", kernel, block.sm));
      taken[block.sm] = true;
      cycles += static_cast<double>(block.cycles);
    }
    const auto begin = std::ranges::min(of_launch, {}, &BlockTimes::first_ns).first_ns;
    const auto end = std::ranges::max(of_launch, {}, &BlockTimes::last_ns).last_ns;
    batch.seconds.push_back(static_cast<double>(end - begin) * 1e-9);
    batch.cycles.push_back(cycles / static_cast<double>(blocks));
  }

  // From a block's begin in the first launch to the end of that on the same SM in the last.
  constexpr double kShortestNs = 100e3;  // the timer may step by a microsecond
  std::vector<double> clocks;
  for (const BlockTimes& first : times.first(blocks)) {
    const auto last_launch = times.last(blocks);
    const auto last = std::ranges::find(last_launch, first.sm, &BlockTimes::sm);
    if (last == last_launch.end()) continue;
    const auto ns = static_cast<double>(last->last_ns - first.first_ns);
    if (ns >= kShortestNs) clocks.push_back(static_cast<double>(last->last_clock - first.first_clock) / ns * 1e3);
  }
  if (!clocks.empty()) batch.clock_mhz = median(std::move(clocks));
  return batch;
}

}  // namespace tcnum
