// Families: random problems of one kind each, which a live oracle is asked beside the crafted ones. docs/battery.md has
// a table of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "operand_kinds.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// What the problems are like, as rows of kOperandKinds say it.
enum class Family : std::uint8_t {
  narrow,
  wide,
  cancellation,
  uniform_bits,
  tiny,
  huge,
  sparse,
  edges,
  signed_zeros,
  specials,
  gaussian,
};
inline constexpr std::size_t kFamilies = kRandomKinds;
std::string_view name(Family family);

/// The problem with that index of a family: a function of all four arguments, the same on every machine.
Problem make_problem(const Instruction& instruction, Family family, std::uint64_t seed, std::uint64_t index);

/// Tiles first … first + count − 1 of m × n, whose rows, columns and accumulators come from one family.
Tiles make_family_tiles(const Instruction& instruction, Family family, std::uint64_t seed, std::uint64_t first,
                        std::size_t count, std::size_t m, std::size_t n);

}  // namespace tcnum
