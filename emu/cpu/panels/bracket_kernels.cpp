// Compiled once for each CPU by Highway. The rules are those of exact.cpp, for two doubles that a number lies between:
// each of them is monotone, so that what it makes of the number lies between what it makes of these. The machine rounds
// up throughout, and what is to be rounded down is there with the other sign. docs/panels.md says more.
#include "targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/cpu/panels/bracket_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which compiles this file anew for each target.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bracket_kernels.hpp"
#include "doubles-inl.hpp"
#include "emu/alignment.hpp"
#include "emu/rounding_steps.hpp"
#include "long_codes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

static_assert(kLongLanes == kDoubleLanes);

/// A magnitude between two doubles, the lower with a minus, and its sign; an infinity, or a NaN, is both of these.
/// Copied vector by vector, as Long is.
struct Bracket {
  TV above, minus_below;
  LV negative;  // all ones
  LVI exponent;

  HWY_INLINE Bracket() {}
  HWY_INLINE Bracket(TV upper, TV minus_lower, LV is_negative, LVI its_exponent)
      : above(upper), minus_below(minus_lower), negative(is_negative), exponent(its_exponent) {}
  HWY_INLINE Bracket(const Bracket& x) { *this = x; }
  HWY_INLINE Bracket& operator=(const Bracket& x) {
    above.raw = x.above.raw;
    minus_below.raw = x.minus_below.raw;
    negative.raw = x.negative.raw;
    exponent.raw = x.exponent.raw;
    return *this;
  }
};
constexpr std::size_t kWordsOfBracket = 4 * kLongLanes;
constexpr int kBiasOfDoubles = 1023;

HWY_INLINE TV as_doubles(LV x) { return hn::BitCast(TD(), x); }
HWY_INLINE LV words_of(TV x) { return hn::BitCast(LD(), x); }
HWY_INLINE LMask word_mask(TMask mask) { return hn::RebindMask(LD(), mask); }
HWY_INLINE TMask double_mask(LMask mask) { return hn::RebindMask(TD(), mask); }

HWY_INLINE void store(const Bracket& x, std::uint64_t* to) {
  const LD d;
  hn::Store(words_of(x.above), d, to);
  hn::Store(words_of(x.minus_below), d, to + kLongLanes);
  hn::Store(x.negative, d, to + 2 * kLongLanes);
  hn::Store(as_words(x.exponent), d, to + 3 * kLongLanes);
}
HWY_INLINE Bracket load(const std::uint64_t* from) {
  const LD d;
  const auto at = [&](std::size_t i) HWY_ATTR { return hn::Load(d, from + i * kLongLanes); };
  return {as_doubles(at(0)), as_doubles(at(1)), at(2), as_counts(at(3))};
}

/// What the compiler knows nothing of: of −x · y it would make −(x · y), which is not rounded up.
HWY_INLINE TV hidden(TV x) {
#if HWY_ARCH_ARM_A64
  asm("" : "+w"(x.raw));
#else
  asm("" : "+v"(x.raw));
#endif
  return x;
}
HWY_INLINE TV minus(TV x) { return hn::Xor(x, number(-0.0)); }

HWY_INLINE bool are_same(TV x, TV y) { return hn::AllTrue(LD(), hn::Eq(words_of(x), words_of(y))); }

HWY_INLINE LMask is_zero(const Bracket& x) { return word_mask(hn::Eq(x.above, zero())); }
/// Infinities, and NaNs.
HWY_INLINE LMask is_special(const Bracket& x) { return hn::Not(word_mask(hn::Lt(x.above, number(HUGE_VAL)))); }
HWY_INLINE LVI leading_exponent(TV magnitude) {
  return hn::Sub(as_counts(hn::ShiftRight<kFraction>(words_of(magnitude))), count(kBiasOfDoubles));
}
/// Whether both ends have one exponent: whatever lies between has it. Of NaNs it says so.
HWY_INLINE LMask exponents_agree(const Bracket& x) {
  const LV differ = hn::And(hn::Xor(words_of(x.above), words_of(x.minus_below)), word(std::uint64_t{kExponentBits}));
  return hn::Eq(differ, word(0));
}

/// Whether one end alone is zero.
HWY_INLINE LMask may_vanish(const Bracket& x) { return hn::Xor(is_zero(x), word_mask(hn::Eq(x.minus_below, zero()))); }

