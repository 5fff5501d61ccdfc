// Boundary problems: random problems aimed at where two datapaths may begin to differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// Where two datapaths may begin to differ: exponents (of a floor, of the smallest result, …), and distances in bits
/// (of a cut below the alignment, of a rounding below the leading bit, …).
struct Boundaries {
  std::vector<int> exponents;
  std::vector<int> focus;  ///< those that matter most, as likely as all others together
  std::vector<int> distances;
  std::vector<int> cuts;  ///< those of the distances at which terms are cut
  /// For each datapath, which products are summed together, first to last; none: all of them.
  std::vector<std::vector<std::vector<int>>> blocks;
};

/// Tiles first … first + count − 1 of m × n, of problems of a few terms with exponents at the boundaries or at such a
/// distance from each other; of integers, of problems whose sums pass an end of the range on the way, wherever the
/// boundaries are. `exponents`, `focus` and `distances` must not be empty, but for integers.
Tiles make_boundary_tiles(const Instruction& instruction, const Boundaries& boundaries, std::uint64_t seed,
                          std::uint64_t first, std::size_t count, std::size_t m, std::size_t n);

}  // namespace tcnum
