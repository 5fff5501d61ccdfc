#include "boundaries.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "boundary_draft.hpp"
#include "numbers.hpp"
#include "packing.hpp"
#include "stream.hpp"

namespace tcnum {
namespace {

// Percent, weights, and exponents or their distances, both ends included.

constexpr int kFocus = 50;  // of boundaries that are among those that matter most
constexpr int kExact = 50;  // of exponents that are a boundary's own; the others are nudged:
constexpr Interval kNudge = {-2, 2};

enum class Significand : std::uint8_t {
  one,
  one_and_ulp,
  nearly_two,
  one_and_a_bit,
  one_and_half,
  leading_ones,        ///< any number of ones, then zeros
  ones_to_a_boundary,  ///< as many as a boundary's distance, about
  bits_at_a_boundary,  ///< one or two bits at boundaries' distances, about
  any,
};
constexpr int kSignificands = static_cast<int>(Significand::any) + 1;
constexpr std::array kLargeSignificands = {Significand::one_and_half, Significand::leading_ones,
                                           Significand::ones_to_a_boundary};
constexpr Interval kOnesBesideDistance = {-2, 2}, kBitBesideDistance = {-1, 1}, kBits = {1, 2};
constexpr int kPadded = 30;             // of numbers that have bits beyond their format
constexpr int kSubnormalOperands = 25;  // of products whose operands may be subnormal

// The background's signs: all positive, of both, all negative; and zeros that stand beside a number.
constexpr std::array kNegativeZeros = {0, 50, 100};
constexpr std::array kZeroTimesNumber = {0, 40, 80};
constexpr int kSmallNumber = 25, kSubnormalNumber = 25;  // of those numbers

Significand draw_kind(RandomNumbers& random, int largest_percent) {
  if (random.chance(largest_percent)) return Significand::nearly_two;
  return largest_percent > 0 ? random.pick(kLargeSignificands)
                             : static_cast<Significand>(random.between(0, kSignificands - 1));
}

std::uint64_t draw_significand(BoundaryDraft& draft, int bits) {
  RandomNumbers& random = draft.random;
  const std::uint64_t one = std::uint64_t{1} << bits;
  switch (draw_kind(random, draft.largest_percent)) {
    case Significand::one:
      return one;
    case Significand::one_and_ulp:
      return one + 1;
    case Significand::nearly_two:
      return 2 * one - 1;
    case Significand::one_and_a_bit:
      return one + (std::uint64_t{1} << random.between(0, bits)) / 2;
    case Significand::one_and_half:
      return one + one / 2;
    case Significand::leading_ones:
      return 2 * one - (std::uint64_t{1} << random.between(0, bits));
    case Significand::ones_to_a_boundary: {
      const int distance = draft.pick(draft.boundaries.distances);
      const int last = std::clamp(bits - distance + random.in(kOnesBesideDistance), 0, bits);
      return 2 * one - (std::uint64_t{1} << last);
    }
    case Significand::bits_at_a_boundary: {
      std::uint64_t significand = one;
      for (int n = random.in(kBits); n > 0; --n) {
        const int distance = draft.pick(draft.boundaries.distances);
        const int at = bits - distance + random.in(kBitBesideDistance);
        if (at >= 0 && at < bits) significand |= std::uint64_t{1} << at;
      }
      return significand;
    }
    case Significand::any:
      break;
  }
  return one + (random.next64() & (one - 1));
}

std::vector<std::vector<int>> one_block(const Instruction& in) {
  std::vector<int> all(static_cast<std::size_t>(in.products()));
  std::iota(all.begin(), all.end(), 0);
  return {all};
}

// Of problems with few terms:
constexpr int kFew = 85;  // percent; the others have any number of terms
constexpr Interval kTerms = {1, 4};
constexpr std::array kFirstIsC = {0, 40, 80};  // how often the first term is c: never, sometimes, mostly
constexpr int kOtherIsC = 20;

/// One to four terms, rarely more, each at a boundary or at a distance from `base`.
void put_few_terms(BoundaryDraft& draft, bool negative, int base) {
  RandomNumbers& random = draft.random;
  const int terms = random.chance(kFew) ? random.in(kTerms) : random.between(1, draft.in.products() + 1);
  const int first_is_c = random.pick(kFirstIsC);
  for (int n = 0; n < terms; ++n) {
    const int exponent = draft.term_exponent(base);
    const bool sign = random.chance(BoundaryDraft::kUsualSign) ? negative : !negative;
    if (random.chance(n == 0 ? first_is_c : kOtherIsC))
      draft.problem.c = draft.number(draft.c, sign, exponent);
    else
      draft.put(draft.place(), sign, exponent);
  }
}

/// Zeros: of one sign or of both, and some whose other operand is a large or a small number.
void put_background(BoundaryDraft& draft) {
  RandomNumbers& random = draft.random;
  const Format& b = draft.b;
  const int negative = random.pick(kNegativeZeros), times_number = random.pick(kZeroTimesNumber);
  for (std::size_t k = 0; k < draft.problem.a.size(); ++k) {
    draft.problem.a[k] = zero_code(draft.a, random.chance(negative));
    draft.problem.b[k] = zero_code(b, false);
    if (!random.chance(times_number)) continue;
    const int low = random.chance(kSubnormalNumber) ? smallest_exponent(b) : b.min_exponent();
    const int high = random.chance(kSmallNumber) ? b.min_exponent() : b.max_exponent();
    const int exponent = random.between(low, high);
    draft.problem.b[k] = draft.number(b, false, exponent);
  }
  draft.problem.c = zero_code(draft.c, random.chance(negative));
}

constexpr std::uint32_t kBoundarySeries = 1000;  // of random numbers

// Percent of problems:
constexpr int kSolved = 50;  // in which terms are worked out from the sum so far

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
  if (draft.random.chance(kSolved))
    put_solved_terms(draft, negative, base);
  else
    put_few_terms(draft, negative, base);
  if (in.scaled()) scale_problem(draft);
  return draft.problem;
}

}  // namespace

