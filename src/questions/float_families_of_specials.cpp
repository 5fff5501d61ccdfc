#include <algorithm>
#include <array>

#include "float_families.hpp"

namespace tcnum::float_families {
namespace {

// What each family draws by: weights, percent, and exponents, both ends included.

/// What there is beside products that are zeros of either sign.
enum class Beside : std::uint8_t { nothing, all_negative, nonzero_c, opposites, one_product };
constexpr std::array<Weighted<Beside>, 5> kBeside = {{{Beside::all_negative, 1},
                                                      {Beside::nonzero_c, 1},
                                                      {Beside::opposites, 1},
                                                      {Beside::one_product, 1},
                                                      {Beside::nothing, 2}}};
constexpr int kHighestNonzeroC = 20;
constexpr Interval kNonzeroProduct = {-20, 10};

enum class Special : std::uint8_t { infinity, usual_nan, any_nan, zero, largest };
constexpr std::array<Weighted<Special>, 5> kSpecials = {{{Special::infinity, 2},
                                                         {Special::usual_nan, 1},
                                                         {Special::any_nan, 1},
                                                         {Special::zero, 1},
                                                         {Special::largest, 1}}};
enum class Operand : std::uint8_t { a, b, c };
constexpr std::array<Weighted<Operand>, 3> kWhere = {{{Operand::a, 1}, {Operand::b, 1}, {Operand::c, 1}}};
constexpr Interval kSpecialsOfAProblem = {1, 3};
constexpr int kZeroA = 30;  // percent of problems in which all other a are zeros: of them, infinity makes NaNs

/// A code of the format's that is no ordinary number, or stands in for one that the format lacks.
std::uint64_t draw_special(const Format& f, RandomNumbers& random) {
  const bool negative = random.coin();
  const Special special = random.pick(kSpecials);
  if (f.non_finite == NonFinite::none && special != Special::zero) return max_finite_code(f, negative);
  switch (special) {
    case Special::infinity:
      return f.has_infinity() ? infinity_code(f, negative) : max_finite_code(f, negative);
    case Special::usual_nan:
      return nan_code(f);
    case Special::any_nan: {  // quiet or signalling, any payload
      const std::uint64_t sign = std::uint64_t{negative} << (f.storage_bits - 1);
      if (!f.has_infinity()) return nan_code(f) | (f.non_finite == NonFinite::nan_all_ones ? sign : 0);
      const std::uint64_t fraction = random.next64() & ((std::uint64_t{1} << (f.fraction_bits + f.padding_bits)) - 1);
      return infinity_code(f, negative) | std::max<std::uint64_t>(fraction, 1);
    }
    case Special::zero:
      return zero_code(f, negative);
    case Special::largest:
      break;
  }
  return max_finite_code(f, negative);
}

void put_zero_product(FloatDraft& draft, std::size_t k) {
  draft.problem.a[k] = draft.zero(draft.a);
  draft.problem.b[k] = draft.number(draft.b, draft.random.between(draft.b.min_exponent(), draft.b.max_exponent()));
}

}  // namespace

Problem signed_zeros(const Instruction& in, RandomNumbers numbers) {
  FloatDraft draft(in, numbers);
  RandomNumbers& random = draft.random;
  Problem& p = draft.problem;
  for (std::size_t k = 0; k < draft.products(); ++k) {
    put_zero_product(draft, k);
    if (random.coin()) std::swap(p.a[k], p.b[k]);
    if (in.a != in.b) put_zero_product(draft, k);  // each must stay in its own format
  }
  p.c = draft.zero(draft.c);
  switch (random.pick(kBeside)) {
    case Beside::nothing:
      break;
    case Beside::all_negative:
      for (std::size_t k = 0; k < draft.products(); ++k) {
        p.a[k] = zero_code(draft.a, true);
        p.b[k] = draw_number(draft.b, random, false, 0);
      }
      p.c = zero_code(draft.c, true);
      break;
    case Beside::nonzero_c:
      p.c = draft.small_number(draft.c, random.between(smallest_exponent(draft.c), kHighestNonzeroC));
      break;
    case Beside::opposites: {  // x − x
      const ProductMaker make(in);
      const int exponent = random.between(make.lowest(), std::min(make.highest(), draft.d.max_exponent() - 1));
      make.put(p, 0, false, exponent);
      make.put(p, in.products() - 1, true, exponent);
      break;
    }
    case Beside::one_product:
      draft.put_product_anywhere(random.in(kNonzeroProduct));
      break;
  }
  return p;
}

Problem specials(const Instruction& in, RandomNumbers numbers) {
  FloatDraft draft(in, numbers);
  fill_with_narrow(draft);
  RandomNumbers& random = draft.random;
  if (random.chance(kZeroA)) {
    for (std::uint64_t& a : draft.problem.a) a = draft.zero(draft.a);
  }
  const int specials = random.in(kSpecialsOfAProblem);
  for (int n = 0; n < specials; ++n) {
    switch (random.pick(kWhere)) {
      case Operand::a: {
        const std::uint64_t code = draw_special(draft.a, random);
        draft.problem.a[draft.place()] = code;
        break;
      }
      case Operand::b: {
        const std::uint64_t code = draw_special(draft.b, random);
        draft.problem.b[draft.place()] = code;
        break;
      }
      case Operand::c:
        draft.problem.c = draw_special(draft.c, random);
        break;
    }
  }
  return draft.problem;
}

}  // namespace tcnum::float_families
