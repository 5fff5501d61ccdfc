#include <algorithm>
#include <cmath>

#include "float_families.hpp"

namespace tcnum::float_families {
namespace {

// What each family draws by: percent of problems, and exponents, both ends included.

struct CloseSizes {
  static constexpr Interval kSpread = {0, 4};   // to both sides of an operand's centre
  static constexpr int kFarthestCentre = 12;    // from 2^0
  static constexpr int kAboveSmallest = 4;      // the products' centre, above the result's smallest normal number
  static constexpr int kBelowLargest = 8;       // and below its largest: room for carries
  static constexpr Interval kBeside = {-2, 4};  // c lies so much further than the spread
};

struct AnySizes {
  static constexpr Interval kReach = {3, 60};  // of operands, to both sides of 2^0
};

struct Cancelling {
  static constexpr int kHighestTop = 40;
  static constexpr int kTopBelowLargest = 6;       // room for carries, where the result must hold the products …
  static constexpr int kBeyondRange = 50;          // … and percent in which it need not, as long as they cancel
  static constexpr Interval kBelowTop = {0, 30};   // of the products that cancel
  static constexpr Interval kAmongThose = {0, 2};  // from each other
  static constexpr int kRestBelowLargest = 4;      // what remains must be in the result's range
  static constexpr Interval kDepth = {0, 45};      // of what remains: straddles the widths that matter
  static constexpr Interval kAmongRest = {0, 4};
  static constexpr int kLargeC = 30;  // percent in which c is as large as what remains may be
};

struct FewTerms {
  static constexpr Interval kTerms = {1, 4};
  static constexpr int kFarthestTop = 80;      // from 2^0
  static constexpr Interval kDepth = {0, 44};  // below the top
  static constexpr Interval kDepthOfC = {-4, 44};
  static constexpr int kNonzeroC = 70;  // percent
};

struct BellCurve {
  static constexpr int kTerms = 12;  // uniform numbers in 0 … 1, so many, have a sum of deviation 1
  static constexpr int kBits = 24;   // of each
};

/// A finite code, of these bits but for one of the exponent if need be.
std::uint64_t finite(const Format& f, std::uint64_t bits) {
  const std::uint64_t code = bits & f.code_mask();
  return decode(f, code).is_finite() ? code : code & ~(std::uint64_t{1} << (f.fraction_bits + f.padding_bits));
}

}  // namespace

void fill_with_narrow(FloatDraft& draft) {
  const int spread = draft.random.in(CloseSizes::kSpread);
  const auto draw_centre = [&](const Format& f) {
    const int margin = std::min(spread + 1, (f.max_exponent() - f.min_exponent()) / 2);
    const int most = std::min(f.max_exponent() - margin, CloseSizes::kFarthestCentre);
    const int least = std::max(f.min_exponent() + margin, -CloseSizes::kFarthestCentre);
    return draft.random.between(std::min(least, most), most);
  };
  const auto around = [&](int centre) { return centre + draft.random.between(-spread, spread); };
  // The products must suit the result's range too.
  const int ea = draw_centre(draft.a);
  const int product = std::clamp(ea + draw_centre(draft.b), draft.d.min_exponent() + CloseSizes::kAboveSmallest,
                                 draft.d.max_exponent() - CloseSizes::kBelowLargest);
  const int eb = std::clamp(product - ea, draft.b.min_exponent(), draft.b.max_exponent());
  for (std::size_t k = 0; k < draft.products(); ++k) {
    draft.problem.a[k] = draft.number(draft.a, around(ea));
    draft.problem.b[k] = draft.number(draft.b, around(eb));
  }
  const int beside = draft.random.between(CloseSizes::kBeside.low - spread, CloseSizes::kBeside.high + spread);
  draft.problem.c = draft.number(draft.c, ea + eb + beside);
}

Problem narrow(const Instruction& in, RandomNumbers random) {
  FloatDraft draft(in, random);
  fill_with_narrow(draft);
  return draft.problem;
}

Problem wide(const Instruction& in, RandomNumbers random) {
  FloatDraft draft(in, random);
  // A product's exponent is at most twice the reach.
  const int most = std::min(AnySizes::kReach.high, draft.d.max_exponent() / 2 - 2);
  const int reach = draft.random.between(AnySizes::kReach.low, most);
  const auto draw = [&](const Format& f) {
    return draft.random.between(std::max(f.min_exponent(), -reach), std::min(f.max_exponent(), reach));
  };
  for (std::size_t k = 0; k < draft.products(); ++k) {
    draft.problem.a[k] = draft.number(draft.a, draw(draft.a));
    draft.problem.b[k] = draft.number(draft.b, draw(draft.b));
  }
  draft.problem.c = draft.number(draft.c, draft.random.between(-reach, reach));
  return draft.problem;
}

Problem cancellation(const Instruction& in, RandomNumbers numbers) {
  using Of = Cancelling;
  FloatDraft draft(in, numbers);
  RandomNumbers& random = draft.random;
  const ProductMaker make(in);
  int top = std::min({make.highest(), draft.d.max_exponent() - Of::kTopBelowLargest, Of::kHighestTop});
  if (random.chance(Of::kBeyondRange)) top = std::min(make.highest(), Of::kHighestTop);
  const int high = random.between(std::max(top - Of::kBelowTop.high, make.lowest()), top - Of::kBelowTop.low);
  const int most_left = std::min(high, draft.d.max_exponent() - Of::kRestBelowLargest);
  const int pairs = random.between(1, std::max(1, in.products() / 2));

  const int depth = random.in(Of::kDepth);
  const int rest = std::min(most_left, high - depth);
  for (std::size_t k = 0; k < draft.products(); ++k) draft.put_product(k, rest - random.in(Of::kAmongRest));
  draft.problem.c = draft.small_number(draft.c, most_left - random.in(Of::kDepth));
  for (int n = 0; n < pairs; ++n) {
    const std::size_t i = draft.place(), j = draft.place();
    if (i == j) continue;
    draft.put_product(i, high - random.in(Of::kAmongThose));
    draft.problem.a[j] = draft.problem.a[i];
    draft.problem.b[j] = draft.problem.b[i] ^ std::uint64_t{1} << (draft.b.storage_bits - 1);
  }
  if (random.chance(Of::kLargeC)) draft.problem.c = draft.small_number(draft.c, most_left);
  return draft.problem;
}

Problem sparse(const Instruction& in, RandomNumbers numbers) {
  using Of = FewTerms;
  FloatDraft draft(in, numbers);
  RandomNumbers& random = draft.random;
  const ProductMaker make(in);
  const int high =
      random.between(std::max(make.lowest(), -Of::kFarthestTop), std::min(make.highest(), Of::kFarthestTop));
  const int terms = random.in(Of::kTerms);
  for (int n = 0; n < terms; ++n) {
    draft.put_product_anywhere(std::max(make.lowest(), high - random.in(Of::kDepth)));
  }
  if (random.chance(Of::kNonzeroC))
    draft.problem.c = draft.small_number(draft.c, high - random.in(Of::kDepthOfC));
  else
    draft.problem.c = draft.zero(draft.c);
  return draft.problem;
}

Problem uniform_bits(const Instruction& in, RandomNumbers random) {
  FloatDraft draft(in, random);
  for (std::size_t k = 0; k < draft.products(); ++k) {
    draft.problem.a[k] = finite(draft.a, draft.random.next64());
    draft.problem.b[k] = finite(draft.b, draft.random.next64());
  }
  draft.problem.c = finite(draft.c, draft.random.next64());
  return draft.problem;
}

Problem gaussian(const Instruction& in, RandomNumbers random) {
  FloatDraft draft(in, random);
  const auto draw = [&](const Format& f) {
    // A sum of integers, so that it is the same bits on every machine.
    std::int64_t sum = 0;
    for (int n = 0; n < BellCurve::kTerms; ++n) sum += draft.random.next() >> (32 - BellCurve::kBits);
    sum -= std::int64_t{BellCurve::kTerms / 2} << BellCurve::kBits;
    return encode(f, sum < 0, static_cast<uint128>(std::abs(sum)), -BellCurve::kBits, false, Rounding::nearest_even);
  };
  for (std::size_t k = 0; k < draft.products(); ++k) {
    draft.problem.a[k] = draw(draft.a);
    draft.problem.b[k] = draw(draft.b);
  }
  draft.problem.c = draw(draft.c);
  return draft.problem;
}

}  // namespace tcnum::float_families
