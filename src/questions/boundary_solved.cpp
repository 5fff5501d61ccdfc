// Boundary problems whose last terms are worked out from the sum of the others.
#include <algorithm>
#include <array>

#include "boundary_draft.hpp"
#include "emu/bit_width.hpp"
#include "numbers.hpp"

namespace tcnum {
namespace {

// Percent, weights, and exponents or their distances, both ends included.

constexpr int kUsualSign = 60;
constexpr int kPaddedProblems = 50;  // of problems in which bits that operands have beyond their format count
// c at first is a number, or of the others is worked out, after which the problem may be done:
constexpr int kCIsANumber = 30, kCIsWorkedOut = 25, kCAlone = 40;

// Of blocks:
constexpr int kEmpty = 30;
constexpr int kNewSums = 30;     // that begin a new sum, since blocks may be summed apart
constexpr int kOwnBase = 35;     // that have another base
constexpr int kCrowded = 40;     // with as many terms as there can be, all alike, …
constexpr int kLargeTerms = 50;  // … of crowded ones: with large significands, half or nearly all as large as can be
constexpr int kHalfLargest = 50, kHalf = 50, kNearlyAll = 95;
constexpr int kNotQuiteFull = 20;   // of crowded ones: with a term less
constexpr int kCrowdedAtBase = 80;  // of their terms; the others are
constexpr Interval kCrowdedBelow = {0, 3};
constexpr int kMostUncrowded = 2;    // terms
constexpr int kBesideBoundary = 30;  // of the terms of the others
constexpr int kCAnew = 15;           // after which c is worked out from the sum

// Of terms:
enum class Place : std::uint8_t { just_below, another_boundary, at_a_distance, base };
constexpr std::array<Weighted<Place>, 4> kPlaces = {
    {{Place::just_below, 1}, {Place::another_boundary, 1}, {Place::at_a_distance, 1}, {Place::base, 1}}};
constexpr Interval kJustBelow = {0, 3};
constexpr int kMostAbove = 4;  // the base of a sum

// Of the little that numbers differ by from powers of two:
constexpr int kLittleTwice = 50;
constexpr int kNothing = 20;
constexpr int kAtADistance = 75;  // else anywhere
constexpr int kFromOwnLeadingBit = 50;
constexpr int kAtACut = 60;
constexpr Interval kBesideDistance = {-2, 1};
constexpr int kOneUnit = 60;
constexpr Interval kUnits = {1, 15};

// Of what a sum lacks:
constexpr Interval kBesideBoundaryBit = {-1, 1};
constexpr int kFromLeadingBit = 30;  // the unit is at a distance from the sum's leading bit
constexpr int kNextPower = 30;       // to the next power of two
constexpr int kToFewUnits = 25;
constexpr Interval kFewUnits = {-2, 2};
constexpr int kALittleMore = 60;

// Of products that are about a number: how many a are tried for the b with the fewest bits to round away.
constexpr int kUntried = 20;
constexpr Interval kTriesBits = {0, 6};

constexpr int kNearest = 50, kDown = 50;  // of roundings, and of the others; the rest are up

uint128 magnitude(int128 value) { return static_cast<uint128>(value < 0 ? -value : value); }

/// value · 2^lowest, but for bits below that, and for terms that leave no room for carries.
struct Sum {
  static constexpr int kBelowBase = 96;  // bits that count
  static constexpr int kMostBits = 120;

  void add(bool negative, uint128 significand, int exponent) {
    const int shift = exponent - lowest;
    int128 term = 0;
    if (shift >= 0 && bit_width(significand) + shift < kMostBits)
      term = static_cast<int128>(significand << shift);
    else if (shift < 0 && shift > -128)
      term = static_cast<int128>(significand >> -shift);
    value += negative ? -term : term;
  }

  int lowest;
  int128 value;
};

class Solver {
 public:
  Solver(BoundaryDraft& draft, bool negative, int base)
      : draft_(draft),
        random_(draft.random),
        negative_(negative),
        base_(base),
        padded_(random_.chance(kPaddedProblems)),
        sum_{base - Sum::kBelowBase, 0} {}

  void solve() {
    if (random_.chance(kCIsANumber)) {
      const int exponent = draw_exponent();
      draft_.problem.c = draft_.number(draft_.c, draw_sign(), exponent);
      add_c();
    } else if (random_.chance(kCIsWorkedOut)) {
      set_c(draw_beside_boundary());
      if (random_.chance(kCAlone)) return;
    }
    for (const std::vector<int>& block : draft_.blocks) {
      if (!random_.chance(kEmpty)) put_block(block);
    }
  }

