// What is in the buffers of memory measurements, and what threads that read them must get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/device/memory_timing.hpp"

namespace tcnum::bench {

/// A random cycle (Sattolo's) through a buffer that has one pointer in each piece of so many bytes, at the beginning of
/// a random line of it. The n-th of a seed.
std::vector<std::uint64_t> random_cycle(std::size_t bytes, std::size_t piece_bytes, std::uint64_t seed,
                                        std::uint64_t n);
inline constexpr std::size_t kLineBytes = 128;
inline constexpr std::size_t kPageBytes = std::size_t{2} << 20;  ///< what cudaMalloc maps at once

/// Of all results of a stream.
std::uint64_t expected_checksum(const StreamWork& work, unsigned threads);
/// Bytes that a stream moves for each element.
double stream_bytes(const std::string& kernel);

}  // namespace tcnum::bench
