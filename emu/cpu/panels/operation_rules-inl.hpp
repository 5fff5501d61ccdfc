// Operations of fp64 whose results are not rounded as the machine does: each as two doubles that are the exact result,
// which is cut and rounded as bits. Of numbers as they usually are; docs/panels.md proves that these suffice.
// Compiled once for each CPU, as operation_kernels.cpp is, which includes this.
#if defined(TCNUM_OPERATION_RULES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_OPERATION_RULES_INL
#undef TCNUM_OPERATION_RULES_INL
#else
#define TCNUM_OPERATION_RULES_INL
#endif

#include "doubles-inl.hpp"
#include "operation_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

/// An operation's exact results in some lanes of all rows, and what their terms were aligned with, if these were cut.
struct ExactRows {
  TwoSum exact[kOperationRows];
  TV alignment[kOperationRows];
  TMask left[kOperationRows];  ///< that this is not for
};

/// A sum cut toward zero to a double, as bits, and where it is not that double.
struct Truncated {
  TVI bits;
  hn::Mask<TI> inexact;
};
HWY_INLINE Truncated truncated(const TwoSum& s) {
  const auto inexact = hn::RebindMask(TI(), hn::Ne(s.rest, zero()));
  const TVI sum = bits_of(s.sum);
  const TVI opposite = hn::BroadcastSignBit(hn::Xor(sum, bits_of(s.rest)));  // −1 where the sum was rounded away
  return {hn::Add(sum, hn::IfThenElseZero(inexact, opposite)), inexact};
}

/// A sum of a normal number rounded to so many bits below its leading one, as rounded_bits() but up to all that a
/// double has.
template <Rounding kMode>
HWY_INLINE TVI rounded_sum_bits(int fraction_bits, const TwoSum& s) {
  const int dropped = kFraction - fraction_bits;
  if (dropped >= 2) {
    const TV odd = to_odd(s);
    // Where the leading bit is all that is kept a tie is between it, which is odd, and the next power of two.
    if (kMode == Rounding::nearest_even && fraction_bits == 0)
      return bits_of(rounded_bits<Rounding::nearest_away>(fraction_bits, odd));
    return bits_of(rounded_bits<kMode>(fraction_bits, odd));
  }
  const Truncated cut = truncated(s);
  const std::int64_t unit = std::int64_t{1} << dropped;
  const TVI kept = integer(-unit), more = hn::Add(integer(unit - 1), hn::IfThenElseZero(cut.inexact, integer(1)));
  const TVI negative = hn::BroadcastSignBit(cut.bits);
  switch (kMode) {
    case Rounding::toward_zero:
      return hn::And(cut.bits, kept);
    case Rounding::down:
      return hn::And(hn::Add(cut.bits, hn::And(negative, more)), kept);
    case Rounding::up:
      return hn::And(hn::Add(cut.bits, hn::AndNot(negative, more)), kept);
    case Rounding::nearest_even: {
      if (dropped == 0) return bits_of(s.sum);
      // The last bit that is kept is the second.
      const auto odd = hn::Or(cut.inexact, hn::TestBit(cut.bits, integer(1 << 1)));
      return hn::And(hn::Add(cut.bits, hn::IfThenElseZero(odd, integer(1))), kept);
    }
    case Rounding::nearest_away: {
      if (dropped == 1) return hn::And(hn::Add(cut.bits, integer(1)), kept);
      // A tie was rounded to even, which is toward zero where what is left has the sum's sign.
      constexpr std::int64_t kHalfOfLast = std::int64_t{kFraction + 1} << kFraction;
      const TV half = as_numbers(hn::Sub(bits_of(binade_of(s.sum)), integer(kHalfOfLast)));
      const auto tie = hn::RebindMask(TI(), hn::Eq(s.rest, hn::Or(half, sign_of(s.sum))));
      return hn::Add(bits_of(s.sum), hn::IfThenElseZero(tie, integer(1)));
    }
  }
  return cut.bits;
}

/// One rounding step of all rows, after which sums are doubles.
template <Rounding kMode>
void round_exact(const OperationStep& how, ExactRows& rows) {
  const RoundStep& s = how.step;
  const TV least = number(how.least), overflow = number(how.overflow);
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kOperationRows; ++r) {
    const TwoSum& x = rows.exact[r];
    TV t;
    if (s.from_alignment)
      t = hn::Or(cut<kMode>(to_odd(x), scaled(rows.alignment[r], -s.fraction_bits)), sign_of(x.sum));
    else
      t = as_numbers(rounded_sum_bits<kMode>(s.fraction_bits, x));
    // What is rounded up to the least normal number would be so in units of numbers below it, too.
    const TMask is_normal = hn::And(hn::Ge(hn::Abs(t), least), hn::Lt(hn::Abs(t), overflow));
    rows.left[r] = hn::Or(rows.left[r], hn::AndNot(hn::Eq(x.sum, zero()), hn::Not(is_normal)));
    rows.exact[r] = {t, zero()};
  }
}