 private:
  bool draw_sign() { return random_.chance(kUsualSign) ? negative_ : !negative_; }

  int draw_exponent() {
    switch (random_.pick(kPlaces)) {
      case Place::just_below:
        return base_ - random_.in(kJustBelow);
      case Place::another_boundary:
        return std::min(draft_.near_a_boundary(), base_ + kMostAbove);
      case Place::at_a_distance:
        return draft_.at_a_distance(base_);
      case Place::base:
        break;
    }
    return base_;
  }

  Rounding draw_rounding() {
    if (random_.chance(kNearest)) return Rounding::nearest_even;
    return random_.chance(kDown) ? Rounding::down : Rounding::up;
  }

  void put_block(std::vector<int> places) {
    if (random_.chance(kNewSums)) sum_.value = 0;
    if (random_.chance(kOwnBase)) {
      base_ = std::min(draft_.near_a_boundary(), sum_.lowest + Sum::kBelowBase + kMostAbove);
    }
    for (std::size_t n = places.size() - 1; n > 0; --n)
      std::swap(places[n], places[static_cast<std::size_t>(random_.between(0, static_cast<int>(n)))]);
    const bool crowded = random_.chance(kCrowded);
    draft_.largest_percent = 0;
    if (crowded && random_.chance(kLargeTerms))
      draft_.largest_percent = random_.chance(kHalfLargest) ? kHalf : kNearlyAll;
    const int most = static_cast<int>(places.size()) - 1;
    const int terms = crowded ? std::max(0, most - (random_.chance(kNotQuiteFull) ? 1 : 0))
                              : random_.between(0, std::min(most, kMostUncrowded));
    for (int n = 0; n < terms; ++n) {
      const auto k = static_cast<std::size_t>(places[static_cast<std::size_t>(n)]);
      put_term(k, crowded);
      add_product(k);
    }
    const auto k = static_cast<std::size_t>(places[static_cast<std::size_t>(terms)]);
    if (sum_.value == 0)
      draft_.put(k, negative_, base_);
    else
      put_about(k, draw_missing());
    add_product(k);
    if (random_.chance(kCAnew)) set_c(draw_missing());
  }

  void put_term(std::size_t k, bool crowded) {
    if (crowded) {
      draft_.put(k, negative_, base_ - (random_.chance(kCrowdedAtBase) ? 0 : random_.in(kCrowdedBelow)));
    } else if (random_.chance(kBesideBoundary)) {
      put_about(k, draw_beside_boundary());
    } else {
      const int exponent = draw_exponent();
      draft_.put(k, draw_sign(), exponent);
    }
  }

  // Numbers in units of 2^lowest of the sum.

  /// ± a number a little above or below 2^base, or one near it.
  int128 draw_beside_boundary() {
    const int shift = std::min(draw_exponent(), base_ + kMostAbove) - sum_.lowest;
    if (shift < 0) return 0;
    int128 number = (static_cast<int128>(1) << shift) + draw_little(shift);
    if (random_.chance(kLittleTwice)) number += draw_little(shift);
    return random_.chance(kUsualSign) == negative_ ? -number : number;
  }

  /// ± a few units of a bit below `leading`, mostly one at which something is cut or rounded; sometimes nothing.
  int128 draw_little(int leading) {
    if (random_.chance(kNothing) || leading <= 0) return 0;
    int at = random_.between(0, leading);
    if (random_.chance(kAtADistance)) {
      const bool cut = !draft_.boundaries.cuts.empty() && random_.chance(kAtACut);
      const int from = random_.chance(kFromOwnLeadingBit) ? leading : base_ - sum_.lowest;
      const int distance = draft_.pick(cut ? draft_.boundaries.cuts : draft_.boundaries.distances);
      at = from - distance + random_.in(kBesideDistance);
    }
    if (at < 0 || at > leading) return 0;
    const int128 units = random_.chance(kOneUnit) ? 1 : random_.in(kUnits);
    return random_.coin() ? units << at : -(units << at);
  }

