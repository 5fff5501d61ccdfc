// Boundary problems of few terms, and of as many and as large ones as there can be.
#include <array>
#include <cmath>

#include "boundary_draft.hpp"
#include "numbers.hpp"

namespace tcnum {
namespace {

// Percent, weights, and exponents or their distances, both ends included.

struct FewTerms {
  static constexpr int kFew = 85;  // of problems; the others have any number of terms
  static constexpr Interval kTerms = {1, 4};
  enum class Place : std::uint8_t { base, just_below, another_boundary, at_a_distance };
  static constexpr std::array<Weighted<Place>, 4> kPlaces = {
      {{Place::base, 1}, {Place::just_below, 1}, {Place::another_boundary, 1}, {Place::at_a_distance, 3}}};
  static constexpr Interval kJustBelow = {0, 3};
  static constexpr int kUsualSign = 60;
  /// How often the first term is c: never, sometimes, mostly.
  static constexpr std::array<Weighted<int>, 3> kFirstIsC = {{{0, 1}, {40, 1}, {80, 1}}};
  static constexpr int kOtherIsC = 20;
  static constexpr int kNeighbours = 20;   // of terms that are no c: two products that nearly cancel
  static constexpr int kComplements = 10;  // of the others: two products whose last bits add up
  static constexpr int kCancelled = 5;     // of problems: c is about the opposite of all products
};

struct FullBlocks {
  static constexpr int kHalfLargest = 50;            // of problems: half of the significands are as large as can be …
  static constexpr int kHalf = 50, kNearlyAll = 95;  // … and in the others nearly all
  static constexpr int kLowered = 40;                // of problems: below the boundary
  static constexpr Interval kLower = {0, 12};
  static constexpr int kAllBlocks = 40;  // are full; else one is,
  static constexpr int kLastBlock = 70;  // mostly the last,
  static constexpr Interval kOtherBlocksBelow = {0, 10};
  static constexpr int kTermJustBelow = 20;
  static constexpr int kNonzeroC = 70;
  static constexpr int kCAtBase = 50;
  static constexpr Interval kCBelow = {0, 30};
  static constexpr int kCancelled = 40;
};

constexpr int kPowerOfTwo = 50;          // percent of complements that are multiplied by 1
constexpr Interval kPartBelow = {1, 2};  // of complements, below their sum

/// The value of a finite code, or what is nearest.
double value_of(const Format& f, std::uint64_t code) {
  const Decoded d = decode(f, code);
  return (d.negative ? -1 : 1) * std::ldexp(static_cast<double>(d.significand), d.exponent - f.fraction_bits);
}

/// Makes c about the opposite of all products together, so that their last bits show.
void cancel(BoundaryDraft& draft) {
  double sum = 0;
  for (std::size_t k = 0; k < draft.problem.a.size(); ++k)
    sum += value_of(draft.a, draft.problem.a[k]) * value_of(draft.b, draft.problem.b[k]);
  constexpr int kBits = 53;
  int exponent = 0;
  const auto significand = static_cast<std::uint64_t>(std::ldexp(std::abs(std::frexp(sum, &exponent)), kBits));
  if (!std::isfinite(sum) || significand == 0) return;
  draft.problem.c = cut_code(draft.c, sum > 0, significand, exponent - kBits);
}

/// Two products that cancel but for their last bits: (2^e·m)² and −(2^e·(m − i))·(2^e·(m + i)) differ by 2^2e·i².
void put_neighbours(BoundaryDraft& draft, bool negative, int exponent) {
  RandomNumbers& random = draft.random;
  const Format &a = draft.a, &b = draft.b;
  const int bits = std::min(a.fraction_bits, b.fraction_bits);
  const int low = std::max(a.min_exponent(), exponent - b.max_exponent());
  const int high = std::min(a.max_exponent(), exponent - b.min_exponent());
  const std::size_t one_place = draft.place(), other_place = draft.place();
  if (low > high || one_place == other_place || bits < 2) return draft.put(one_place, negative, exponent);
  const int ea = random.between(low, high);
  const std::uint64_t one = std::uint64_t{1} << bits;
  const auto step = static_cast<std::uint64_t>(random.between(0, 1));
  const std::uint64_t middle = one + step + random.next64() % (one - 2 * step);
  const auto put = [&](std::size_t k, bool sign, std::uint64_t x, std::uint64_t y) {
    draft.problem.a[k] = cut_code(a, sign, x, ea - bits);
    draft.problem.b[k] = cut_code(b, false, y, exponent - ea - bits);
  };
  put(one_place, negative, middle, middle);
  put(other_place, !negative, middle - step, middle + step);
}

/// Two products with bits far below their leading ones that add up to a number of few bits: a·x + a·(t − x).
void put_complements(BoundaryDraft& draft, bool negative, int exponent) {
  RandomNumbers& random = draft.random;
  const Format &a = draft.a, &b = draft.b;
  const std::size_t one_place = draft.place(), other_place = draft.place();
  const int low = std::max(a.min_exponent(), exponent + 1 - b.max_exponent());
  const int high = std::min(a.max_exponent(), exponent - 2 - b.min_exponent());
  if (low > high || one_place == other_place) return draft.put(one_place, negative, exponent);
  const int ea = random.between(low, high), eb = exponent - ea;
  const auto without_padding = [](const Format& f, std::uint64_t code) {
    return code & ~((std::uint64_t{1} << f.padding_bits) - 1);
  };
  const std::uint64_t x = without_padding(b, draft.number(b, negative, eb - random.in(kPartBelow)));
  const Decoded d = decode(b, x);
  const int lowest = d.exponent - b.fraction_bits;
  if (eb - lowest < 0 || eb - lowest > 60) return draft.put(one_place, negative, exponent);  // t fits 64 bits
  std::uint64_t t = std::uint64_t{1} << (eb - lowest);
  if (const int last = draft.near_a_boundary() - ea - lowest; last >= 0 && last < eb - lowest) {
    t += std::uint64_t{1} << last;
  }
  draft.problem.a[one_place] = draft.problem.a[other_place] =
      random.chance(kPowerOfTwo) ? cut_code(a, false, 1, ea) : without_padding(a, draft.number(a, false, ea));
  draft.problem.b[one_place] = x;
  draft.problem.b[other_place] = cut_code(b, negative, t - d.significand, lowest);
}

int draw_exponent(BoundaryDraft& draft, int base) {
  switch (draft.random.pick(FewTerms::kPlaces)) {
    case FewTerms::Place::base:
      break;
    case FewTerms::Place::just_below:
      return base - draft.random.in(FewTerms::kJustBelow);
    case FewTerms::Place::another_boundary:
      return draft.near_a_boundary();
    case FewTerms::Place::at_a_distance:
      return draft.at_a_distance(base);
  }
  return base;
}

}  // namespace

void put_few_terms(BoundaryDraft& draft, bool negative, int base) {
  using Of = FewTerms;
  RandomNumbers& random = draft.random;
  const int terms = random.chance(Of::kFew) ? random.in(Of::kTerms) : random.between(1, draft.in.products() + 1);
  const int first_is_c = random.pick(Of::kFirstIsC);
  for (int n = 0; n < terms; ++n) {
    const int exponent = draw_exponent(draft, base);
    const bool sign = random.chance(Of::kUsualSign) ? negative : !negative;
    if (random.chance(n == 0 ? first_is_c : Of::kOtherIsC))
      draft.problem.c = draft.number(draft.c, sign, exponent);
    else if (random.chance(Of::kNeighbours))
      put_neighbours(draft, sign, exponent);
    else if (random.chance(Of::kComplements))
      put_complements(draft, sign, exponent);
    else
      draft.put(draft.place(), sign, exponent);
  }
  if (random.chance(Of::kCancelled)) cancel(draft);
}

void put_full_blocks(BoundaryDraft& draft, bool negative, int base) {
  using Of = FullBlocks;
  RandomNumbers& random = draft.random;
  draft.largest_percent = random.chance(Of::kHalfLargest) ? Of::kHalf : Of::kNearlyAll;
  if (random.chance(Of::kLowered)) base -= random.in(Of::kLower);
  const bool all = random.chance(Of::kAllBlocks);
  const int last = static_cast<int>(draft.blocks.size()) - 1;
  const int full = random.chance(Of::kLastBlock) ? last : random.between(0, last);
  for (int i = 0; i <= last; ++i) {
    const int below = all || i == full ? 0 : random.in(Of::kOtherBlocksBelow);
    for (const int k : draft.blocks[static_cast<std::size_t>(i)]) {
      const int lower = random.chance(Of::kTermJustBelow) ? 1 : 0;
      draft.put(static_cast<std::size_t>(k), negative, base - below - lower);
    }
  }
  if (random.chance(Of::kNonzeroC)) {
    const int below = random.chance(Of::kCAtBase) ? 0 : random.in(Of::kCBelow);
    draft.problem.c = draft.number(draft.c, negative, base - below);
  }
  if (random.chance(Of::kCancelled)) cancel(draft);
}

}  // namespace tcnum
