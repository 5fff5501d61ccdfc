// Codes of a stream in a GPU's memory.
#pragma once

#include <cstdint>

namespace tcnum {

/// The code at a place of a matrix whose codes have so many bytes.
__device__ inline std::uint64_t load_code(const void* codes, std::uint64_t index, int bytes) {
  switch (bytes) {
    case 1:
      return static_cast<const std::uint8_t*>(codes)[index];
    case 2:
      return static_cast<const std::uint16_t*>(codes)[index];
    case 4:
      return static_cast<const std::uint32_t*>(codes)[index];
    default:
      return static_cast<const std::uint64_t*>(codes)[index];
  }
}

}  // namespace tcnum