  /// What the sum lacks to a multiple of a power of two, or to a small number, or to a little more or less.
  int128 draw_missing() {
    const int128 value = sum_.value;
    const int leading = sum_.lowest + bit_width(magnitude(value)) - 1;
    int at = draft_.boundary();
    at += random_.in(kBesideBoundaryBit);
    if (at > leading + 2 || random_.chance(kFromLeadingBit)) {
      const int distance = draft_.pick(draft_.boundaries.distances);
      at = leading - distance + random_.in(kBesideDistance);
    }
    const bool next_power = random_.chance(kNextPower);
    const int shift = std::clamp((next_power ? leading + 1 : at) - sum_.lowest, 0, Sum::kMostBits - 2);
    const int128 unit = static_cast<int128>(1) << shift;
    int128 target = value < 0 ? -unit : unit;
    if (!next_power && random_.chance(kToFewUnits)) {
      target = unit * random_.in(kFewUnits);
    } else if (!next_power) {
      const int128 down = value >= 0 ? value / unit : -((-value + unit - 1) / unit);
      target = (down + random_.between(0, 1)) * unit;
    }
    if (random_.chance(kALittleMore)) target += draw_little(shift);
    return target - value;
  }

  // Operands.

  /// Of operands: as wide as they are stored, or as their format is.
  const Format& as_counted(const Format& f) const { return padded_ && f.padding_bits > 0 ? format(FormatId::fp32) : f; }

  void set_c(int128 value) {
    draft_.problem.c =
        encode(draft_.c, value < 0, magnitude(value), sum_.lowest, false, draw_rounding(), Overflow::max_finite);
    add_c();
  }
  void add_c() {
    const Decoded d = decode(draft_.c, draft_.problem.c);
    sum_.add(d.negative, d.significand, d.exponent - draft_.c.fraction_bits);
  }
  void add_product(std::size_t k) {
    const Format &a = as_counted(draft_.a), &b = as_counted(draft_.b);
    const Decoded x = decode(a, draft_.problem.a[k]), y = decode(b, draft_.problem.b[k]);
    sum_.add(x.negative != y.negative, static_cast<uint128>(x.significand) * y.significand,
             x.exponent - a.fraction_bits + y.exponent - b.fraction_bits);
  }

  /// Sets a[k]·b[k] to about that value: of some a, the one for which value / a has the fewest bits to round away.
  void put_about(std::size_t k, int128 value) {
    const Format &a = as_counted(draft_.a), &b = as_counted(draft_.b);
    if (value == 0) return;
    const int exponent = sum_.lowest + bit_width(magnitude(value)) - 1;
    const int low = std::max(a.min_exponent(), exponent - b.max_exponent());
    int high = std::min(a.max_exponent(), exponent - 1 - b.min_exponent());
    // b is subnormal where there is no other way.
    if (low > high) high = std::min(a.max_exponent(), exponent - smallest_exponent(b));
    if (low > high) return;
    const int ea = random_.between(low, high);
    const Rounding rounding = draw_rounding();
    constexpr int kScaledBits = 127;
    const uint128 scaled = magnitude(value) << (kScaledBits - bit_width(magnitude(value)));
    const std::uint64_t best = best_divisor(scaled, a, b, rounding, value < 0);
    draft_.problem.a[k] = encode(a, false, best, ea - a.fraction_bits, false, Rounding::toward_zero);
    draft_.problem.b[k] = encode(b, value < 0, scaled / best, exponent - (kScaledBits - 1) - ea + a.fraction_bits,
                                 scaled % best != 0, rounding, Overflow::max_finite);
  }

  /// Of some significands of a, drawn at random, the one by which `scaled` has the quotient that is rounded to b least.
  std::uint64_t best_divisor(uint128 scaled, const Format& a, const Format& b, Rounding rounding, bool negative) {
    const bool up = rounding == (negative ? Rounding::down : Rounding::up);
    const std::uint64_t one = std::uint64_t{1} << a.fraction_bits;
    const int tries = random_.chance(kUntried) ? 0 : 1 << random_.in(kTriesBits);
    std::uint64_t best = one, least = ~std::uint64_t{0};
    for (int n = 0; n < tries; ++n) {
      const std::uint64_t x = one + (random_.next64() & (one - 1));
      const uint128 quotient = scaled / x;
      const int dropped = bit_width(quotient) - b.fraction_bits - 1;
      // What rounding drops, in units of 2^-64 of the last place.
      auto rest = static_cast<std::uint64_t>(dropped > 64 ? quotient >> (dropped - 64) : quotient << (64 - dropped));
      if (up) rest = 0 - rest;
      if (rounding == Rounding::nearest_even) rest = std::min(rest, 0 - rest);
      if (rest >= least) continue;
      least = rest;
      best = x;
    }
    return best;
  }

  BoundaryDraft& draft_;
  RandomNumbers& random_;
  bool negative_;
  int base_;
  bool padded_;
  Sum sum_;
};

}  // namespace

void put_solved_terms(BoundaryDraft& draft, bool negative, int base) { Solver(draft, negative, base).solve(); }

}  // namespace tcnum
