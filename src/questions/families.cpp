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
  std::string_view name;
  Problem (*of_floats)(const Instruction&, RandomNumbers);
  Problem (*of_integers)(const Instruction&, RandomNumbers);
};
constexpr std::array<FamilyRow, kFamilies> kRows = {{
    {"close_sizes", float_families::close_sizes, integer_families::close_sizes},
    {"any_sizes", float_families::any_sizes, integer_families::any_sizes},
    {"cancelling", float_families::cancelling, integer_families::cancelling},
    {"any_codes", float_families::any_codes, integer_families::any_codes},
    {"smallest", float_families::smallest, integer_families::smallest},
    {"largest", float_families::largest, integer_families::largest},
    {"few_terms", float_families::few_terms, integer_families::few_terms},
    {"limits", float_families::limits, integer_families::limits},
    {"zeros", float_families::zeros, integer_families::zeros},
    {"special_codes", float_families::special_codes, integer_families::special_codes},
    {"bell_curve", float_families::bell_curve, integer_families::bell_curve},
}};
const FamilyRow& row(Family family) { return kRows[static_cast<std::size_t>(family)]; }

/// Each family's numbers are a series of their own.
RandomNumbers random_numbers(Family family, std::uint64_t seed, std::uint64_t index) {
  return {seed, static_cast<std::uint32_t>(family), index};
}

}  // namespace

std::string_view name(Family family) { return row(family).name; }

Problem make_problem(const Instruction& in, Family family, std::uint64_t seed, std::uint64_t index) {
  const auto make = format(in.d).floating ? row(family).of_floats : row(family).of_integers;
  Problem problem = make(in, random_numbers(family, seed, index));
  if (in.scaled()) {
    const RandomNumbers random(seed, kScaleSeries + static_cast<std::uint32_t>(family), index);
    draw_scales(in, problem, random, family == Family::special_codes);
  }
  return problem;
}

Tiles make_family_tiles(const Instruction& in, Family family, std::uint64_t seed, std::uint64_t first,
                        std::size_t count, std::size_t m, std::size_t n) {
  const std::size_t side = std::max(m, n);
  return tiles_of(in, count, m, n, [&](std::size_t i) { return make_problem(in, family, seed, first * side + i); });
}

}  // namespace tcnum