/// What lies around significand · 2^last, which must be that of a normal number.
HWY_INLINE void put_bounds(LV significand, LVI last, TV& above, TV& minus_below) {
  constexpr int kHalf = kWordBits / 2;
  constexpr double kTwoTo52 = 0x1p52, kTwoTo32 = 0x1p32;
  const auto exact = [&](LV half) HWY_ATTR {
    return hn::Sub(as_doubles(hn::Or(half, words_of(number(kTwoTo52)))), number(kTwoTo52));
  };
  const TV high = exact(hn::ShiftRight<kHalf>(significand)), low = exact(hn::And(significand, word(0xffffffff)));
  const TV power = as_doubles(hn::ShiftLeft<kFraction>(as_words(hn::Add(last, count(kBiasOfDoubles)))));
  above = hn::Mul(hn::MulAdd(high, number(kTwoTo32), low), power);
  minus_below = hn::Mul(hn::MulSub(high, number(-kTwoTo32), low), power);
}

bool bounds(const LongNumbers& operands, std::size_t n, bool is_minus, const Bounds& to) {
  const LD d;
  LMask any_unusual = none();
  for (std::size_t i = 0; i < n; i += kLongLanes) {
    const LV all = hn::Load(d, operands.significand + i), significand = hn::And(all, word(kLongSpecial - 1));
    const LVI last = hn::Load(LI(), operands.last + i);
    const LVI near = smaller(larger(last, count(-2 * kMostBracketOperand)), count(2 * kMostBracketOperand));
    TV above, minus_below;
    put_bounds(significand, near, above, minus_below);
    hn::Store(above, TD(), to.above + i);
    hn::Store(is_minus ? minus_below : minus(minus_below), TD(), to.below + i);
    static_assert(kMostBracketOperand == 200);
    const LMask is_near = hn::RebindMask(d, hn::Eq(near, last));
    const LMask is_usual = hn::And(is_near, word_mask(is_within(above, 0x1p-200)));
    const LMask special = hn::Ne(hn::And(all, word(kLongSpecial)), word(0));
    any_unusual = hn::Or(any_unusual, hn::AndNot(is_usual, hn::Ne(significand, word(0))));
    any_unusual = hn::Or(any_unusual, special);
  }
  return hn::AllFalse(d, any_unusual);
}

/// 2^52 units, of which 2^-fraction_bits · 2^exponent is one: what a double of fewer units has below one is cut by
/// adding it.
HWY_INLINE TV grid_below(LVI exponent, int fraction_bits) {
  // Whatever is not zero is far above the least, and sums aligned with more than the most are left.
  const LVI near = smaller(larger(exponent, count(kLeastGridOfBracket)), count(kMostGridOfBracket));
  const LVI field = hn::Add(near, count(kFraction - fraction_bits + kBiasOfDoubles));
  return as_doubles(hn::ShiftLeft<kFraction>(as_words(field)));
}
/// The same below a magnitude's leading bit, but of what is less than `least` below that.
HWY_INLINE TV grid_below(TV magnitude, double least, int fraction_bits) {
  const TV power = binade_of(hn::Max(magnitude, number(least)));
  return scaled(power, kFraction - fraction_bits);
}

