// Sizes of buffers that sweeps over memories go through.
#pragma once

#include <cstddef>
#include <vector>

namespace tcnum::bench {

/// From `least` to `most`, in bytes, with four to an octave, multiples of a piece.
inline std::vector<std::size_t> quarter_octaves(std::size_t least, std::size_t most, std::size_t piece) {
  constexpr std::size_t kParts = 4;
  std::vector<std::size_t> sizes;
  for (std::size_t octave = least; octave <= most; octave *= 2) {
    for (std::size_t part = 0; part < kParts; ++part) {
      const std::size_t size = octave / kParts * (kParts + part) / piece * piece;
      if (size <= most && (sizes.empty() || size > sizes.back())) sizes.push_back(size);
    }
  }
  return sizes;
}
/// Powers of two times `least`, behind those that are there.
inline void append_octaves(std::vector<std::size_t>& sizes, std::size_t least, std::size_t most) {
  for (std::size_t size = least; size <= most; size *= 2) sizes.push_back(size);
}

}  // namespace tcnum::bench
