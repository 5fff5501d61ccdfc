// What reads of all SMs must find.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/device/memory_timing.hpp"

namespace tcnum::bench {

/// The words of a buffer of memory_word(seed, …), xored as the threads of a block do it.
class ReadWords {
 public:
  /// For works with that width and with regions of that size, or of any whole pieces: the first so many pieces.
  ReadWords(const ReadWork& work, std::size_t pieces, std::uint32_t seed, unsigned threads);

  /// [block][thread], of so many blocks. The buffer has no more pieces than are known here.
  std::vector<std::uint32_t> checksums(const ReadWork& work, std::size_t blocks, unsigned threads) const;

 private:
  std::vector<std::uint32_t> xored_;  ///< [piece][thread]
};

}  // namespace tcnum::bench