/// A magnitude cut to a multiple of the unit, that is 2^-52 of the grid.
HWY_INLINE TV cut_up(TV x, TV grid) { return hn::Sub(hn::Add(x, grid), grid); }
HWY_INLINE TV cut_down(TV x, TV grid) {
  const TV up = cut_up(x, grid);
  return hn::Sub(up, hn::IfThenElseZero(hn::Lt(x, up), scaled(grid, -kFraction)));
}
/// To the nearest; of two the even one, or the larger.
HWY_INLINE TV cut_to_nearest(TV x, TV grid, bool ties_away) {
  const TV on_grid = hn::Add(x, grid), up = hn::Sub(on_grid, grid), more = hn::Sub(up, x);
  const TV half = scaled(grid, -kFraction - 1);
  TMask is_down = hn::Lt(half, more);
  if (!ties_away) {
    const LMask is_odd = hn::Ne(hn::And(words_of(on_grid), word(1)), word(0));
    is_down = hn::Or(is_down, hn::And(hn::Eq(more, half), double_mask(is_odd)));
  }
  return hn::Sub(up, hn::IfThenElseZero(is_down, hn::Add(half, half)));
}
/// What has no bits below the unit stays, infinities and NaNs too.
HWY_INLINE TV cut_magnitude(Rounding mode, LV negative, TV x, TV grid) {
  TV t;
  switch (mode) {
    case Rounding::toward_zero:
      t = cut_down(x, grid);
      break;
    case Rounding::up:
      t = hn::IfThenElse(double_mask(mask_of(negative)), cut_down(x, grid), cut_up(x, grid));
      break;
    case Rounding::down:
      t = hn::IfThenElse(double_mask(mask_of(negative)), cut_up(x, grid), cut_down(x, grid));
      break;
    default:
      t = cut_to_nearest(x, grid, mode == Rounding::nearest_away);
      break;
  }
  return hn::IfThenElse(hn::Lt(x, grid), t, x);
}
HWY_INLINE void cut(Rounding mode, TV grid, Bracket& x) {
  const TV below = minus(x.minus_below);
  const bool are_exact = are_same(x.above, below);
  x.above = cut_magnitude(mode, x.negative, x.above, grid);
  x.minus_below = minus(are_exact ? x.above : cut_magnitude(mode, x.negative, below, grid));
}

/// What becomes of magnitudes that are beyond a step's largest.
HWY_INLINE void replace_large(const BracketStep& how, TMask large, LV negative, double largest, TV& magnitude) {
  const TMask is_negative = double_mask(mask_of(negative));
  const auto of_sign = [&](bool sign) HWY_ATTR { return number(to_infinity(how.step, sign) ? HUGE_VAL : largest); };
  magnitude = hn::IfThenElse(large, hn::IfThenElse(is_negative, of_sign(true), of_sign(false)), magnitude);
}

/// Vectors that go through the nodes side by side, one's sums while another's wait for theirs.
constexpr std::size_t kAtOnce = 4;
static_assert(kColumns % (kAtOnce * kLongLanes) == 0);

/// The exponent of a magnitude that is not zero, after a step. The step's largest number may have more bits than a
/// double, so that its upper end is above all numbers of the step.
HWY_INLINE LVI exponent_after(const BracketStep& how, TV magnitude) {
  const LVI leading = leading_exponent(magnitude);
  return how.has_long_largest ? smaller(leading, count(how.step.max_exponent)) : leading;
}
/// Whether both ends have another exponent then.
HWY_INLINE LMask exponents_differ(const BracketStep& how, const Bracket& x) {
  const LMask differ = hn::Not(exponents_agree(x));
  if (!how.has_long_largest) return differ;
  const LVI above = exponent_after(how, x.above), below = leading_exponent(minus(x.minus_below));
  return hn::And(differ, hn::Or(is_special(x), less(below, above)));
}