BoundaryDraft::BoundaryDraft(const Instruction& instruction, const Boundaries& where, RandomNumbers numbers)
    : in(instruction),
      boundaries(where),
      a(format(in.a)),
      b(format(in.b)),
      c(format(in.c)),
      random(numbers),
      problem(zero_problem(in)) {
  const auto& of_datapaths = boundaries.blocks;
  blocks = of_datapaths.empty()
               ? one_block(in)
               : of_datapaths[static_cast<std::size_t>(random.between(0, static_cast<int>(of_datapaths.size()) - 1))];
}

int BoundaryDraft::boundary() {
  return pick(random.chance(kFocus) ? boundaries.focus : boundaries.exponents) - scale_exponent;
}

int BoundaryDraft::near_a_boundary() {
  const int exponent = boundary();
  return exponent + (random.chance(kExact) ? 0 : random.in(kNudge));
}

int BoundaryDraft::term_exponent(int base) {
  enum class Place : std::uint8_t { base, just_below, another_boundary, at_a_distance };
  constexpr std::array kPlaces = {Place::base, Place::just_below, Place::another_boundary, Place::at_a_distance,
                                  Place::at_a_distance};
  constexpr Interval kJustBelow = {0, 3};
  switch (random.pick(kPlaces)) {
    case Place::base:
      break;
    case Place::just_below:
      return base - random.in(kJustBelow);
    case Place::another_boundary:
      return near_a_boundary();
    case Place::at_a_distance:
      base -= pick(boundaries.distances);
      return base + (random.chance(kExact) ? 0 : random.in(kNudge));
  }
  return base;
}

std::uint64_t BoundaryDraft::number(const Format& f, bool negative, int exponent) {
  const std::uint64_t significand = draw_significand(*this, f.fraction_bits);
  std::uint64_t code = cut_code(f, negative, significand, std::min(exponent, f.max_exponent()) - f.fraction_bits);
  if (f.padding_bits > 0 && random.chance(kPadded))
    code |= random.next64() & ((std::uint64_t{1} << f.padding_bits) - 1);
  return code;
}

void BoundaryDraft::put(std::size_t k, bool negative, int exponent) {
  const bool subnormal = random.chance(kSubnormalOperands);
  const auto lowest = [&](const Format& f) { return subnormal ? smallest_exponent(f) : f.min_exponent(); };
  const int low = std::max(lowest(a), exponent - b.max_exponent());
  const int high = std::min(a.max_exponent(), exponent - lowest(b));
  int ea = exponent < 0 ? lowest(a) : a.max_exponent(), eb = exponent < 0 ? lowest(b) : b.max_exponent();
  if (low <= high) {
    ea = random.between(low, high);
    eb = exponent - ea;
  }
  const bool a_negative = random.coin();
  problem.a[k] = number(a, a_negative, ea);
  problem.b[k] = number(b, a_negative != negative, eb);
}

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
