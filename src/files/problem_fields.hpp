// What a dot problem of an instruction consists of, in the order in which files have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "subject.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// One operand's elements of a problem.
struct ProblemField {
  enum class Of : std::uint8_t { row, column, element };  ///< of a tile: whose it is
  std::string_view name;                                  ///< a, e, b, sa, sb, c, d
  FormatId format_id;
  std::size_t count;
  Of of;
  Codes Tiles::*codes;

  /// Where element s of problem (i, j) of tile t stands.
  std::size_t index(const Tiles& tiles, std::size_t t, std::size_t i, std::size_t j, std::size_t s) const;
};

/// The result, d, is the last.
std::vector<ProblemField> problem_fields(const Instruction& instruction);

/// Of tiles that were read: fails, of that field, if elements of a sparse A stand where the instruction cannot take
/// them.
void check_positions(const Subject& subject, std::string_view field, const Tiles& tiles,
                     const Instruction& instruction);

}  // namespace tcnum
