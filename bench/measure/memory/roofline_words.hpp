// What the roofline's kernel must find.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/device/roofline_timing.hpp"

namespace tcnum::bench {

/// A buffer of memory_word(seed, …), xored as the lanes of a step do it.
class RooflineWords {
 public:
  RooflineWords(std::size_t bytes, std::uint32_t seed, unsigned threads);

  /// RooflineTimes::checksum. The work's buffer is this one.
  std::uint64_t checksum(const RooflineWork& work, unsigned threads) const;

 private:
  std::vector<std::uint32_t> xored_;  ///< [tile][lane]
};

}  // namespace tcnum::bench
