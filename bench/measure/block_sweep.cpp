#include "block_sweep.hpp"

#include <algorithm>
#include <map>

namespace tcnum::bench {
namespace {

/// Of the shortest time.
constexpr double kRise = 0.25;
/// Of a rise, what its one block must account for.
constexpr double kSteep = 0.5;

}  // namespace

BlockSweep sweep_blocks(unsigned sms, unsigned multiples, const std::function<double(unsigned)>& seconds_of) {
  std::map<unsigned, double> seconds;
  const auto measure = [&](unsigned blocks) {
    const auto [place, is_new] = seconds.try_emplace(blocks, 0);
    if (is_new) place->second = seconds_of(blocks);
    return place->second;
  };
  constexpr unsigned kQuarters = 4;
  std::vector<unsigned> coarse = {1};
  for (unsigned q = 1; q <= kQuarters * multiples; ++q) {
    const unsigned blocks = sms * q / kQuarters;
    if (blocks > coarse.back()) coarse.push_back(blocks);
  }
  double shortest = measure(coarse.front());
  for (unsigned blocks : coarse) shortest = std::min(shortest, measure(blocks));

  BlockSweep sweep;
  for (std::size_t i = 1; i < coarse.size(); ++i) {
    unsigned below = coarse[i - 1], above = coarse[i];
    const double rise = measure(above) - measure(below);
    if (rise < kRise * shortest) continue;
    const double middle = measure(below) + rise / 2;
    while (above - below > 1) {
      const unsigned blocks = below + (above - below) / 2;
      (measure(blocks) < middle ? below : above) = blocks;
    }
    if (measure(above) - measure(below) >= kSteep * rise) sweep.steps.push_back(above);
  }
  for (const auto& [blocks, time] : seconds) sweep.points.push_back({blocks, time});
  return sweep;
}

std::optional<unsigned> step_period(const std::vector<unsigned>& steps) {
  if (steps.empty()) return std::nullopt;
  const unsigned period = steps.front() - 1;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] != period * (i + 1) + 1) return std::nullopt;
  }
  return period;
}

}  // namespace tcnum::bench