/// Applies one rounding step.
HWY_INLINE void round_once(const BracketStep& how, UnderflowSign underflow_sign, SubnormalExponent subnormals,
                           LVI alignment, Bracket& x) {
  const RoundStep& s = how.step;
  const LMask is_over = hn::Or(is_zero(x), is_special(x));  // nothing more is done to them
  const auto rounded = [&](TV magnitude) HWY_ATTR {
    const TV grid =
        s.from_alignment ? grid_below(alignment, s.fraction_bits) : grid_below(magnitude, how.least, s.fraction_bits);
    const TV kept = cut_magnitude(s.rounding, x.negative, magnitude, grid);
    if (s.subnormals != Subnormals::flushed) return kept;
    return hn::IfThenZeroElse(hn::Lt(kept, number(how.least)), kept);
  };
  TV above = x.above, below = minus(x.minus_below);
  if (how.cuts) {
    const bool are_exact = are_same(above, below);
    above = rounded(above);
    below = are_exact ? above : rounded(below);
  }
  const auto beyond = [&](TV magnitude)
                          HWY_ATTR { return hn::AndNot(double_mask(is_over), hn::Ge(magnitude, number(how.beyond))); };
  if (const TMask large = beyond(above); !hn::AllFalse(TD(), large)) {
    replace_large(how, beyond(below), x.negative, how.largest_below, below);
    replace_large(how, large, x.negative, how.largest_above, above);
  }
  if (underflow_sign == UnderflowSign::positive) {
    const LMask vanishes = hn::AndNot(is_over, word_mask(hn::Eq(above, zero())));
    x.negative = hn::IfThenZeroElse(vanishes, x.negative);
  }
  x.above = above;
  x.minus_below = minus(below);
  if (s.from_alignment) return;
  LVI own = chosen(is_zero(x), count(s.min_exponent), exponent_after(how, above));
  if (subnormals == SubnormalExponent::minimum) own = larger(own, count(s.min_exponent));
  x.exponent = chosen(is_over, x.exponent, own);
}
/// Applies rounding steps, as round() of long_kernels.cpp does, to kAtOnce numbers, and tells of which it is not
/// known whether they are zero, or with which exponent later sums are aligned with them.
HWY_NOINLINE void round(const std::vector<BracketStep>& steps, UnderflowSign underflow_sign,
                        SubnormalExponent subnormals, const LVI* alignments, Bracket* numbers, LMask* unknown) {
  for (std::size_t v = 0; v < kAtOnce; ++v) unknown[v] = none();
  for (const BracketStep& how : steps) {
    for (std::size_t v = 0; v < kAtOnce; ++v) round_once(how, underflow_sign, subnormals, alignments[v], numbers[v]);
    if (!how.puts_exponent) continue;
    for (std::size_t v = 0; v < kAtOnce; ++v) unknown[v] = exponents_differ(how, numbers[v]);
  }
  if (steps.empty() || !steps.back().puts_exponent) {
    for (std::size_t v = 0; v < kAtOnce; ++v) unknown[v] = hn::Or(unknown[v], may_vanish(numbers[v]));
    return;
  }
  const RoundStep& last = steps.back().step;
  for (std::size_t v = 0; v < kAtOnce; ++v) {
    Bracket& x = numbers[v];
    x.exponent = chosen(is_zero(x), count(last.min_exponent), x.exponent);
  }
}

/// Some vectors of a panel's columns, as LongColumns of one.
class BracketColumns {
 public:
  /// `results`: room for numbers for each node.
  BracketColumns(const LongWork& w, std::size_t column, std::uint64_t* results)
      : w_(w),
        plan_(*w.plan),
        nodes_(w.sums->nodes),
        n_(w.plan->datapath.numerics),
        column_(column),
        results_(results) {
    for (std::size_t v = 0; v < kAtOnce; ++v) {
      const LongOperand of_c = take_apart(n_.c, hn::Load(LD(), w_.c + column_of(v)));
      const LVI near = smaller(larger(of_c.last, count(-kMostGridOfBracket)), count(kMostGridOfBracket));
      Bracket& c = c_[v];
      put_bounds(of_c.significand, near, c.above, c.minus_below);
      c.negative = of_c.negative;
      c.exponent = of_c.exponent;
      left_[v] = none();
      if (!hn::AllFalse(LD(), of_c.special)) {
        const LMask nan = hn::AndNot(of_c.infinite, of_c.special);
        if (n_.nan.propagate) left_[v] = nan;  // which one matters
        put(of_c.infinite, HUGE_VAL, c);
        put(nan, std::numeric_limits<double>::quiet_NaN(), c);
      }
      leave_unusual(v, c);
    }
  }

  void add_node(std::size_t number) {
    Bracket x[kAtOnce];
    sum(nodes_[number], x);
    std::uint64_t* const to = results_ + number * kWordsOfAll;
    for (std::size_t v = 0; v < kAtOnce; ++v) store(x[v], to + v * kWordsOfBracket);
  }

  /// After all nodes; whether some were left.
  bool put_results() {
    const LD d;
    bool any_left = false;
    const NumberWriter& writer = *w_.writer;
    for (std::size_t v = 0; v < kAtOnce; ++v) {
      const Bracket x = load(result_of(nodes_.size() - 1, v));
      const LMask nan = word_mask(hn::IsNaN(x.above));
      const LMask known = hn::Or(nan, hn::Eq(words_of(x.above), words_of(minus(x.minus_below))));
      const LMask left = hn::Or(left_[v], hn::Not(known));
      const LV shifted = words_of(hn::Mul(x.above, number(writer.unit)));
      LV magnitude = hn::ShiftLeftSame(hn::ShiftRightSame(shifted, writer.down), writer.padding);
      magnitude = hn::IfThenElse(word_mask(hn::Eq(x.above, number(HUGE_VAL))), word(writer.infinity), magnitude);
      LV code = hn::Or(magnitude, hn::And(x.negative, word(writer.sign)));
      code = hn::IfThenElse(nan, word(n_.nan.code), code);
      const std::size_t column = column_of(v);
      hn::Store(hn::IfThenElse(left, hn::Load(d, w_.c + column), code), d, w_.codes + column);
      hn::Store(ones(left), d, w_.left + column);
      any_left |= !hn::AllFalse(d, left);
    }
    return any_left;
  }