HWY_INLINE TMask is_ordinary(TV x) {
  static_assert(kMostOrdinaryNumber == 450);
  return is_within(x, 0x1p-450);
}

HWY_INLINE TwoSum exact_product(TV a, TV b) {
  const TV product = hn::Mul(a, b);
  return {product, hn::MulSub(a, b, product)};
}
/// x + y, what is left of which is rounded to odd.
HWY_INLINE TwoSum exact_sum(const TwoSum& x, TV y) {
  const TwoSum high = two_sum(x.sum, y);
  return two_sum(high.sum, sum_to_odd(high.rest, x.rest));
}

/// A term, and what it is aligned with: 0 where it takes no part.
struct ExactTerm {
  TwoSum exact;
  TV power;
};

/// Cuts two terms, the second a double, and adds them up, which is exact but for what is left of them.
template <Rounding kMode>
HWY_INLINE void add_cut_terms(const OperationRule& rule, const ExactTerm& x, const ExactTerm& y, std::size_t r,
                              ExactRows& to) {
  TV alignment = number(rule.floor_power);
  for (const ExactTerm* t : {&x, &y}) {
    const TV power = hn::IfThenElse(hn::Eq(t->exact.sum, zero()), number(rule.zero_power), t->power);
    alignment = hn::Max(alignment, power);
  }
  to.alignment[r] = with_grid(alignment);
  const auto is_far = [&](const ExactTerm& t)
                          HWY_ATTR { return hn::Lt(t.power, hn::Mul(alignment, number(rule.drop_power))); };
  if (rule.is_wide) {
    const auto kept = [&](const ExactTerm& t, const OperationTerm& how) HWY_ATTR {
      TwoSum k = t.exact;
      if (how.fraction_bits != kExact)
        k = {cut_any<kMode>(to_odd(k), scaled(to.alignment[r], -how.fraction_bits)), zero()};
      if (!how.may_drop) return k;
      return TwoSum{hn::IfThenZeroElse(is_far(t), k.sum), hn::IfThenZeroElse(is_far(t), k.rest)};
    };
    to.exact[r] = exact_sum(kept(x, rule.terms[0]), kept(y, rule.terms[1]).sum);
    return;
  }
  const auto kept = [&](const ExactTerm& t, const OperationTerm& how) HWY_ATTR {
    const TV k = cut<kMode>(to_odd(t.exact), scaled(to.alignment[r], -how.fraction_bits));
    if (!how.may_drop) return k;
    return hn::IfThenZeroElse(is_far(t), k);
  };
  to.exact[r] = {hn::Add(kept(x, rule.terms[0]), kept(y, rule.terms[1])), zero()};
}

/// An operation in some lanes of all rows, along one link.
class ExactOperation {
 public:
  ExactOperation(const OperationWork<double>& w, std::size_t number, std::size_t column)
      : w_(w), plan_(*w.plan), operation_(plan_.operations[number]), rule_(plan_.rules[number]) {
    b_ = operation_.kind == Operation::Kind::add ? zero() : hn::Load(TD(), w.b + k() * kColumns + column);
  }

