// Compiled once for each CPU by Highway. What is said here of exactness is proven in docs/panels.md.
#include "targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/cpu/panels/tree_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which compiles this file anew for each target.
#include <hwy/highway.h>

#include <bit>
#include <climits>
#include <cmath>
#include <cstring>
#include <limits>

#include "prefetch.hpp"
#include "tree_accumulations-inl.hpp"
#include "tree_cuts-inl.hpp"
#include "tree_kernels.hpp"
#include "tree_sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

/// What is known of a k-step's sums: that they are finite; and that they fit one double, so that none is rounded before
/// it is to be.
enum class Known : std::uint8_t { nothing, finite, fit };

/// All columns of a node of products and at most one other term, whose sums are finite.
template <Finish kFinish, bool kFits>
void one_sums_of_all(const TreeWork& w, const TreeNode& node) {
  const Operands operands(w.a, w.b, node);
  for (std::size_t column = 0; column < kColumns; column += kVectorsAtOnce * kTreeLanes)
    one_sums<kFinish, kFits>(w, node, operands, column);
}
template <Finish kFinish>
void finite_sums(const TreeWork& w, const TreeNode& node) {
  const Reach products = w.a_reach * *w.b_reach_of_k_step;
  if (products.top + node.carry_bits - products.lowest < std::numeric_limits<double>::digits)
    return one_sums_of_all<kFinish, false>(w, node);
  for (std::size_t column = 0; column < kColumns; column += kTreeLanes) near_sums<true, kFinish>(w, node, column);
}

/// All columns of a node that cuts products toward zero.
void run_cut_products(const TreeWork& w, const TreeNode& node, std::size_t number) {
  const double infinite_from = w.plan->infinite_from;
  const Reach products = w.a_reach * *w.b_reach_of_k_step;
  const bool none_too_large = infinite_from == HUGE_VAL || products.top <= std::ilogb(infinite_from);
  if (w.are_finite && none_too_large) {
    align_products(w, node, w.tops);
    {
      const MachineRoundingHere rounding(Rounding::toward_zero);
      if (finish_of(node) == Finish::none)
        sum_cut_products<Finish::none>(w, node, number);
      else
        sum_cut_products<Finish::any>(w, node, number);
    }
    finish_sums(w, node);
  } else {
    for (std::size_t column = 0; column < kColumns; column += kTreeLanes) sums_of_kept(w, node, column);
  }
}

void run_node(const TreeWork& w, const TreeNode& node, std::size_t number, Known known) {
  if (known == Known::fit) return one_sums_of_all<Finish::single, true>(w, node);
  if (node.sum == TreeSum::cut_products) return run_cut_products(w, node, number);
  if (cuts_as_the_machine(node)) return cut_results(w, node);
  if (node.sum == TreeSum::exact && w.plan->has_plain_products && node.others.size() <= 1 && !node.cuts_first)
    return finish_of(node) == Finish::scaled ? one_sums_of_all<Finish::scaled, true>(w, node)
                                             : one_sums_of_all<Finish::any, true>(w, node);
  if (node.sum == TreeSum::near && known == Known::finite) {
    return finish_of(node) == Finish::single ? finite_sums<Finish::single>(w, node) : finite_sums<Finish::any>(w, node);
  }
  for (std::size_t column = 0; column < kColumns; column += kTreeLanes) {
    if (node.sum == TreeSum::pair)
      pair_sums(w, node, column);
    else if (node.cuts_first || node.sum == TreeSum::far)
      sums_of_kept(w, node, column);
    else if (node.sum == TreeSum::near)
      near_sums<false>(w, node, column);
    else if (node.products.empty())
      exact_sums<false>(w, node, column);
    else
      exact_sums<true>(w, node, column);
  }
}

/// Powers of two that numbers are aligned with: of their leading bits, but none below a format's smallest if that is
/// the rule for subnormal numbers, which is also what zeros have.
HWY_INLINE TV powers_of(const OperandRule& rule, TV least, bool of_zeros_too, TV x) {
  const bool minimum = rule.subnormal_exponent == SubnormalExponent::minimum;
  const TV power = minimum ? hn::Max(binade_of(x), least) : binade_of(x);
  const TV of_any = hn::IfThenElse(hn::Eq(x, zero()), of_zeros_too ? least : zero(), power);
  return hn::IfThenElseZero(is_finite(x), of_any);
}

void exponents(const OperandRule& rule, bool of_zeros_too, const double* numbers, std::size_t count, std::int16_t* to) {
  const TV least = number(std::ldexp(1.0, format(rule.format).min_exponent()));
  for (std::size_t i = 0; i < count; i += kTreeLanes) {
    double powers[kTreeLanes];
    hn::StoreU(powers_of(rule, least, of_zeros_too, hn::Load(TD(), numbers + i)), TD(), powers);
    for (std::size_t j = 0; j < kTreeLanes; ++j) {
      const auto field = static_cast<int>(std::bit_cast<std::uint64_t>(powers[j]) >> kFraction);
      to[i + j] = field == 0 ? kNoExponent16 : static_cast<std::int16_t>(field - kBias);
    }
  }
}