 private:
  static constexpr std::size_t kWordsOfAll = kAtOnce * kWordsOfBracket;
  std::size_t column_of(std::size_t v) const { return column_ + v * kLongLanes; }
  const std::uint64_t* result_of(std::size_t node, std::size_t v) const {
    return results_ + node * kWordsOfAll + v * kWordsOfBracket;
  }
  std::uint64_t* term_at(std::size_t i, std::size_t v) const {
    return w_.terms + i * kWordsOfAll + v * kWordsOfBracket;
  }
  static void put(LMask where, double x, Bracket& to) {
    to.above = hn::IfThenElse(double_mask(where), number(x), to.above);
    to.minus_below = hn::IfThenElse(double_mask(where), number(-x), to.minus_below);
  }
  void leave(std::size_t v, LMask which) { left_[v] = hn::Or(left_[v], which); }
  void leave_unusual(std::size_t v, const Bracket& x) {
    static_assert(kMostBracketNumber == 480);
    leave(v, hn::AndNot(is_special(x), hn::Not(word_mask(is_within(x.above, 0x1p-480)))));
  }
  SubnormalExponent subnormals() const { return n_.c.subnormal_exponent; }

  Bracket multiplied(std::size_t k, std::size_t v) const {
    const std::size_t at = k * kColumns + column_of(v);
    const TV above = hn::Mul(number(w_.a_bounds.above[k]), hn::Load(TD(), w_.b_bounds.above + at));
    const TV minus_below = hn::Mul(number(w_.a_bounds.below[k]), hn::Load(TD(), w_.b_bounds.below + at));
    const LV signs = hn::Xor(word(w_.a.significand[k]), hn::Load(LD(), w_.b.significand + at));
    return {above, minus_below, as_words(hn::BroadcastSignBit(as_counts(signs))),
            hn::Add(count(w_.a.exponent[k]), hn::Load(LI(), w_.b.exponent + at))};
  }
  void multiply(std::size_t k, Bracket* to) {
    for (std::size_t v = 0; v < kAtOnce; ++v) to[v] = multiplied(k, v);
    const bool is_normalised = n_.product.exponent == ProductExponent::normalised;
    const std::vector<BracketStep>& steps = plan_.bracket_product_steps;
    if (is_normalised || n_.product.infinite_from) {
      for (std::size_t v = 0; v < kAtOnce; ++v) {
        Bracket& x = to[v];
        leave(v, hn::Not(exponents_agree(x)));
        const LVI leading = leading_exponent(x.above);
        const LMask vanishes = is_zero(x);
        if (is_normalised) x.exponent = chosen(vanishes, x.exponent, leading);
        if (n_.product.infinite_from)
          put(hn::AndNot(vanishes, less(count(*n_.product.infinite_from - 1), leading)), HUGE_VAL, x);
      }
    }
    if (steps.empty()) return;
    LVI no_alignments[kAtOnce];
    for (LVI& each : no_alignments) each = count(0);
    round_or_leave(steps, UnderflowSign::kept, no_alignments, to);
  }
  /// Applies rounding steps, and leaves what is not known well enough after them, for a later sum.
  void round_or_leave(const std::vector<BracketStep>& steps, UnderflowSign underflow_sign, const LVI* alignments,
                      Bracket* numbers) {
    LMask unknown[kAtOnce];
    round(steps, underflow_sign, subnormals(), alignments, numbers, unknown);
    for (std::size_t v = 0; v < kAtOnce; ++v) {
      const Bracket& x = numbers[v];
      leave(v, hn::AndNot(word_mask(hn::IsNaN(x.above)), unknown[v]));
      leave_unusual(v, x);
    }
  }

