// What must arrive: of each box of a buffer the sum of its words by their place in shared memory.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/device/copy_timing.hpp"

namespace tcnum::bench {

/// Of box n of a buffer whose word i is memory_word(seed, i).
std::uint32_t box_sum(const BoxLayout& layout, std::uint32_t n, std::uint32_t seed);
/// Of all boxes.
std::vector<std::uint32_t> box_sums(const BoxLayout& layout, std::uint32_t seed, unsigned threads);

/// Throws WrongResult if a checksum of a launch is not that of the boxes which its warps had to copy.
void check_copies(const CopyWork& work, const CheckedTimes& times, const std::vector<std::uint32_t>& sums,
                  unsigned threads);
void check_latencies(const CopyLatencyWork& work, const CopyLatencies& found, std::uint32_t seed);

}  // namespace tcnum::bench
