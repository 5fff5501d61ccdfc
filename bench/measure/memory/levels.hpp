// The levels of a memory hierarchy, found in latencies.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tcnum::bench {

/// Latency of loads from a buffer of that size.
struct LatencyPoint {
  double bytes, cycles;
};

/// Sizes over which the latency stays the same.
struct Level {
  double cycles = 0;       ///< the median
  double fits_bytes = 0;   ///< the largest buffer with this latency
  double first_bytes = 0;  ///< the smallest
};

/// Of points by ascending size. A level is a run of at least three neighbouring sizes whose latencies all lie within 4
/// % of the run's median. Long runs are taken first, and what is left of others after them; neighbours whose latencies
/// differ by less than 12 % are one level. What lies between levels is where one gives way to the next.
std::vector<Level> find_levels(const std::vector<LatencyPoint>& points);

/// What a level of buffers that are walked through line by line is: "l1" (a first one that is a small part of the L2),
/// "l2" and "l2_far" (the second of two that fit in the L2), "dram" (larger than twice the L2), "dram_2" and so on.
std::vector<std::string> names_of(const std::vector<Level>& levels, double l2_bytes);

}  // namespace tcnum::bench