  void run(ExactRows& rows) const {
    add(rows);
    if (rule_.is_sum) put_signs_of_zeros(rows);
    for (const OperationStep& step : rule_.steps) {
      with_mode(step.step.rounding, [&](auto mode) HWY_ATTR { round_exact<decltype(mode)::value>(step, rows); });
    }
    double* const to = w_.values + static_cast<std::size_t>(operation_.place) * kOperationRows * kDoubleLanes;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kOperationRows; ++r) hn::Store(rows.exact[r].sum, TD(), to + r * kDoubleLanes);
  }

 private:
  std::size_t k() const { return static_cast<std::size_t>(operation_.k); }
  TV a(std::size_t r) const { return hn::Set(TD(), w_.a[r][k()]); }
  TV at(int place, std::size_t r) const {
    return hn::Load(TD(), w_.values + (static_cast<std::size_t>(place) * kOperationRows + r) * kDoubleLanes);
  }
  TV x(std::size_t r) const { return at(operation_.x, r); }
  TV y(std::size_t r) const { return at(operation_.y, r); }

  void add(ExactRows& rows) const {
    switch (operation_.kind) {
      case Operation::Kind::multiply:
#pragma GCC unroll 8
        for (std::size_t r = 0; r < kOperationRows; ++r) {
          rows.exact[r] = exact_product(a(r), b_);
          leave_large(rows, r);
        }
        return;
      case Operation::Kind::multiply_add:
        if (rule_.cuts) {
          with_mode(rule_.align_rounding, [&](auto mode) HWY_ATTR {
            for (std::size_t r = 0; r < kOperationRows; ++r) {
              add_cut_terms<decltype(mode)::value>(rule_, product_term(r), number_term(x(r)), r, rows);
              leave_large(rows, r);
            }
          });
          return;
        }
#pragma GCC unroll 8
        for (std::size_t r = 0; r < kOperationRows; ++r) {
          rows.exact[r] = exact_sum(exact_product(a(r), b_), x(r));
          leave_large(rows, r);
        }
        return;
      case Operation::Kind::add:
        if (rule_.cuts) {
          with_mode(rule_.align_rounding, [&](auto mode) HWY_ATTR {
            for (std::size_t r = 0; r < kOperationRows; ++r)
              add_cut_terms<decltype(mode)::value>(rule_, number_term(x(r)), number_term(y(r)), r, rows);
          });
          return;
        }
#pragma GCC unroll 8
        for (std::size_t r = 0; r < kOperationRows; ++r) rows.exact[r] = two_sum(x(r), y(r));
        return;
    }
  }
  static ExactTerm number_term(TV x) { return {{x, zero()}, binade_of(x)}; }
  ExactTerm product_term(std::size_t r) const {
    const TwoSum product = exact_product(a(r), b_);
    if (plan_.product_exponent == ProductExponent::normalised)
      return {product, binade_of(as_numbers(truncated(product).bits))};
    const TV of_a = hn::Max(binade_of(a(r)), number(plan_.least_a));
    return {product, hn::Mul(of_a, hn::Max(binade_of(b_), number(plan_.least_b)))};
  }
  /// Products that are infinite.
  void leave_large(ExactRows& rows, std::size_t r) const {
    if (plan_.infinite_from == HUGE_VAL) return;
    const TV product = as_numbers(truncated(exact_product(a(r), b_)).bits);
    rows.left[r] = hn::Or(rows.left[r], hn::Ge(hn::Abs(product), number(plan_.infinite_from)));
  }

  /// A sum that is exactly zero has the sign that its terms give it.
  void put_signs_of_zeros(ExactRows& rows) const {
    TMask any = hn::Eq(rows.exact[0].sum, zero());
#pragma GCC unroll 8
    for (std::size_t r = 1; r < kOperationRows; ++r) any = hn::Or(any, hn::Eq(rows.exact[r].sum, zero()));
    if (hn::AllFalse(TD(), any)) return;
    for (std::size_t r = 0; r < kOperationRows; ++r) {
      const bool is_add = operation_.kind == Operation::Kind::add;
      const TV first = sign_of(is_add ? x(r) : hn::Xor(a(r), b_));
      const TV second = operation_.kind == Operation::Kind::multiply ? first : sign_of(is_add ? y(r) : x(r));
      TV sign = rule_.rounds_down ? hn::Or(first, second) : hn::And(first, second);
      if (rule_.zero_is_positive) sign = zero();
      const TV sum = rows.exact[r].sum;
      rows.exact[r].sum = hn::IfThenElse(hn::Eq(sum, zero()), sign, sum);
    }
  }

  const OperationWork<double>& w_;
  const OperationPlan& plan_;
  const Operation& operation_;
  const OperationRule& rule_;
  TV b_;
};

/// An infinite c stays what it is where all else is ordinary, of which zeros tell in its place.
HWY_INLINE TMask stays_infinite(const OperationPlan& plan, TV c) {
  return plan.adds_to_c ? hn::Eq(hn::Abs(c), number(HUGE_VAL)) : hn::Lt(zero(), zero());
}

bool run_rules(const OperationWork<double>& w) {
  const TD d;
  bool any_left = false;
  for (std::size_t column = 0; column < kColumns; column += kDoubleLanes) {
    ExactRows rows;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kOperationRows; ++r) {
      const TV c = hn::Load(d, w.results[r] + column);
      const TV finite = hn::IfThenZeroElse(stays_infinite(*w.plan, c), c);
      rows.left[r] = hn::Not(is_ordinary(finite));
      hn::Store(finite, d, w.values + r * kDoubleLanes);
    }
    for (std::size_t number = 0; number < w.plan->operations.size(); ++number)
      ExactOperation(w, number, column).run(rows);
      // The last operation's results are in the rows still.
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kOperationRows; ++r) {
      const TV c = hn::Load(d, w.results[r] + column), is = rows.exact[r].sum;
      const TMask stays = hn::Or(rows.left[r], stays_infinite(*w.plan, c));
      hn::Store(hn::IfThenElse(stays, c, is), d, w.results[r] + column);
      const hn::RebindToUnsigned<TI> flags;
      hn::Store(hn::VecFromMask(flags, hn::RebindMask(flags, rows.left[r])), flags, w.left + r * kColumns + column);
      any_left |= !hn::AllFalse(d, rows.left[r]);
    }
  }
  return any_left;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