  const Unit& unit_of(const Term& node) const {
    return n_.units[static_cast<std::size_t>(nodes_[static_cast<std::size_t>(node.index)].node.unit)];
  }
  /// As LongColumns has it. Infinities and NaNs take no part: no alignment matters to them.
  LVI aligning_exponent(const ZeroExponent& rule, const Term& t, const Bracket& x) const {
    LMask takes_no_part = is_zero(x);
    LVI natural = x.exponent;
    if (t.kind == Term::Kind::node && unit_of(t).scale_exponents_alone) {
      takes_no_part = less(x.exponent, count(kLongNone / 2));
      natural = chosen(takes_no_part, hn::Sub(x.exponent, count(kLongNone)), x.exponent);
    }
    LVI exponent = natural;
    if (rule.kind != ZeroExponentKind::natural) {
      const LVI of_zero = count(rule.kind == ZeroExponentKind::zeros ? rule.value : kLongNone);
      exponent = chosen(takes_no_part, of_zero, x.exponent);
    }
    return chosen(is_special(x), count(kLongNone), exponent);
  }

  void sum(const LongNode& of, Bracket* totals) {
    const SortedNode& node = of.node;
    const auto unit_number = static_cast<std::size_t>(node.unit);
    const Unit& unit = n_.units[unit_number];
    LVI alignments[kAtOnce];
    put_terms(node, unit, alignments);
    add_terms(node, unit, alignments, totals);
    for (std::size_t v = 0; v < kAtOnce; ++v) {
      Bracket& total = totals[v];
      const LMask vanishes = is_zero(total);
      if (!hn::AllFalse(LD(), vanishes))
        total.negative = hn::IfThenElse(vanishes, sign_of_zero(node, unit, v), total.negative);
      total.exponent = chosen(less(alignments[v], count(kLongNone / 2)), count(0), alignments[v]);
      if (unit.scale_exponents_alone) total.exponent = count(0);
      LMask of_zero_scales = none();
      if (unit.scaled) {
        of_zero_scales = scale(static_cast<std::size_t>(node.terms.front().index), v, total);
        leave_unusual(v, total);
      }
      if (unit.scale_exponents_alone) {
        const LMask takes_no_part = hn::Or(all_are_zero(node, v), of_zero_scales);
        total.exponent = chosen(takes_no_part, hn::Add(total.exponent, count(kLongNone)), total.exponent);
      }
      alignments[v] = total.exponent;
      leave(v, less(count(kMostGridOfBracket), total.exponent));
    }
    const std::vector<BracketStep>& steps = plan_.bracket_steps[unit_number];
    round_or_leave(steps, unit.underflow_sign, alignments, totals);
  }

  /// Puts a node's terms where they wait, and tells what they are aligned with.
  HWY_NOINLINE void put_terms(const SortedNode& node, const Unit& unit, LVI* alignments) {
    const ZeroExponent& zero = unit.zero_exponent;
    for (std::size_t v = 0; v < kAtOnce; ++v)
      alignments[v] = count(zero.kind == ZeroExponentKind::floor ? zero.value : kLongNone);
    for (std::size_t i = 0; i < node.terms.size(); ++i) {
      const Term& t = node.terms[i];
      Bracket x[kAtOnce];
      if (t.kind == Term::Kind::product) multiply(static_cast<std::size_t>(t.index), x);
      for (std::size_t v = 0; v < kAtOnce; ++v) {
        if (t.kind == Term::Kind::node) x[v] = load(result_of(static_cast<std::size_t>(t.index), v));
        if (t.kind == Term::Kind::accumulator) x[v] = c_[v];
        store(x[v], term_at(i, v));
        alignments[v] = larger(alignments[v], aligning_exponent(zero, t, x[v]));
      }
    }
    for (std::size_t v = 0; v < kAtOnce; ++v) leave(v, less(count(kMostGridOfBracket), alignments[v]));
  }

