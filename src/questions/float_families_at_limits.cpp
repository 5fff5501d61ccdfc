#include <algorithm>

#include "float_families.hpp"

namespace tcnum::float_families {
namespace {

// What each family draws by: percent, and exponents or their distances, both ends included.

struct Smallest {
  static constexpr Interval kAboveProducts = {0, 12};    // the centre, above the smallest product there is …
  static constexpr Interval kBesideQuantum = {-30, 30};  // … or beside the smallest result, whichever is larger
  static constexpr Interval kBesideCentre = {-12, 12};   // products
  static constexpr int kZeroC = 25;
  static constexpr Interval kCBesideCentre = {-4, 12};
  static constexpr int kSmallC = 25;  // c about its smallest normal number or below, whatever the products
  static constexpr int kSmallCAbove = 3;
};

struct Largest {
  static constexpr int kNonzeroProducts = 60;
  static constexpr int kNegativeProducts = 30;
  static constexpr Interval kBesideTop = {-6, 1};
  static constexpr int kLargestC = 50;  // the largest number there is, of either sign
  static constexpr Interval kCBelowLargest = {0, 6};
};

struct Limits {
  static constexpr Interval kBesideQuantum = {-3, 4};   // the large terms
  static constexpr Interval kDepth = {1, 60};           // of the small ones below those
  static constexpr Interval kAmongThemselves = {0, 2};  // terms of either size
  static constexpr Interval kLargeTerms = {1, 4}, kSmallTerms = {1, 3};
  static constexpr int kOppositeSmallTerms = 80;  // of the other sign than the large ones
  // Terms must meet in one sum to show anything: they are 2^0 … 2^5 places apart at most.
  static constexpr Interval kReachBits = {0, 5};
  static constexpr int kTermIsC = 15;
  static constexpr int kAnyC = 10;  // c anywhere from its smallest number on
  static constexpr int kAnyCAbove = 8;
};

/// Exponent of the smallest positive result.
int quantum(const FloatDraft& draft) { return smallest_exponent(draft.d); }

}  // namespace

Problem tiny(const Instruction& in, RandomNumbers numbers) {
  using Of = Smallest;
  FloatDraft draft(in, numbers);
  RandomNumbers& random = draft.random;
  const Format& c = draft.c;
  const int beside_quantum = quantum(draft) + random.in(Of::kBesideQuantum);
  const int above_products = ProductMaker(in).lowest_subnormal() + random.in(Of::kAboveProducts);
  const int centre = std::max(above_products, beside_quantum);
  const int terms = random.between(1, in.products());
  for (int n = 0; n < terms; ++n) draft.put_product_anywhere(centre + random.in(Of::kBesideCentre));
  if (random.chance(Of::kZeroC))
    draft.problem.c = draft.zero(c);
  else
    draft.problem.c = draft.small_number(c, std::max(centre, smallest_exponent(c)) + random.in(Of::kCBesideCentre));
  if (random.chance(Of::kSmallC)) {
    draft.problem.c = draft.small_number(c, c.min_exponent() - random.between(-Of::kSmallCAbove, c.fraction_bits));
  }
  return draft.problem;
}

Problem huge(const Instruction& in, RandomNumbers numbers) {
  using Of = Largest;
  FloatDraft draft(in, numbers);
  RandomNumbers& random = draft.random;
  const int top = std::min(ProductMaker(in).highest(), draft.d.max_exponent());
  for (std::size_t k = 0; k < draft.products(); ++k) {
    if (!random.chance(Of::kNonzeroProducts)) continue;
    const int exponent = top + random.in(Of::kBesideTop);
    const bool negative = random.chance(Of::kNegativeProducts);
    draft.put_product(k, negative, exponent);
  }
  draft.problem.c = random.chance(Of::kLargestC)
                        ? max_finite_code(draft.c, random.coin())
                        : draft.number(draft.c, draft.c.max_exponent() - random.in(Of::kCBelowLargest));
  return draft.problem;
}

Problem edges(const Instruction& in, RandomNumbers numbers) {
  using Of = Limits;
  FloatDraft draft(in, numbers);
  RandomNumbers& random = draft.random;
  const ProductMaker make(in);
  const int base = quantum(draft) + random.in(Of::kBesideQuantum);
  const int home = static_cast<int>(draft.place()), reach = 1 << random.in(Of::kReachBits);
  const auto put = [&](bool negative, int exponent) {
    if (exponent < make.lowest_subnormal() || random.chance(Of::kTermIsC)) {
      draft.problem.c = draw_small_number(draft.c, random, negative, exponent);
      return;
    }
    const int near = home ^ random.between(0, std::min(reach, in.products() - 1));
    const std::size_t k = static_cast<std::size_t>(near) % draft.products();
    exponent = std::min(exponent, make.highest());
    if (random.coin())
      draft.put_product(k, negative, exponent);
    else
      make.put(draft.problem, static_cast<int>(k), negative, exponent);
  };
  const bool negative = random.coin();
  const int large = random.in(Of::kLargeTerms), small = random.in(Of::kSmallTerms);
  for (int n = 0; n < large; ++n) put(negative, base - random.in(Of::kAmongThemselves));
  const int depth = random.in(Of::kDepth);
  for (int n = 0; n < small; ++n) {
    const int exponent = base - depth - random.in(Of::kAmongThemselves);
    const bool opposite = random.chance(Of::kOppositeSmallTerms);
    put(opposite != negative, exponent);
  }
  if (random.chance(Of::kAnyC)) {
    const int above_normal = random.between(-draft.c.fraction_bits, Of::kAnyCAbove);
    draft.problem.c = draft.small_number(draft.c, draft.c.min_exponent() + above_normal);
  }
  return draft.problem;
}

}  // namespace tcnum::float_families
