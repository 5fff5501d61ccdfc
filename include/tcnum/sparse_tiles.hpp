// Tiles of sparse instructions, and the dense ones of half as many products that they come down to.
#pragma once

#include <cstdint>

#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// The dot problems that the instruction computes, as dense tiles of products() products, with block scales where it
/// has them; all codes are zero.
Tiles make_dot_tiles(const Instruction& instruction, std::size_t count, std::size_t m, std::size_t n);

/// Tiles as the instruction takes them, with all codes zero. In every group of a sparse A, the first elements are the
/// stored ones.
Tiles make_operands(const Instruction& instruction, std::size_t count, std::size_t m, std::size_t n);

/// The dot problems of tiles that may be sparse, as dense tiles of one product for each stored element: all elements of
/// c and d stay where they are in memory. If the rows of no tile select different elements of B, the tiles keep their
/// shape; else each row becomes a tile of its own.
Tiles gather(Tiles tiles);

/// The dense dot problems of a vector file with that metadata, as its instruction computes them: gathered, with
/// operands of the opposite sign where scale_a or scale_b is -1, and with zero for c where scale_d is 0.
Tiles dot_problems(Tiles tiles, const std::map<std::string, std::string>& metadata);

/// How scatter() uses the freedom that it has.
struct Scattering {
  std::uint32_t seed = 0;
  /// What the elements of B hold that are no problem's: codes that must not matter (NaN, infinities, largest numbers,
  /// anything), or zero.
  bool garbage = false;
};
/// What a vector file holds, if nobody says otherwise.
inline constexpr Scattering kPlainScattering = {};

/// Dense tiles of products() products as operands of a sparse instruction that compute the same dot problems. Rows
/// differ in where their elements stand as far as columns of B that they share allow. All is a function of the tile's
/// operands and of `scattering`, so that the same problems are always put in the same way. For a dense instruction,
/// the tiles as they are.
Tiles scatter(const Instruction& instruction, Tiles tiles, const Scattering& scattering = kPlainScattering);

/// The first place in e, as an index, where a group begins that is not legal for the instruction; e.size() if all are.
std::size_t first_illegal_group(const Instruction& instruction, const Codes& e);

}  // namespace tcnum
