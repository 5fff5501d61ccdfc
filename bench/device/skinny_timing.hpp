// Timing products of tall and skinny matrices: by a kernel of ours, and by NVIDIA's library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memory_timing.hpp"
#include "tcnum/format.hpp"

namespace tcnum {

/// D = Aᵀ · B: A and B have k rows of n numbers, one row behind the other, and D is n × n.
struct SkinnyWork {
  FormatId format = FormatId::fp64;  ///< or fp32: of operands, sums and results
  std::size_t n = 1;                 ///< one of kSkinnySizes
  std::size_t k = 0;                 ///< rows that take a multiple of kSkinnyVector bytes, and kSkinnyBytes at most
  bool by_library = false;           ///< the algorithm that the library's heuristic offers first
  /// Each takes the rows behind those of the one before, and the first ones behind the last, so that they are in no
  /// cache.
  unsigned launches = 1;
};
inline constexpr std::array<std::size_t, 7> kSkinnySizes = {1, 2, 4, 8, 16, 32, 64};
inline constexpr std::size_t kSkinnyBytes = std::size_t{1} << 30;  ///< of each operand that the device has
inline constexpr std::size_t kSkinnyVector = 16;

/// Rows come again after so many, a prime.
inline constexpr std::size_t kSkinnyPeriod = 4093;
/// Element `column` of a row of A (matrix 0) or B (1): whole numbers so small that no sum of their products is rounded,
/// in whatever order. Of fp64, −128 … 127; of fp32, one of eight is ±1, the others are 0.
constexpr int skinny_element(FormatId format, int matrix, std::size_t n, std::size_t row, std::size_t column) {
  const std::uint32_t h = memory_word(static_cast<std::uint32_t>(matrix) + 21, row % kSkinnyPeriod * n + column) >> 8;
  if (format == FormatId::fp64) return static_cast<int>(h & 0xff) - 128;
  if ((h & 7) != 0) return 0;
  return (h & 8) != 0 ? -1 : 1;
}

struct SkinnyTimes {
  double seconds = 0;         ///< of a launch: of all of them behind each other, divided by how many
  std::size_t first_row = 0;  ///< of those that the last launch had
  std::string algorithm;      ///< the library's, by its attributes
};

}  // namespace tcnum