  HWY_NOINLINE void add_terms(const SortedNode& node, const Unit& unit, const LVI* alignments, Bracket* totals) {
    TV most[kAtOnce], minus_least[kAtOnce];
    for (std::size_t v = 0; v < kAtOnce; ++v) most[v] = minus_least[v] = zero();
    for (std::size_t i = 0; i < node.terms.size(); ++i) {
      const int bits = i == 0 ? unit.first_fraction_bits.value_or(unit.fraction_bits) : unit.fraction_bits;
      for (std::size_t v = 0; v < kAtOnce; ++v) {
        Bracket x = load(term_at(i, v));
        if (i > 0 && unit.drop_below) {
          const LMask is_far = less(x.exponent, hn::Sub(alignments[v], count(*unit.drop_below)));
          put(hn::AndNot(is_special(x), is_far), 0, x);
        }
        if (bits != kExact) cut(unit.align_rounding, grid_below(alignments[v], bits), x);
        const TMask negative = double_mask(mask_of(x.negative));
        most[v] = hn::Add(most[v], hn::IfThenElse(negative, x.minus_below, x.above));
        minus_least[v] = hn::Add(minus_least[v], hn::IfThenElse(negative, x.above, x.minus_below));
      }
    }
    for (std::size_t v = 0; v < kAtOnce; ++v) {
      const TMask is_positive = hn::Gt(most[v], zero()), is_negative = hn::Gt(minus_least[v], zero());
      leave(v, word_mask(hn::And(is_positive, is_negative)));
      totals[v].above = hn::IfThenElse(is_negative, minus_least[v], most[v]);
      totals[v].minus_below = hn::IfThenElse(is_negative, most[v], minus_least[v]);
      totals[v].negative = ones(word_mask(is_negative));
    }
  }

  /// Of a sum that is zero.
  LV sign_of_zero(const SortedNode& node, const Unit& unit, std::size_t v) {
    if (unit.zero_sign == ZeroSign::positive) return word(0);
    LV all = word(~std::uint64_t{0}), any = word(0);
    for (std::size_t i = 0; i < node.terms.size(); ++i) {
      const LV negative = load(term_at(i, v)).negative;
      all = hn::And(all, negative);
      any = hn::Or(any, negative);
    }
    return zero_is_negative(unit, false, true) ? any : all;
  }
  LMask all_are_zero(const SortedNode& node, std::size_t v) {
    LMask all = hn::Not(none());
    for (std::size_t i = 0; i < node.terms.size(); ++i) all = hn::And(all, is_zero(load(term_at(i, v))));
    return all;
  }

  /// Multiplies a sum by the scales of its first product's block, and tells where one of these is zero.
  LMask scale(std::size_t k, std::size_t v, Bracket& x) {
    const std::size_t block = k / static_cast<std::size_t>(n_.scales->block_k);
    const std::size_t at = block * kColumns + column_of(v);
    const TV both = hn::Mul(number(w_.a_scale_bounds.above[block]), hn::Load(TD(), w_.b_scale_bounds.above + at));
    x.above = hn::Mul(x.above, both);
    x.minus_below = hn::Mul(hidden(x.minus_below), both);
    x.exponent =
        hn::Add(x.exponent, hn::Add(count(w_.a_scale.exponent[block]), hn::Load(LI(), w_.b_scale.exponent + at)));
    return word_mask(hn::Eq(both, zero()));
  }

  const LongWork& w_;
  const LongPlan& plan_;
  const std::vector<LongNode>& nodes_;
  const Numerics& n_;
  std::size_t column_;
  std::uint64_t* results_;
  Bracket c_[kAtOnce];
  LMask left_[kAtOnce];
};

bool run_brackets(const LongWork& w) {
  bool any_left = false;
  for (std::size_t column = 0; column < kColumns; column += kAtOnce * kLongLanes) {
    BracketColumns columns(w, column, w.results);
    for (std::size_t number = 0; number < w.sums->nodes.size(); ++number) columns.add_node(number);
    any_left |= columns.put_results();
  }
  return any_left;
}

const BracketKernels* bracket_kernels_of_target() {
  static const BracketKernels kKernels = {hwy::TargetName(HWY_TARGET), bounds, run_brackets};
  return &kKernels;
}

#else

const BracketKernels* bracket_kernels_of_target() { return nullptr; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcnum::panels {

HWY_EXPORT(bracket_kernels_of_target);

const BracketKernels* bracket_kernels() { return HWY_DYNAMIC_DISPATCH(bracket_kernels_of_target)(); }

}  // namespace tcnum::panels
#endif
