#include "families.hpp"

#include <algorithm>
#include <array>

#include "block_scales.hpp"
#include "float_families.hpp"
#include "integer_families.hpp"
#include "packing.hpp"

namespace tcnum {
namespace {

constexpr std::uint32_t kScaleSeries = 3000;  // of random numbers, one for each family

struct FamilyRow {
  Problem (*of_floats)(const Instruction&, RandomNumbers);
  Problem (*of_integers)(const Instruction&, RandomNumbers);
};
constexpr std::array<FamilyRow, kFamilies> kRows = {{
    {float_families::narrow, integer_families::narrow},
    {float_families::wide, integer_families::wide},
    {float_families::cancellation, integer_families::cancellation},
    {float_families::uniform_bits, integer_families::uniform_bits},
    {float_families::tiny, integer_families::tiny},
    {float_families::huge, integer_families::huge},
    {float_families::sparse, integer_families::sparse},
    {float_families::edges, integer_families::edges},
    {float_families::signed_zeros, integer_families::signed_zeros},
    {float_families::specials, integer_families::specials},
    {float_families::gaussian, integer_families::gaussian},
}};
const FamilyRow& row(Family family) { return kRows[static_cast<std::size_t>(family)]; }

/// Each family's numbers are a series of their own.
RandomNumbers random_numbers(Family family, std::uint64_t seed, std::uint64_t index) {
  return {seed, static_cast<std::uint32_t>(family), index};
}

}  // namespace

std::string_view name(Family family) { return kOperandKinds[static_cast<std::size_t>(family)].name; }

Problem make_problem(const Instruction& in, Family family, std::uint64_t seed, std::uint64_t index) {
  const auto make = format(in.d).floating ? row(family).of_floats : row(family).of_integers;
  Problem problem = make(in, random_numbers(family, seed, index));
  if (in.scaled()) {
    const RandomNumbers random(seed, kScaleSeries + static_cast<std::uint32_t>(family), index);
    draw_scales(in, problem, random, family == Family::specials);
  }
  return problem;
}

Tiles make_family_tiles(const Instruction& in, Family family, std::uint64_t seed, std::uint64_t first,
                        std::size_t count, std::size_t m, std::size_t n) {
  const std::size_t side = std::max(m, n);
  return tiles_of(in, count, m, n, [&](std::size_t i) { return make_problem(in, family, seed, first * side + i); });
}

}  // namespace tcnum