/// Operands that are a little larger, for sums that are cut toward zero.
void grow(const double* numbers, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; i += kTreeLanes) {
    const TV x = hn::Load(TD(), numbers + i), biased = as_numbers(hn::Or(bits_of(x), integer(1)));
    hn::Store(hn::IfThenElse(hn::Eq(x, zero()), hn::Or(number(kBiasedZero), sign_of(x)), biased), TD(), to + i);
  }
}

bool are_finite(const double* numbers, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kTreeLanes) {
    if (!hn::AllTrue(TD(), is_finite(hn::Load(TD(), numbers + i)))) return false;
  }
  return true;
}

/// Of those that are not zero, infinite or NaN.
HWY_INLINE TMask are_unusual(TV x, double least) { return hn::AndNot(is_within(x, least), is_finite(x)); }
bool are_usual(const double* numbers, std::size_t count, double least) {
  TMask any = hn::Lt(zero(), zero());
  for (std::size_t i = 0; i < count; i += kTreeLanes)
    any = hn::Or(any, are_unusual(hn::Load(TD(), numbers + i), least));
  return hn::AllFalse(TD(), any);
}
/// Flags numbers of c that tree panels are not for.
void leave_unusual(const double* c, std::int64_t* left) {
  for (std::size_t column = 0; column < kColumns; column += kTreeLanes) {
    const TMask are = are_unusual(hn::Load(TD(), c + column), kLeastUsualC);
    hn::Store(bits_of(hn::VecFromMask(TD(), are)), TI(), left + column);
  }
}

std::pair<double, double> extremes(const double* numbers, std::size_t count) {
  TV least = number(HUGE_VAL), greatest = zero();
  for (std::size_t i = 0; i < count; i += kTreeLanes) {
    const TV magnitude = hn::Abs(hn::Load(TD(), numbers + i));
    greatest = hn::Max(greatest, magnitude);
    least = hn::Min(least, hn::IfThenElse(hn::Eq(magnitude, zero()), number(HUGE_VAL), magnitude));
  }
  const double most = hn::GetLane(hn::MaxOfLanes(TD(), greatest));
  if (most == 0) return {1, 1};
  return {hn::GetLane(hn::MinOfLanes(TD(), least)), most};
}

/// Makes c ready for a k-step; whether all of it is below kOrdinary.
bool prepare_c(const TreeWork& w, bool wants_powers) {
  const TreePlan& plan = *w.plan;
  const TD d;
  const OperandRule rule = plan.c;
  const bool zeros_align = plan.zeros_align;
  const TV least = number(plan.least_c);
  double *const HWY_RESTRICT values = w.values, *const HWY_RESTRICT powers = w.powers;
  TMask are_ordinary = hn::Eq(zero(), zero());
  for (std::size_t i = 0; i < kTreeRows * kColumns; i += kTreeLanes) {
    TV c = hn::Load(d, values + i);
    if (rule.subnormals == Subnormals::flushed) {
      c = hn::IfThenElse(hn::Lt(hn::Abs(c), least), sign_of(c), c);
      hn::Store(c, d, values + i);
    }
    if (wants_powers) hn::Store(powers_of(rule, least, zeros_align, c), d, powers + i);
    are_ordinary = hn::And(are_ordinary, hn::Lt(hn::Abs(c), number(kOrdinary)));
  }
  return hn::AllTrue(d, are_ordinary);
}

/// Tells of which k-steps all sums fit doubles, in plans whose every sum is one of products and another term that is
/// rounded to fp32 (TreePlan::rounds_to_single). All terms are multiples of one power of two, and what these are
/// rounded to is one, too.
class FittingSums {
 public:
  explicit FittingSums(const TreeWork& w)
      : may_fit_(w.plan->rounds_to_single && w.are_finite && are_finite(w.values, kTreeRows * kColumns)) {
    if (may_fit_) look_at_c(w);
  }
  /// Of one k-step after the other.
  bool take(const TreeWork& w) {
    if (!may_fit_) return false;
    const Reach products = w.a_reach * *w.b_reach_of_k_step;
    const double all = std::ldexp(static_cast<double>(w.plan->depth), products.top);
    if (!fits(products, all)) look_at_c(w);
    const bool does = fits(products, all);
    constexpr double kRounded = 1 + 0x1p-10;  // more than rounding to fp32 for each of a k-step's nodes
    most_ = (most_ + all) * kRounded;
    lowest_ = std::min(lowest_, products.lowest);
    may_fit_ = most_ < kOrdinary;  // else they might be infinite
    return does;
  }

 private:
  bool fits(const Reach& products, double all) const {
    return most_ + all <= std::ldexp(1.0, std::min(lowest_, products.lowest) + std::numeric_limits<double>::digits);
  }
  void look_at_c(const TreeWork& w) {
    const auto [least, most] = extremes(w.values, kTreeRows * kColumns);
    most_ = most;
    lowest_ = INT_MAX;
    for (const FormatId id : {w.plan->c.format, w.plan->result})
      lowest_ = std::min(lowest_, std::max(std::ilogb(least), format(id).min_exponent()) - format(id).fraction_bits);
  }

