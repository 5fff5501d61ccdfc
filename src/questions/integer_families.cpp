#include "integer_families.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "factors.hpp"
#include "packing.hpp"

namespace tcnum::integer_families {
namespace {

// What each family draws by: percent, weights, numbers of bits, and counts, both ends included.

struct CloseSizes {
  static constexpr Interval kBits = {1, 3}, kBitsOfC = {1, 8};
};

struct Cancelling {
  static constexpr int kBits = 2, kBitsOfC = 4;    // of what remains
  static constexpr Interval kSumBeside = {-1, 1};  // 0, where c takes back all products together
};

struct FewTerms {
  static constexpr Interval kTerms = {1, 4};
};

struct BellCurve {
  static constexpr int kTerms = 8;  // whose mean it is
};

/// Numbers near the ends of their range, …
constexpr int kAtTheEnd = 60;  // percent
constexpr Interval kInside = {0, 3};
/// … products as large as can be, and likewise near an end …
constexpr int kExtremeProduct = 30;  // percent
constexpr Interval kSmallProduct = {1, 3};
/// … and sums that pass an end.
enum class Way : std::uint8_t { few, runs, everywhere };
constexpr std::array<Weighted<Way>, 3> kWays = {{{Way::few, 1}, {Way::runs, 1}, {Way::everywhere, 1}}};
constexpr Interval kFew = {1, 4};
constexpr Interval kRunStepBits = {0, 4};  // a run has every 2^0-th … 2^4-th product

/// Bits of a number, which the format cuts to its own.
enum class Pattern : std::uint8_t { none, one, lowest, highest, odd_bits, even_bits, all };
constexpr std::array<Weighted<Pattern>, 7> kPatterns = {{{Pattern::none, 1},
                                                         {Pattern::one, 1},
                                                         {Pattern::lowest, 1},
                                                         {Pattern::highest, 1},
                                                         {Pattern::even_bits, 1},
                                                         {Pattern::odd_bits, 1},
                                                         {Pattern::all, 1}}};
constexpr std::uint64_t kEvenBits = 0x5555555555555555, kOddBits = kEvenBits << 1;

/// A problem while it is being made up, all zeros at first.
struct Draft {
  Draft(const Instruction& instruction, RandomNumbers numbers)
      : in(instruction),
        a(format(in.a)),
        b(format(in.b)),
        c(format(in.c)),
        random(numbers),
        problem(zero_problem(in)) {}

  std::size_t products() const { return problem.a.size(); }
  /// Any place of a product.
  std::size_t place() { return static_cast<std::size_t>(random.between(0, in.products() - 1)); }

  // Integers of a format.

  std::int64_t any(const Format& f) { return integer_of(f, random.next64()); }
  /// Of that many bits, or as many as the format has.
  std::int64_t of_bits(const Format& f, int bits) {
    const std::uint64_t kept = (std::uint64_t{1} << std::min(bits, f.fraction_bits)) - 1;
    const auto magnitude = static_cast<std::int64_t>(random.next64() & kept);
    return f.has_sign && random.coin() ? -magnitude : magnitude;
  }
  std::int64_t any_size(const Format& f) { return of_bits(f, random.between(0, f.fraction_bits)); }
  std::int64_t near_an_end(const Format& f) {
    const auto [lowest, highest] = range_of(f);
    const std::int64_t inside = std::min<std::int64_t>(random.chance(kAtTheEnd) ? 0 : random.in(kInside), highest);
    return random.coin() ? highest - inside : lowest + inside;
  }
  std::int64_t pattern(const Format& f) {
    const auto [lowest, highest] = range_of(f);
    switch (random.pick(kPatterns)) {
      case Pattern::none:
        return 0;
      case Pattern::one:
        return std::min<std::int64_t>(1, highest);
      case Pattern::lowest:
        return lowest;
      case Pattern::highest:
        return highest;
      case Pattern::even_bits:
        return integer_of(f, kEvenBits);
      case Pattern::odd_bits:
        return integer_of(f, kOddBits);
      case Pattern::all:
        break;
    }
    return integer_of(f, ~std::uint64_t{0});
  }

  // Products.

  void put(std::size_t k, Factors factors) {
    problem.a[k] = code_of(a, factors.a);
    problem.b[k] = code_of(b, factors.b);
  }
  void put_anywhere(Factors factors) { put(place(), factors); }
  /// Everything what draw(format) gives.
  template <class Value>
  void fill(const Value& draw) {
    for (std::size_t k = 0; k < products(); ++k) put(k, {draw(a), draw(b)});
    problem.c = code_of(c, draw(c));
  }
  void fill_with_bits(int operand_bits, int c_bits) {
    fill([&](const Format& f) { return of_bits(f, &f == &c ? c_bits : operand_bits); });
  }
  /// Of that sign, where the formats have one; the largest there is, a small one, or any.
  Factors product(bool negative) {
    const ExtremeProducts ends = extreme_products(a, b);
    if (random.chance(kExtremeProduct)) return negative ? ends.least : ends.largest;
    const bool small = random.coin();
    Factors f{small ? 1 : any(a),
              small ? std::min<std::int64_t>(random.in(kSmallProduct), range_of(b).highest) : any(b)};
    if ((f.product() < 0) != negative) negate(f);
    return f;
  }
  /// By one of the factors, if its format can; whether it did.
  bool negate(Factors& f) const {
    if (a.has_sign && f.a != range_of(a).lowest)
      f.a = -f.a;
    else if (b.has_sign && f.b != range_of(b).lowest)
      f.b = -f.b;
    else
      return false;
    return true;
  }
  std::int64_t product_at(std::size_t k) const { return integer_of(a, problem.a[k]) * integer_of(b, problem.b[k]); }

