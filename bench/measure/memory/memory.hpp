// The measurements of memories, and what they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/device/memory_timing.hpp"
#include "bench/measure/measurement.hpp"

namespace tcnum::bench {

/// Loads of which each waits for the one before.
Measurement latency_measurement();
/// How fast all SMs read from each level.
Measurement bandwidth_measurement();
/// Kernels that go once over large arrays.
Measurement streams_measurement();

/// Loads from the L1 until the device's clock has settled, once in a run.
void settle_clock(const Row& row);
/// Throws UnavailableError unless the device's memory has room for that twice.
void require_room(const Row& row, std::size_t bytes);
/// A rate's share of what the memory's pins can carry, where the driver says.
void put_share_of_pins(const Row& row, double bytes_per_second);

/// Gives each stream its share of the highest rate that the document has of one.
void put_shares(Document& document);

/// Sizes from `least` to `most`, in bytes, with four to an octave, multiples of a piece.
std::vector<std::size_t> quarter_octaves(std::size_t least, std::size_t most, std::size_t piece);

inline constexpr std::size_t kLineBytes = 128;
inline constexpr std::size_t kPageBytes = std::size_t{2} << 20;  ///< what cudaMalloc maps at once
/// A random cycle (Sattolo's) through a buffer that has one pointer in each piece of so many bytes, at the beginning of
/// a random line of it. The n-th of a seed.
std::vector<std::uint64_t> random_cycle(std::size_t bytes, std::size_t piece_bytes, std::uint64_t seed,
                                        std::uint64_t n);

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