  bool may_fit_;
  int lowest_ = 0;   ///< all of c is a multiple of 2^this
  double most_ = 0;  ///< and at most this
};

void take_c(const TreeWork& w) {
  static_assert(kPlaceOfC == 0);
  for (std::size_t r = 0; r < kTreeRows; ++r)
    std::memcpy(w.values + r * kColumns, w.results[r], kColumns * sizeof(double));
}

void run(const TreeWork& w) {
  const TreePlan& plan = *w.plan;
  if (!plan.accumulations.empty() && run_accumulations(w)) return;
  take_c(w);
  TreeWork at = w;
  FittingSums fitting(w);
  const PrefetchInParts prefetch_next(w.next, kTreeRows * kColumns, w.k_steps);
  for (std::size_t k_step = 0; k_step < w.k_steps; ++k_step) {
    prefetch_next(k_step);
    Known known = fitting.take(at) ? Known::fit : Known::nothing;
    const bool wants_powers = plan.wants_exponent_of_c && (k_step == 0 || !plan.puts_exponents);
    const bool asks_c = plan.stays_finite && known == Known::nothing;
    if (wants_powers || asks_c || plan.c.subnormals == Subnormals::flushed) {
      const bool is_ordinary = prepare_c(at, wants_powers);
      if (asks_c && is_ordinary && w.are_finite) known = Known::finite;
    }
    for (std::size_t number = 0; number < plan.nodes.size(); ++number) run_node(at, plan.nodes[number], number, known);
    next_k_step(at);
  }
  for (std::size_t r = 0; r < kTreeRows; ++r)
    std::memcpy(w.results[r], w.values + r * kColumns, kColumns * sizeof(double));
}

/// Results that are NaNs, and which of these may be operands' that come back. Where operands of A and B are finite, all
/// are new ones but where c is a NaN, too, and then either of them, which may be the same.
struct Nans {
  TV results;
  TMask left;
};
HWY_INLINE Nans nans_of(const TreeWork& w, TV c, TV result) {
  const TreePlan& plan = *w.plan;
  const auto with_code = [](std::uint64_t code)
                             HWY_ATTR { return as_numbers(integer(static_cast<std::int64_t>(kQuietNan | code))); };
  const TMask is_nan = hn::IsNaN(result);
  if (!w.are_finite) return {result, is_nan};
  const TV new_one = with_code(plan.nan.code), known = hn::IfThenElse(is_nan, new_one, result);
  if (plan.c.format != plan.result) return {known, hn::Lt(zero(), zero())};
  const TV quiet = hn::Or(c, with_code(nan_code(format(plan.result))));
  const TMask differs = hn::RebindMask(TD(), hn::Ne(bits_of(quiet), bits_of(new_one)));
  return {known, hn::And(is_nan, hn::And(hn::IsNaN(c), differs))};
}

bool run_leaving(const TreeWork& w) {
  const TD d;
  double c[kTreeRows][kColumns];
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    std::memcpy(c[r], w.results[r], sizeof(c[r]));
    if (w.plan->asks_for_usual_c)
      leave_unusual(w.results[r], w.left[r]);
    else
      std::memset(w.left[r], 0, kColumns * sizeof(std::int64_t));
  }
  run(w);
  TMask any_left = hn::Lt(zero(), zero());
  for (std::size_t r = 0; r < kTreeRows; ++r) {
    for (std::size_t column = 0; column < kColumns; column += kTreeLanes) {
      TV result = hn::Load(d, w.results[r] + column);
      TVI left = hn::Load(TI(), w.left[r] + column);
      if (w.plan->nan.propagate) {
        const Nans nans = nans_of(w, hn::LoadU(d, c[r] + column), result);
        result = nans.results;
        left = hn::Or(left, bits_of(hn::VecFromMask(d, nans.left)));
      }
      const TMask is_left = hn::RebindMask(d, hn::Ne(left, hn::Zero(TI())));
      any_left = hn::Or(any_left, is_left);
      hn::Store(left, TI(), w.left[r] + column);
      hn::Store(hn::IfThenElse(is_left, hn::LoadU(d, c[r] + column), result), d, w.results[r] + column);
    }
  }
  return !hn::AllFalse(d, any_left);
}

const TreeKernels* tree_kernels_of_target() {
  static const TreeKernels kKernels = {
      hwy::TargetName(HWY_TARGET), exponents, grow, are_finite, are_usual, extremes, run, run_leaving};
  return &kKernels;
}

#else

const TreeKernels* tree_kernels_of_target() { return nullptr; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcnum::panels {

HWY_EXPORT(tree_kernels_of_target);

const TreeKernels* tree_kernels() { return HWY_DYNAMIC_DISPATCH(tree_kernels_of_target)(); }

}  // namespace tcnum::panels
#endif
