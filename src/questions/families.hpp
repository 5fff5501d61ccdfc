// Families: random problems of one kind each, which a live oracle is asked beside the crafted ones. docs/battery.md has
// a table of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

enum class Family : std::uint8_t {
  close_sizes,    ///< exponents within a few of each other; of integers: a few bits
  any_sizes,      ///< exponents anywhere; of integers: any number of bits
  cancelling,     ///< large products that nearly cancel
  any_codes,      ///< every finite code alike
  smallest,       ///< around the smallest results: subnormals, underflow; of integers: −1, 0, 1
  largest,        ///< around the largest results: overflow; of integers: at the ends of the ranges
  few_terms,      ///< few nonzero terms at related exponents
  limits,         ///< a few terms at the smallest result and far below it; of integers: the sum passes an end of the
                  ///< accumulator's range on the way
  zeros,          ///< zeros of both signs, with and without other terms; of integers: all products zero
  special_codes,  ///< infinities and NaNs among ordinary numbers; of integers: patterns of bits
  bell_curve,     ///< normally distributed values
};
inline constexpr std::size_t kFamilies = 11;
std::string_view name(Family family);

/// The problem with that index of a family: a function of all four arguments, the same on every machine.
Problem make_problem(const Instruction& instruction, Family family, std::uint64_t seed, std::uint64_t index);

/// Tiles first … first + count − 1 of m × n, whose rows, columns and accumulators come from one family.
Tiles make_family_tiles(const Instruction& instruction, Family family, std::uint64_t seed, std::uint64_t first,
                        std::size_t count, std::size_t m, std::size_t n);

}  // namespace tcnum
