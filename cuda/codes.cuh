// Codes in a GPU's memory.
#pragma once

#include <cuda_runtime_api.h>

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

__device__ inline void store_code(void* codes, std::uint64_t index, int bytes, std::uint64_t code) {
  switch (bytes) {
    case 1:
      static_cast<std::uint8_t*>(codes)[index] = static_cast<std::uint8_t>(code);
      break;
    case 2:
      static_cast<std::uint16_t*>(codes)[index] = static_cast<std::uint16_t>(code);
      break;
    case 4:
      static_cast<std::uint32_t*>(codes)[index] = static_cast<std::uint32_t>(code);
      break;
    default:
      static_cast<std::uint64_t*>(codes)[index] = code;
  }
}

}  // namespace tcnum