  // Problems.

  /// A few products of either sign.
  void put_few() {
    for (int n = random.in(kFew); n > 0; --n) put_anywhere(product(random.coin()));
  }
  /// Products of one sign up to some place, and of the other from there on.
  void put_runs() {
    const std::size_t turn = place(), step = std::size_t{1} << random.in(kRunStepBits);
    const bool first_negative = random.coin();
    for (std::size_t k = 0; k < products(); k += step) put(k, product(first_negative == (k < turn)));
  }
  /// Up to the magnitude of what the products add up to.
  std::int64_t reach() {
    std::int64_t total = 0;
    for (std::size_t k = 0; k < products(); ++k) total += std::abs(product_at(k));
    return static_cast<std::int64_t>(random.next64() % static_cast<std::uint64_t>(total + 1));
  }

  const Instruction& in;
  const Format &a, &b, &c;
  RandomNumbers random;
  Problem problem;
};

/// The problem whose numbers are what draw(draft, format) gives.
template <class Value>
Problem filled(const Instruction& in, RandomNumbers random, const Value& draw) {
  Draft draft(in, random);
  draft.fill([&](const Format& f) { return draw(draft, f); });
  return draft.problem;
}

}  // namespace

Problem narrow(const Instruction& in, RandomNumbers random) {
  Draft draft(in, random);
  const int c_bits = draft.random.in(CloseSizes::kBitsOfC);
  const int operand_bits = draft.random.in(CloseSizes::kBits);
  draft.fill_with_bits(operand_bits, c_bits);
  return draft.problem;
}

Problem wide(const Instruction& in, RandomNumbers random) {
  return filled(in, random, [](Draft& draft, const Format& f) { return draft.any_size(f); });
}

Problem cancellation(const Instruction& in, RandomNumbers random) {
  Draft draft(in, random);
  draft.fill_with_bits(Cancelling::kBits, Cancelling::kBitsOfC);
  for (int n = draft.random.between(1, std::max(1, in.products() / 2)); n > 0; --n) {
    const std::size_t i = draft.place(), j = draft.place();
    Factors factors = draft.product(false);
    draft.put(i, factors);
    if (draft.negate(factors)) draft.put(j, factors);
  }
  std::int64_t total = 0;
  for (std::size_t k = 0; k < draft.products(); ++k) total += draft.product_at(k);
  if (draft.random.coin()) draft.problem.c = code_of(draft.c, draft.random.in(Cancelling::kSumBeside)-total);
  return draft.problem;
}

Problem uniform_bits(const Instruction& in, RandomNumbers random) {
  return filled(in, random, [](Draft& draft, const Format& f) { return draft.any(f); });
}

Problem tiny(const Instruction& in, RandomNumbers random) {
  Draft draft(in, random);
  draft.fill_with_bits(1, 1);
  return draft.problem;
}

Problem huge(const Instruction& in, RandomNumbers random) {
  return filled(in, random, [](Draft& draft, const Format& f) { return draft.near_an_end(f); });
}

Problem sparse(const Instruction& in, RandomNumbers random) {
  Draft draft(in, random);
  for (int n = draft.random.in(FewTerms::kTerms); n > 0; --n) {
    draft.put_anywhere({draft.any(draft.a), draft.any(draft.b)});
  }
  if (draft.random.coin()) draft.problem.c = code_of(draft.c, draft.any_size(draft.c));
  return draft.problem;
}

Problem edges(const Instruction& in, RandomNumbers random) {
  Draft draft(in, random);
  const IntegerRange range = range_of(draft.c);
  const bool high = draft.random.coin();
  switch (draft.random.pick(kWays)) {
    case Way::few:
      draft.put_few();
      break;
    case Way::runs:
      draft.put_runs();
      break;
    case Way::everywhere:
      draft.fill([&](const Format& f) { return draft.random.coin() ? draft.any_size(f) : draft.near_an_end(f); });
      break;
  }
  // Where the sum is that far from the end, it passes it at some product, or would if all were of one sign.
  const std::int64_t distance = draft.random.coin() ? draft.random.in(kInside) : draft.reach();
  draft.problem.c = code_of(draft.c, high ? range.highest - distance : range.lowest + distance);
  return draft.problem;
}

Problem signed_zeros(const Instruction& in, RandomNumbers random) {
  Draft draft(in, random);
  for (std::size_t k = 0; k < draft.products(); ++k) {
    if (draft.random.coin())
      draft.put(k, {0, draft.any(draft.b)});
    else
      draft.put(k, {draft.any(draft.a), 0});
  }
  if (draft.random.coin()) {
    draft.problem.c = code_of(draft.c, draft.random.coin() ? draft.any(draft.c) : draft.pattern(draft.c));
  }
  return draft.problem;
}

Problem specials(const Instruction& in, RandomNumbers random) {
  return filled(in, random, [](Draft& draft, const Format& f) { return draft.pattern(f); });
}

Problem gaussian(const Instruction& in, RandomNumbers random) {
  return filled(in, random, [](Draft& draft, const Format& f) {
    std::int64_t sum = 0;
    for (int n = 0; n < BellCurve::kTerms; ++n) sum += draft.any(f);
    return sum / BellCurve::kTerms;
  });
}

}  // namespace tcnum::integer_families
