#include "boundaries.hpp"

#include <algorithm>

#include "boundary_draft.hpp"
#include "integer_families.hpp"
#include "packing.hpp"

namespace tcnum {
namespace {

constexpr std::uint32_t kBoundarySeries = 1000;  // of random numbers, apart from those of the families

// Percent of problems:
constexpr int kFull = 10;    // that are full of terms as large as can be
constexpr int kSolved = 40;  // of the others, in which terms are worked out from the sum so far

Problem make_boundary_problem(const Instruction& in, const Boundaries& boundaries, RandomNumbers random) {
  BoundaryDraft draft(in, boundaries, random);
  put_background(draft);
  const int base = draft.near_a_boundary();
  const bool negative = draft.random.coin();
  if (draft.random.chance(kFull))
    put_full_blocks(draft, negative, base);
  else if (draft.random.chance(kSolved))
    put_solved_terms(draft, negative, base);
  else
    put_few_terms(draft, negative, base);
  return draft.problem;
}

}  // namespace

Tiles make_boundary_tiles(const Instruction& in, const Boundaries& boundaries, std::uint64_t seed, std::uint64_t first,
                          std::size_t count, std::size_t m, std::size_t n) {
  const std::size_t side = std::max(m, n);
  return tiles_of(in, count, m, n, [&](std::size_t i) {
    const RandomNumbers random(seed, kBoundarySeries, first * side + i);
    return format(in.d).floating ? make_boundary_problem(in, boundaries, random) : integer_families::limits(in, random);
  });
}

}  // namespace tcnum
