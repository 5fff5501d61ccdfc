#include "boundary_draft.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "numbers.hpp"
#include "packing.hpp"

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
constexpr std::array<Weighted<Significand>, 9> kSignificands = {{{Significand::one, 1},
                                                                 {Significand::one_and_ulp, 1},
                                                                 {Significand::nearly_two, 1},
                                                                 {Significand::one_and_a_bit, 1},
                                                                 {Significand::one_and_half, 1},
                                                                 {Significand::leading_ones, 1},
                                                                 {Significand::ones_to_a_boundary, 1},
                                                                 {Significand::bits_at_a_boundary, 1},
                                                                 {Significand::any, 1}}};
constexpr std::array<Weighted<Significand>, 3> kLargeSignificands = {
    {{Significand::one_and_half, 1}, {Significand::leading_ones, 1}, {Significand::ones_to_a_boundary, 1}}};
constexpr Interval kOnesBesideDistance = {-2, 2}, kBitBesideDistance = {-1, 1}, kBits = {1, 2};
constexpr int kPadded = 30;             // of numbers that have bits beyond their format
constexpr int kSubnormalOperands = 25;  // of products whose operands may be subnormal

// The background's signs: all positive, of both, all negative; and zeros that stand beside a number.
constexpr std::array<Weighted<int>, 3> kNegativeZeros = {{{0, 1}, {50, 1}, {100, 1}}};
constexpr std::array<Weighted<int>, 3> kZeroTimesNumber = {{{0, 1}, {40, 1}, {80, 1}}};
constexpr int kSmallNumber = 25, kSubnormalNumber = 25;  // of those numbers

Significand draw_kind(RandomNumbers& random, int largest_percent) {
  if (random.chance(largest_percent)) return Significand::nearly_two;
  return largest_percent > 0 ? random.pick(kLargeSignificands) : random.pick(kSignificands);
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

int BoundaryDraft::at_a_distance(int base) {
  const int exponent = base - pick(boundaries.distances);
  return exponent + (random.chance(kExact) ? 0 : random.in(kNudge));
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

}  // namespace tcnum
