// Throughput over the number of blocks: where one more makes a launch take longer.
#pragma once

#include <functional>
#include <optional>
#include <vector>

namespace tcnum::bench {

struct BlockSweep {
  struct Point {
    unsigned blocks;
    double seconds;  ///< of a launch
  };
  std::vector<Point> points;    ///< all that were measured, by their number of blocks
  std::vector<unsigned> steps;  ///< blocks with which a launch takes a good deal longer than with one fewer
};

/// Measures so many multiples of `sms` blocks, in quarters, and looks between two neighbours for the block at which the
/// time rises, if between them it rises by a quarter of the shortest time or more. A rise that is spread over many
/// blocks is no step.
BlockSweep sweep_blocks(unsigned sms, unsigned multiples, const std::function<double(unsigned blocks)>& seconds_of);

/// The p of steps at p + 1, 2 p + 1, and so on; none if they are not.
std::optional<unsigned> step_period(const std::vector<unsigned>& steps);

}  // namespace tcnum::bench
