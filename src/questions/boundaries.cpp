#include "boundaries.hpp"

#include <algorithm>

#include "boundary_draft.hpp"
#include "numbers.hpp"
#include "packing.hpp"
#include "stream.hpp"

namespace tcnum {
namespace {

constexpr std::uint32_t kBoundarySeries = 1000;  // of random numbers

// Percent of problems:
constexpr int kFull = 10;    // that are full of terms as large as can be
constexpr int kSolved = 40;  // of the others, in which terms are worked out from the sum so far

/// Block scales bring products to any exponent. Where `base` is before they do.
int choose_scale_exponent(BoundaryDraft& draft, int base) {
  const ProductMaker make(draft.in);
  const Interval possible = scale_exponents(draft.in);
  const int product = draft.random.between(make.lowest(), make.highest());
  draft.scale_exponent = std::clamp(base - product, possible.low, possible.high);
  return base - draft.scale_exponent;
}

// Of those with block scales, percent:
constexpr int kBlocksApart = 60;  // in which blocks lie at distances that matter from others
constexpr int kOtherBlock = 50;   // of these blocks, mostly below
constexpr int kBelow = 80;
constexpr int kScaleSignificands = 30;  // whose scales are no powers of two
constexpr Interval kScaleNudge = {-2, 2};

/// Multiplies all of the problem by its scale exponent.
void scale_problem(BoundaryDraft& draft) {
  RandomNumbers& random = draft.random;
  scale_accumulator(draft.in, draft.problem, draft.scale_exponent);
  const bool apart = random.chance(kBlocksApart);
  for (std::size_t block = 0; block < draft.problem.sa.size(); ++block) {
    int own = 0;
    if (apart && random.chance(kOtherBlock)) {
      own = draft.pick(draft.boundaries.distances);
      own += random.in(kScaleNudge);
      if (random.chance(kBelow)) own = -own;
    }
    put_scales(draft.in, draft.problem, block, draft.scale_exponent + own);
  }
  if (random.chance(kScaleSignificands)) draw_scale_significands(draft.in, draft.problem, random);
}

Problem make_boundary_problem(const Instruction& in, const Boundaries& boundaries, RandomNumbers random) {
  BoundaryDraft draft(in, boundaries, random);
  put_background(draft);
  int base = draft.near_a_boundary();
  if (in.scaled()) base = choose_scale_exponent(draft, base);
  const bool negative = draft.random.coin();
  if (draft.random.chance(kFull))
    put_full_blocks(draft, negative, base);
  else if (draft.random.chance(kSolved))
    put_solved_terms(draft, negative, base);
  else
    put_few_terms(draft, negative, base);
  if (in.scaled()) scale_problem(draft);
  return draft.problem;
}

}  // namespace

Tiles make_boundary_tiles(const Instruction& in, const Boundaries& boundaries, std::uint64_t seed, std::uint64_t first,
                          std::size_t count, std::size_t m, std::size_t n) {
  const std::size_t side = std::max(m, n);
  return tiles_of(in, count, m, n, [&](std::size_t i) {
    const std::uint64_t index = first * side + i;
    if (!format(in.d).floating) return make_problem(in, Distribution::edges, seed + kBoundarySeries, index);
    return make_boundary_problem(in, boundaries, RandomNumbers(seed, kBoundarySeries, index));
  });
}

}  // namespace tcnum
