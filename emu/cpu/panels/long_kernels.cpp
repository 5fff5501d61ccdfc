// Compiled once for each CPU by Highway. The rules are those of exact.cpp, for numbers that are finite.
#include "targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/cpu/panels/long_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which compiles this file anew for each target.
#include <hwy/highway.h>

#include <algorithm>

#include "emu/alignment.hpp"
#include "emu/rounding_steps.hpp"
#include "long_codes-inl.hpp"
#include "long_integers-inl.hpp"
#include "long_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

/// ±magnitude · 2^last. Copied vector by vector, as Long is.
template <int N>
struct LongNumber {
  Long<N> magnitude;
  LVI last, exponent;
  LV negative;  // all ones

  HWY_INLINE LongNumber() {}
  HWY_INLINE LongNumber(const Long<N>& of, LVI its_last, LVI its_exponent, LV is_negative)
      : magnitude(of), last(its_last), exponent(its_exponent), negative(is_negative) {}
  HWY_INLINE LongNumber(const LongNumber& x) { *this = x; }
  HWY_INLINE LongNumber& operator=(const LongNumber& x) {
    magnitude = x.magnitude;
    last.raw = x.last.raw;
    exponent.raw = x.exponent.raw;
    negative.raw = x.negative.raw;
    return *this;
  }
};
/// What is none: its number is a zero then, and of an infinity has the sign.
struct Specials {
  LMask infinite, nan;
  LMask of_c;  ///< a NaN that is c's, not a new one
  LMask any() const { return hn::Or(infinite, nan); }
};
/// Of a number in memory, each of which has a vector.
template <int N>
inline constexpr std::size_t kWordsOfNumber = (N + 3) * kLongLanes;
/// The same with its specials.
template <int N>
inline constexpr std::size_t kWordsOfResult = kWordsOfNumber<N> + 3 * kLongLanes;

/// Of a number that has one word.
template <int N>
HWY_INLINE LongNumber<1> word_of(const LongNumber<N>& x) {
  return {cut_to<1>(x.magnitude), x.last, x.exponent, x.negative};
}

template <int N>
HWY_INLINE void store(const LongNumber<N>& x, std::uint64_t* to) {
  const LD d;
  for (std::size_t i = 0; i < N; ++i) hn::Store(x.magnitude.at[i], d, to + i * kLongLanes);
  hn::Store(as_words(x.last), d, to + N * kLongLanes);
  hn::Store(as_words(x.exponent), d, to + (N + 1) * kLongLanes);
  hn::Store(x.negative, d, to + (N + 2) * kLongLanes);
}
template <int N>
HWY_INLINE LongNumber<N> load(const std::uint64_t* from) {
  const LD d;
  LongNumber<N> x;
  for (std::size_t i = 0; i < N; ++i) x.magnitude.at[i] = hn::Load(d, from + i * kLongLanes);
  x.last = as_counts(hn::Load(d, from + N * kLongLanes));
  x.exponent = as_counts(hn::Load(d, from + (N + 1) * kLongLanes));
  x.negative = hn::Load(d, from + (N + 2) * kLongLanes);
  return x;
}

HWY_INLINE void store(const Specials& x, std::uint64_t* to) {
  hn::Store(ones(x.infinite), LD(), to);
  hn::Store(ones(x.nan), LD(), to + kLongLanes);
  hn::Store(ones(x.of_c), LD(), to + 2 * kLongLanes);
}
HWY_INLINE Specials load_specials(const std::uint64_t* from) {
  const auto mask = [&](std::size_t i) HWY_ATTR { return mask_of(hn::Load(LD(), from + i * kLongLanes)); };
  return {mask(0), mask(1), mask(2)};
}

/// Of numbers that are not zero.
template <int N>
HWY_INLINE LVI leading_exponent(const LongNumber<N>& x) {
  return hn::Add(hn::Sub(width(x.magnitude), count(1)), x.last);
}

HWY_INLINE LVI within_words(int words, LVI bits) {
  return smaller(larger(bits, count(0)), count(std::int64_t{words} * kWordBits));
}

/// Of what is dropped below a last place: whether it is half of that or more, and whether it is anything but half.
struct Dropped {
  LMask half, other;
};
/// Whether a magnitude of which that was dropped is rounded away from zero.
HWY_INLINE LMask rounds_away(Rounding mode, LV negative, LV last_word, const Dropped& dropped) {
  const LMask is_negative = mask_of(negative);
  switch (mode) {
    case Rounding::nearest_even: {
      const LMask odd = hn::Ne(hn::And(last_word, word(1)), word(0));
      return hn::And(dropped.half, hn::Or(dropped.other, odd));
    }
    case Rounding::nearest_away:
      return dropped.half;
    case Rounding::up:
      return hn::AndNot(is_negative, hn::Or(dropped.half, dropped.other));
    case Rounding::down:
      return hn::And(is_negative, hn::Or(dropped.half, dropped.other));
    case Rounding::toward_zero:
      break;
  }
  return none();
}
/// Of a number's words below 2^bits, bits ≥ 0, where these are its upper words.
template <int kParts, int N>
HWY_INLINE Dropped dropped_below(const Long<N>& x, LVI bits) {
  // Shifted up so far that half is the top bit. What is far below it may be lost then, but not all that is dropped.
  const LMask is_far = less(count(kParts * kWordBits), bits);
  const LVI up = larger(hn::Sub(count(kParts * kWordBits), bits), count(0));
  const Long<kParts> rest = long_shifted<kParts, kParts>(cut_to<kParts>(x), up);
  LV other = hn::ShiftLeft<1>(rest.at[kParts - 1]);
  for (int i = 0; i + 1 < kParts; ++i) other = hn::Or(other, rest.at[i]);
  const LMask top = top_bit(rest.at[kParts - 1]);
  return {hn::AndNot(is_far, top), hn::Or(hn::Ne(other, word(0)), hn::And(is_far, top))};
}

/// Leaves bits below 2^last out; whether there are any.
template <int N>
HWY_INLINE bool round_to_last(LVI last, Rounding mode, LongNumber<N>& x) {
  const LVI bits = larger(hn::Sub(last, x.last), count(0));
  const LMask drops = less(count(0), bits);
  x.last = larger(x.last, last);
  if (hn::AllFalse(LD(), drops)) return false;
  if (mode == Rounding::toward_zero) {
    x.magnitude = shifted_down(x.magnitude, within_words(N, bits));
    return true;
  }
  // With half of the last place as the last bit; where nothing is dropped there is none.
  Dropped dropped;
  const Long<N> doubled = shifted_down(x.magnitude, within_words(N, hn::Sub(bits, count(1))), dropped.other);
  dropped.half = hn::And(drops, hn::Ne(hn::And(doubled.at[0], word(1)), word(0)));
  const Long<N> kept = chosen(drops, halved(doubled), x.magnitude);
  x.magnitude = incremented(rounds_away(mode, x.negative, kept.at[0], dropped), kept);
  return true;
}

/// Numbers beyond a step's largest, which do not become infinite.
template <int N>
HWY_INLINE void replace_large(const RoundStep& s, LMask large, LongNumber<N>& x) {
  if (s.overflow == Overflow::wrap) {
    // Modulo 2^bits, with its sign: as the top bits of all.
    const LVI above = within_words(N, hn::Sub(count(N * kWordBits), hn::Sub(count(s.max_exponent + 2), x.last)));
    const Long<N> residue = shifted_up(negated(x.negative, x.magnitude), above);
    const LMask negative = top_bit(residue.at[N - 1]);
    x.magnitude = chosen(large, shifted_down(negated(ones(negative), residue), above), x.magnitude);
    x.negative = hn::IfThenElse(large, ones(negative), x.negative);
    return;
  }
  const int last = std::max(s.max_exponent, s.min_exponent) - s.fraction_bits;
  const Long<N> beyond = shifted_up(long_of<N>(word(1)), within_words(N, count(s.max_exponent + 1 - last)));
  Long<N> most = beyond;
  add(long_of<N>(word(1)), word(~std::uint64_t{0}), most);
  if (s.twos_complement) most = chosen(mask_of(x.negative), beyond, most);
  x.magnitude = chosen(large, most, x.magnitude);
  x.last = chosen(large, count(last), x.last);
}

/// −2^(max_exponent + 1), where that is a number.
template <int N>
HWY_INLINE LMask are_lowest(const RoundStep& s, LVI leading, const LongNumber<N>& x) {
  const LMask at_end = hn::RebindMask(LD(), hn::Eq(leading, count(s.max_exponent + 1)));
  const Long<N> power = shifted_up(long_of<N>(word(1)), within_words(N, hn::Sub(leading, x.last)));
  return hn::AndNot(differ(power, x.magnitude), hn::And(at_end, mask_of(x.negative)));
}

/// A magnitude's bits, and the 64 from the leading one on, of which the last is set too if any below them is.
struct Leading {
  LVI bits;
  LV word;
};
template <int N>
HWY_INLINE Leading leading_of(const Long<N>& x) {
  LV top = x.at[0], next = word(0), rest = word(0), all_before = word(0);
  LVI below = count(0);
  for (int i = 1; i < N; ++i) {
    const LMask is_there = hn::Ne(x.at[i], word(0));
    top = hn::IfThenElse(is_there, x.at[i], top);
    next = hn::IfThenElse(is_there, x.at[i - 1], next);
    rest = hn::IfThenElse(is_there, all_before, rest);
    below = chosen(is_there, count(i * kWordBits), below);
    all_before = hn::Or(all_before, x.at[i - 1]);
  }
  const LVI bits_of_top = width_of_word(top);
  // Of zero the width is negative, and all that is shifted is.
  const LV up = as_words(smaller(hn::Sub(count(kWordBits), bits_of_top), count(kWordBits - 1)));
  const Long<2> both = long_of<2>(next, top), moved = cut_to<2>(moved_up<2>(both, up));
  const LMask any = hn::Ne(hn::Or(moved.at[0], rest), word(0));
  return {hn::Add(below, bits_of_top), hn::Or(moved.at[1], hn::And(ones(any), word(1)))};
}

/// Rounding steps (LongRounding::ordinary) of a number of `kParts` words: of its upper 64 bits, if all numbers are
/// within each step's range and none vanishes. Which bits are dropped from these is then the same for all, or known by
/// an alignment. Says so, or changes nothing.
template <int kParts, int N>
HWY_NOINLINE bool round_ordinary(const RoundSteps& steps, SubnormalExponent subnormals, LVI alignment,
                                 LongNumber<N>& x) {
  // Two bits tell half, and what is not half; where none is set, steps that keep more bits keep all.
  constexpr int kTop = kWordBits - 1, kLeastDropped = 2, kMostKept = kTop - kLeastDropped;
  const Leading upper = leading_of(cut_to<kParts>(x.magnitude));
  const LMask is_zero = hn::Eq(upper.word, word(0));
  LV kept = upper.word;
  LVI leading = hn::Add(x.last, hn::Sub(upper.bits, count(1))), exponent = x.exponent;
  LMask is_other = none();
  for (const RoundStep& s : steps) {
    const bool is_fixed = s.min_exponent > s.max_exponent;  // all are spaced as the largest
    const auto has_more = [&] HWY_ATTR { return hn::Ne(hn::And(kept, word((1 << kLeastDropped) - 1)), word(0)); };
    LV unit = word(std::uint64_t{1} << (kTop - std::min(s.fraction_bits, kMostKept)));
    if (s.from_alignment || is_fixed) {
      const LVI first = s.from_alignment ? alignment : count(s.min_exponent);
      const LVI dropped = hn::Add(hn::Sub(first, leading), count(kTop - s.fraction_bits));
      const LMask keeps_more = less(dropped, count(kLeastDropped));
      is_other = hn::Or(is_other, hn::Or(less(count(kTop), dropped), hn::And(keeps_more, has_more())));
      unit = word_shifted(word(1), larger(dropped, count(kLeastDropped)));
    } else if (s.fraction_bits > kMostKept) {
      is_other = hn::Or(is_other, has_more());
    }
    const LV rest = hn::Sub(unit, word(1)), before = kept;
    switch (s.rounding) {
      case Rounding::nearest_even: {
        const LMask is_odd = hn::Ne(hn::And(kept, unit), word(0));
        const LV half = hn::ShiftRight<1>(unit);
        kept = hn::Add(kept, hn::IfThenElse(is_odd, half, hn::Sub(half, word(1))));
        break;
      }
      case Rounding::nearest_away:
        kept = hn::Add(kept, hn::ShiftRight<1>(unit));
        break;
      case Rounding::up:
        kept = hn::Add(kept, hn::AndNot(x.negative, rest));
        break;
      case Rounding::down:
        kept = hn::Add(kept, hn::And(x.negative, rest));
        break;
      case Rounding::toward_zero:
        break;
    }
    if (!is_fixed) is_other = hn::Or(is_other, less(leading, count(s.min_exponent)));
    if (s.rounding != Rounding::toward_zero) {
      const LMask carries = hn::Lt(kept, before);
      kept = hn::IfThenElse(carries, word(std::uint64_t{1} << kTop), kept);
      leading = hn::Sub(leading, as_counts(ones(carries)));
    }
    kept = hn::AndNot(rest, kept);
    is_other = hn::Or(is_other, less(count(s.max_exponent), leading));
    if (s.from_alignment) continue;
    const bool is_raised = is_fixed && subnormals == SubnormalExponent::minimum;
    exponent = is_raised ? count(s.min_exponent) : leading;
  }
  if (!hn::AllTrue(LD(), hn::Or(is_zero, hn::Not(is_other)))) return false;
  const RoundStep& last = steps.step[static_cast<std::size_t>(steps.count - 1)];
  x.exponent = chosen(is_zero, last.from_alignment ? x.exponent : count(last.min_exponent), exponent);
  // Without zeros below the last bit that is kept, if that is the same for all.
  const int zeros =
      last.from_alignment || last.min_exponent > last.max_exponent ? 0 : kTop - std::min(last.fraction_bits, kMostKept);
  x.last = hn::Sub(leading, count(kTop - zeros));
  x.magnitude = long_of<N>(hn::ShiftRightSame(kept, zeros));
  return true;
}

/// Applies rounding steps that words are enough for (LongRounding::words), and tells what becomes infinite; and in
/// `left` where a sum is so far above its alignment that they are not.
template <int N>
HWY_NOINLINE LMask round_word(const RoundSteps& steps, UnderflowSign underflow_sign, SubnormalExponent subnormals,
                              LVI alignment, LongNumber<N>& x, LMask& left) {
  const auto [bits, leading_bits] = leading_of(x.magnitude);
  LV kept = leading_bits;
  LVI leading = hn::Add(x.last, hn::Sub(bits, count(1))), last = x.last;
  LMask infinite = none();
  for (std::size_t i = 0; i < static_cast<std::size_t>(steps.count); ++i) {
    const RoundStep& s = steps.step[i];
    if (i > 0) kept = word_shifted(kept, hn::Sub(count(kWordBits), width_of_word(kept)));
    const LMask is_over = hn::Or(infinite, hn::Eq(kept, word(0)));  // nothing more is done to them
    const LVI least = count(s.min_exponent), most = count(s.max_exponent);
    // A normal number beyond the largest is so however it is rounded.
    LMask large = hn::AndNot(hn::Or(is_over, less(leading, least)), less(most, leading));
    if (s.from_alignment || !hn::AllTrue(LD(), hn::Or(is_over, large))) {
      // Of numbers beyond the largest it does not matter where they are cut.
      const LVI first = s.from_alignment ? alignment : larger(leading, least);
      const LVI last_of_word = hn::Sub(leading, count(kWordBits - 1));
      last = hn::Sub(first, count(s.fraction_bits));
      if (s.from_alignment) left = hn::Or(left, hn::AndNot(is_over, less(last, hn::Add(last_of_word, count(2)))));
      const LVI dropped = smaller(larger(hn::Sub(last, last_of_word), count(0)), count(2 * kWordBits));
      const LV whole = kept, half = word_shifted(word(1), hn::Sub(dropped, count(1)));
      kept = word_shifted(kept, hn::Neg(dropped));
      if (s.rounding != Rounding::toward_zero) {
        const LV is_half = hn::And(whole, half), other = hn::And(whole, hn::Sub(half, word(1)));
        const Dropped rest{hn::Ne(is_half, word(0)), hn::Ne(other, word(0))};
        kept = hn::Sub(kept, ones(rounds_away(s.rounding, x.negative, kept, rest)));
      }
      leading = hn::Add(last, hn::Sub(width_of_word(kept), count(1)));
      LMask vanish = hn::Eq(kept, word(0));
      if (s.subnormals == Subnormals::flushed) vanish = hn::Or(vanish, less(leading, least));
      vanish = hn::AndNot(is_over, vanish);
      kept = hn::IfThenZeroElse(vanish, kept);
      if (underflow_sign == UnderflowSign::positive) x.negative = hn::IfThenZeroElse(vanish, x.negative);
      large = hn::AndNot(hn::Or(is_over, vanish), less(most, leading));
    }
    if (!hn::AllFalse(LD(), large)) {
      const LMask negative = mask_of(x.negative);
      LMask to_infinite = none();
      if (to_infinity(s, true)) to_infinite = hn::And(large, negative);
      if (to_infinity(s, false)) to_infinite = hn::Or(to_infinite, hn::AndNot(negative, large));
      infinite = hn::Or(infinite, to_infinite);
      large = hn::AndNot(to_infinite, large);
      kept = hn::IfThenElse(large, word((std::uint64_t{2} << s.fraction_bits) - 1), kept);
      last = chosen(large, hn::Sub(most, count(s.fraction_bits)), last);
      leading = chosen(large, most, leading);
    }
    if (s.from_alignment) continue;
    LVI own = chosen(hn::Eq(kept, word(0)), least, leading);
    if (subnormals == SubnormalExponent::minimum) own = larger(own, least);
    x.exponent = chosen(is_over, x.exponent, own);
  }
  x.magnitude = long_of<N>(kept);
  x.last = last;
  const RoundStep& s = steps.step[static_cast<std::size_t>(steps.count - 1)];
  if (!s.from_alignment) x.exponent = chosen(hn::Eq(kept, word(0)), count(s.min_exponent), x.exponent);
  return infinite;
}

/// Applies rounding steps, and tells what becomes infinite; and in `left` what becomes a largest number that is longer.
template <int N>
HWY_NOINLINE LMask round(const RoundSteps& steps, UnderflowSign underflow_sign, SubnormalExponent subnormals,
                         LVI alignment, LongNumber<N>& x, LMask& left) {
  LMask infinite = none();
  LVI leading = leading_exponent(x);
  for (const RoundStep& s : steps) {
    const LMask is_over = hn::Or(infinite, is_zero(x.magnitude));  // nothing more is done to them
    const LVI least = count(s.min_exponent), most = count(s.max_exponent);
    LVI first = alignment;
    if (!s.from_alignment) first = larger(smaller(leading, most), least);
    if (round_to_last(hn::Sub(first, count(s.fraction_bits)), s.rounding, x)) leading = leading_exponent(x);
    LMask vanish = is_zero(x.magnitude);
    if (s.subnormals == Subnormals::flushed) vanish = hn::Or(vanish, less(leading, least));
    vanish = hn::AndNot(is_over, vanish);
    x.magnitude = zero_where(vanish, x.magnitude);
    if (underflow_sign == UnderflowSign::positive) x.negative = hn::IfThenZeroElse(vanish, x.negative);
    LMask large = hn::AndNot(hn::Or(is_over, vanish), less(most, leading));
    if (!hn::AllFalse(LD(), large) && s.twos_complement) large = hn::AndNot(are_lowest(s, leading, x), large);
    if (!hn::AllFalse(LD(), large)) {
      const LMask negative = mask_of(x.negative);
      LMask to_infinite = none();
      if (to_infinity(s, true)) to_infinite = hn::And(large, negative);
      if (to_infinity(s, false)) to_infinite = hn::Or(to_infinite, hn::AndNot(negative, large));
      infinite = hn::Or(infinite, to_infinite);
      large = hn::AndNot(to_infinite, large);
      if (s.fraction_bits > most_long_bits(N)) left = hn::Or(left, large);
      if (!hn::AllFalse(LD(), large)) replace_large(s, large, x);
      leading = leading_exponent(x);
    }
    if (s.from_alignment) continue;
    LVI own = chosen(is_zero(x.magnitude), least, leading);
    if (subnormals == SubnormalExponent::minimum) own = larger(own, least);
    x.exponent = chosen(is_over, x.exponent, own);
  }
  if (!steps.empty()) {
    const RoundStep& last = steps.step[static_cast<std::size_t>(steps.count - 1)];
    if (!last.from_alignment) x.exponent = chosen(is_zero(x.magnitude), count(last.min_exponent), x.exponent);
  }
  return infinite;
}

// --- Codes.

bool decode(const OperandRule& rule, bool zeros_align, const std::uint64_t* codes, std::size_t n,
            const LongNumbers& to) {
  const LD d;
  LMask any_special = none();
  for (std::size_t i = 0; i < n; i += kLongLanes) {
    const LongOperand x = take_apart(rule, hn::Load(d, codes + i));
    const LV sign = hn::And(x.negative, word(kLongNegative)), special = hn::And(ones(x.special), word(kLongSpecial));
    hn::Store(hn::Or(hn::IfThenZeroElse(x.special, x.significand), hn::Or(sign, special)), d, to.significand + i);
    hn::Store(x.last, LI(), to.last + i);
    const LMask has_none = zeros_align ? none() : hn::Eq(x.significand, word(0));
    hn::Store(chosen(has_none, count(kLongNone), x.exponent), LI(), to.exponent + i);
    any_special = hn::Or(any_special, x.special);
  }
  return !hn::AllFalse(d, any_special);
}

/// The code of a number of the format.
template <int N>
HWY_INLINE LV code_of(const Format& f, const LongNumber<N>& x, LMask infinite) {
  if (!f.floating) {
    const LV magnitude = low_word_shifted(x.magnitude, x.last);
    return hn::And(hn::Sub(hn::Xor(magnitude, x.negative), x.negative), word(f.code_mask()));
  }
  const std::uint64_t sign = std::uint64_t{1} << (f.storage_bits - 1), hidden = std::uint64_t{1} << f.fraction_bits;
  const LVI leading = leading_exponent(x), least = count(f.min_exponent());
  const LVI up = hn::Sub(x.last, hn::Sub(larger(leading, least), count(f.fraction_bits)));
  const LV units = low_word_shifted(x.magnitude, up);
  const LVI field = chosen(less(leading, least), count(0), hn::Add(leading, count(f.bias)));
  LV magnitude = hn::Or(hn::ShiftLeftSame(as_words(field), f.fraction_bits), hn::And(units, word(hidden - 1)));
  magnitude = hn::IfThenZeroElse(is_zero(x.magnitude), magnitude);
  magnitude = hn::IfThenElse(infinite, word(f.first_non_finite()), magnitude);
  return hn::Or(hn::ShiftLeftSame(magnitude, f.padding_bits), hn::And(x.negative, word(sign)));
}

// --- Sums.

/// A vector's columns of a panel.
template <int N>
class LongColumns {
 public:
  /// `results`: room for a number for each node.
  LongColumns(const LongWork& w, std::size_t column, std::uint64_t* results)
      : w_(w),
        plan_(*w.plan),
        nodes_(w.sums->nodes),
        n_(w.plan->datapath.numerics),
        column_(column),
        results_(results),
        left_(none()) {
    const LongOperand of_c = take_apart(n_.c, hn::Load(LD(), w_.c + column_));
    c_ = {long_of<N>(hn::IfThenZeroElse(of_c.special, of_c.significand)), of_c.last, of_c.exponent, of_c.negative};
    const LMask nan = hn::AndNot(of_c.infinite, of_c.special);
    c_specials_ = {of_c.infinite, nan, nan};
    any_special_ = !hn::AllFalse(LD(), of_c.special);
  }

  void add_node(std::size_t number) {
    LongNumber<N> x;
    Specials specials;  // by reference: what masks are returned in is read sooner than it is written
    sum(nodes_[number], x, specials);
    if (!hn::AllFalse(LD(), specials.any())) {
      any_special_ = true;
      x.magnitude = zero_where(specials.any(), x.magnitude);
    }
    std::uint64_t* const to = results_ + number * kWordsOfResult<N>;
    store(x, to);
    store(specials, to + kWordsOfNumber<N>);
  }

  /// After all nodes; whether some were left.
  bool put_result() {
    const LD d;
    const std::uint64_t* const last = result_of(nodes_.size() - 1);
    const LongNumber<N> x = load<N>(last);
    const Specials specials = load_specials(last + kWordsOfNumber<N>);
    const bool is_word = nodes_.back().rounding.words;
    const Format& result = format(n_.result);
    LV code = is_word ? code_of(result, word_of(x), specials.infinite) : code_of(result, x, specials.infinite);
    code = hn::IfThenElse(specials.nan, nan_codes(specials), code);
    if (!result.floating) left_ = hn::Or(left_, specials.any());
    hn::Store(hn::IfThenElse(left_, hn::Load(d, w_.c + column_), code), d, w_.codes + column_);
    hn::Store(ones(left_), d, w_.left + column_);
    return !hn::AllFalse(d, left_);
  }

 private:
  /// Of a product that is not rounded.
  static constexpr int kProductWords = (N + 1) / 2;
  SubnormalExponent subnormals() const { return n_.c.subnormal_exponent; }
  const std::uint64_t* result_of(std::size_t node) const { return results_ + node * kWordsOfResult<N>; }
  static LV significand(LV x) { return hn::And(x, word(kLongSpecial - 1)); }
  void leave_special(LV x) { left_ = hn::Or(left_, hn::Ne(hn::And(x, word(kLongSpecial)), word(0))); }

  Long<N> multiplied(LV a, LV b) const {
    if (n_.product.operation == ProductOperation::exclusive_or) return long_of<N>(hn::Xor(a, b));
    if constexpr (N > 1) {
      if (plan_.product_bits > kWordBits) return product_of<N>(a, b);
    }
    return long_of<N>(plan_.has_long_operand ? times_short(a, b) : times_low(a, b));
  }

  LongNumber<N> product(int k) {
    const auto kk = static_cast<std::size_t>(k);
    const std::size_t at = kk * kColumns + column_;
    const LV a = word(w_.a.significand[kk]), b = hn::Load(LD(), w_.b.significand + at);
    if (w_.any_special) leave_special(hn::Or(a, b));
    LongNumber<N> x;
    x.magnitude = multiplied(significand(a), significand(b));
    x.negative = as_words(hn::BroadcastSignBit(as_counts(hn::Xor(a, b))));
    x.last = hn::Add(count(w_.a.last[kk]), hn::Load(LI(), w_.b.last + at));
    x.exponent = hn::Add(count(w_.a.exponent[kk]), hn::Load(LI(), w_.b.exponent + at));
    if (n_.product.exponent == ProductExponent::sum && !n_.product.infinite_from && n_.product.round.empty()) return x;
    const LVI leading = leading_exponent(x);
    const LMask vanishes = is_zero(x.magnitude);
    if (n_.product.exponent == ProductExponent::normalised) x.exponent = chosen(vanishes, x.exponent, leading);
    if (n_.product.infinite_from) {
      const LMask large = hn::AndNot(vanishes, less(count(*n_.product.infinite_from - 1), leading));
      add_infinities(large, x.negative);
      x.magnitude = zero_where(large, x.magnitude);
    }
    if (!n_.product.round.empty()) {
      const LMask infinite =
          rounded<kProductWords>(n_.product.round, plan_.product_rounding, UnderflowSign::kept, count(0), x);
      add_infinities(infinite, x.negative);
      x.magnitude = zero_where(infinite, x.magnitude);
    }
    return x;
  }

  /// Applies rounding steps to a number of `kParts` words, and tells what becomes infinite.
  template <int kParts>
  LMask rounded(const RoundSteps& steps, const LongRounding& how, UnderflowSign underflow_sign, LVI alignment,
                LongNumber<N>& x) {
    if (how.ordinary && round_ordinary<kParts>(steps, subnormals(), alignment, x)) return none();
    return how.words ? round_word(steps, underflow_sign, subnormals(), alignment, x, left_)
                     : round(steps, underflow_sign, subnormals(), alignment, x, left_);
  }

  LongNumber<N> term(const Term& t) {
    if (t.kind == Term::Kind::product) return product(t.index);
    return t.kind == Term::Kind::node ? load<N>(result_of(static_cast<std::size_t>(t.index))) : c_;
  }

  /// Terms of the sum that is being added which are infinite.
  void add_infinities(LMask infinite, LV negative) {
    plus_ = hn::Or(plus_, hn::AndNot(mask_of(negative), infinite));
    minus_ = hn::Or(minus_, hn::And(mask_of(negative), infinite));
  }
  /// Those that are no products, and its NaNs.
  void add_specials(const SortedNode& node) {
    for (const Term& t : node.others) {
      const bool is_node = t.kind == Term::Kind::node;
      const Specials x =
          is_node ? load_specials(result_of(static_cast<std::size_t>(t.index)) + kWordsOfNumber<N>) : c_specials_;
      add_infinities(x.infinite, term(t).negative);
      // The first of several, as all but operands' rank as c does.
      nan_of_c_ = hn::Or(nan_of_c_, hn::AndNot(nan_, x.of_c));
      nan_ = hn::Or(nan_, x.nan);
    }
  }
  /// What NaN a NaN is, where no operand of A and B is one: c's, made quiet, or a new one.
  LV nan_codes(const Specials& x) const {
    const LV of_sums = word(n_.nan.code);
    const bool c_has_nans = format(n_.c.format).non_finite != NonFinite::none;
    if (!n_.nan.propagate || n_.c.format != n_.result || !c_has_nans) return of_sums;
    const LV quiet = hn::Or(hn::Load(LD(), w_.c + column_), word(nan_code(format(n_.c.format))));
    return hn::IfThenElse(x.of_c, quiet, of_sums);
  }

  /// What a sum becomes, whose finite terms became infinite where `overflows`.
  Specials specials_of_sum(const Unit& unit, LMask overflows, LMask of_zero_scales, LongNumber<N>& total) {
    Specials x{hn::Or(plus_, minus_), hn::Or(nan_, hn::And(plus_, minus_)), nan_of_c_};
    const LMask finite = hn::Not(x.any());
    if (hn::AllTrue(LD(), finite)) return {overflows, none(), none()};
    if (unit.scaled) x.nan = hn::Or(x.nan, hn::And(x.infinite, of_zero_scales));
    x.infinite = hn::AndNot(x.nan, x.infinite);
    total.negative = hn::IfThenElse(x.infinite, ones(minus_), total.negative);
    x.infinite = hn::Or(x.infinite, hn::And(finite, overflows));
    return x;
  }

  const Unit& unit_of(const Term& node) const {
    return n_.units[static_cast<std::size_t>(nodes_[static_cast<std::size_t>(node.index)].node.unit)];
  }

  /// The exponent that a term takes into its sum's alignment. A sum that is aligned by its scales alone may be zero and
  /// take part: those that take none have exponents that are kLongNone lower.
  LVI aligning_exponent(const ZeroExponent& rule, const Term& t, const LongNumber<N>& x) const {
    LMask takes_no_part = is_zero(x.magnitude);
    LVI natural = x.exponent;
    if (t.kind == Term::Kind::node && unit_of(t).scale_exponents_alone) {
      takes_no_part = less(x.exponent, count(kLongNone / 2));
      natural = chosen(takes_no_part, hn::Sub(x.exponent, count(kLongNone)), x.exponent);
    }
    if (rule.kind == ZeroExponentKind::natural) return natural;
    const LVI of_zero = count(rule.kind == ZeroExponentKind::zeros ? rule.value : kLongNone);
    return chosen(takes_no_part, of_zero, x.exponent);
  }

  /// Leaves sums that are no less than 2^end times the unit 2^last.
  void leave_large(LVI last, int end, const LongNumber<N>& x) {
    const LVI beyond = hn::Add(last, count(end));
    left_ = hn::Or(left_, hn::AndNot(is_zero(x.magnitude), less(hn::Sub(beyond, count(1)), leading_exponent(x))));
  }

  /// The sum of a node's terms, and what of it is none.
  void sum(const LongNode& of, LongNumber<N>& total, Specials& specials) {
    const SortedNode& node = of.node;
    const Unit& unit = n_.units[static_cast<std::size_t>(node.unit)];
    plus_ = minus_ = nan_ = nan_of_c_ = none();
    if (any_special_) add_specials(node);
    const LVI alignment = of.is_plain ? add_plain(of, unit, total) : add_any(node, unit, total);
    total.negative = ones(top_bit(total.magnitude.at[N - 1]));
    total.magnitude = negated(total.negative, total.magnitude);
    const LMask vanishes = is_zero(total.magnitude);
    if (!hn::AllFalse(LD(), vanishes))
      total.negative = hn::IfThenElse(vanishes, sign_of_zero(node, unit), total.negative);
    total.exponent = chosen(less(alignment, count(kLongNone / 2)), count(0), alignment);
    if (unit.scale_exponents_alone) total.exponent = count(0);
    LMask of_zero_scales = none();
    if (unit.scaled) of_zero_scales = scale(static_cast<std::size_t>(node.terms.front().index), total);
    if (unit.scale_exponents_alone) {
      const LMask takes_no_part = hn::Or(all_are_zero(node), of_zero_scales);
      total.exponent = chosen(takes_no_part, hn::Add(total.exponent, count(kLongNone)), total.exponent);
    }
    const LMask overflows = rounded<N>(unit.result, of.rounding, unit.underflow_sign, total.exponent, total);
    specials = specials_of_sum(unit, overflows, of_zero_scales, total);
  }

  /// Of a sum that is zero.
  LV sign_of_zero(const SortedNode& node, const Unit& unit) {
    if (unit.zero_sign == ZeroSign::positive) return word(0);
    LV all = word(~std::uint64_t{0}), any = word(0);
    for (const Term& t : node.terms) {
      const LV negative = term(t).negative;
      all = hn::And(all, negative);
      any = hn::Or(any, negative);
    }
    return zero_is_negative(unit, false, true) ? any : all;
  }

  LMask all_are_zero(const SortedNode& node) {
    LMask all = hn::Not(none());
    for (const Term& t : node.terms) all = hn::And(all, is_zero(term(t).magnitude));
    return all;
  }

  /// Bits of a sum of `terms` numbers that have no more than these, with room for scales.
  int room_of(std::size_t terms) const {
    const int scale_bits = plan_.scales_sums ? kLongScaleBits : 0;
    return N * kWordBits - 1 - scale_bits - bit_width(static_cast<std::uint64_t>(terms));
  }
  static LVI least_alignment(const Unit& unit) {
    return count(unit.zero_exponent.kind == ZeroExponentKind::floor ? unit.zero_exponent.value : kLongNone);
  }

  /// Adds a number of `kParts` words, of which bits below the sum's last are cut as the unit says.
  template <int kParts>
  static HWY_INLINE void add_cut(const Unit& unit, const Long<N>& x, LV negative, LVI up, Long<N>& sum) {
    const Long<N> kept = long_placed<N, kParts, false>(x, up);
    LV away = word(0);
    if (unit.align_rounding != Rounding::toward_zero) {
      const Dropped dropped = dropped_below<kParts>(x, larger(hn::Neg(up), count(0)));
      away = ones(rounds_away(unit.align_rounding, negative, kept.at[0], dropped));
    }
    add(kept, negative, away, sum);
  }
  /// The same of a sum that is exact: where bits would be cut, it is left.
  template <int kParts>
  HWY_INLINE void add_or_leave(const Long<N>& x, LV negative, LVI up, Long<N>& sum) {
    LV lost;
    const Long<N> kept = long_shifted<N, kParts>(x, up, lost);
    left_ = hn::Or(left_, hn::Ne(lost, word(0)));
    add(kept, negative, sum);
  }

  /// The exponent that a product takes into its sum's alignment, which has that one by its operands. Where it is
  /// infinite, `large` says so.
  LVI looked_at(const ZeroExponent& zero, std::size_t k, LVI exponent, LMask& large) const {
    const LV a = word(w_.a.significand[k]), b = hn::Load(LD(), w_.b.significand + k * kColumns + column_);
    const Long<kProductWords> x = cut_to<kProductWords>(multiplied(significand(a), significand(b)));
    const LMask vanishes = is_zero(x);
    const bool is_normalised = n_.product.exponent == ProductExponent::normalised;
    LVI own = exponent;
    if (is_normalised || n_.product.infinite_from) {
      const LVI last = hn::Add(count(w_.a.last[k]), hn::Load(LI(), w_.b.last + k * kColumns + column_));
      const LVI leading = hn::Add(last, hn::Sub(width(x), count(1)));
      if (is_normalised) own = chosen(vanishes, exponent, leading);
      if (n_.product.infinite_from)
        large = hn::Or(large, hn::AndNot(vanishes, less(count(*n_.product.infinite_from - 1), leading)));
    }
    if (zero.kind == ZeroExponentKind::natural) return own;
    return chosen(vanishes, count(zero.kind == ZeroExponentKind::zeros ? zero.value : kLongNone), own);
  }

  /// A sum in two's complement, and what it is aligned with, of products that are added as they are.
  LVI add_plain(const LongNode& of, const Unit& unit, LongNumber<N>& total) {
    const SortedNode& node = of.node;
    // Where nothing is cut, or far down, all that fits below the largest is kept.
    const int room = room_of(node.terms.size());
    const bool keeps_all = unit.fraction_bits > room - kLongHeadroom;
    LVI alignment = least_alignment(unit);
    LV lowest = word(kNoLowest);
    LMask large = none();
    if (of.wants_alignment) {
      for (const int k : node.products) {
        const auto kk = static_cast<std::size_t>(k);
        const LVI b = hn::Load(LI(), w_.b.exponent + kk * kColumns + column_);
        const LVI exponent = hn::Add(count(w_.a.exponent[kk]), b);
        if (keeps_all) lowest = hn::Min(lowest, as_words(hn::Add(exponent, count(kToCount))));
        const LVI own = plan_.looks_at_products ? looked_at(unit.zero_exponent, kk, exponent, large) : exponent;
        alignment = larger(alignment, own);
      }
      if (!hn::AllFalse(LD(), large)) return add_any(node, unit, total);
      for (const Term& t : node.others)
        alignment = larger(alignment, aligning_exponent(unit.zero_exponent, t, term(t)));
    }
    const int bits = keeps_all ? room - kLongHeadroom : unit.fraction_bits;
    total.last = of.last ? count(*of.last) : hn::Sub(alignment, count(bits));
    total.magnitude = long_of<N>(word(0));
    Below below = of.last ? Below::nothing : keeps_all ? Below::left : Below::rounded;
    if (!of.last && keeps_all) {
      const LVI last_of_lowest = hn::Sub(as_counts(lowest), count(kToCount + plan_.product_fraction_bits));
      LMask loses = less(last_of_lowest, total.last);
      for (const Term& t : node.others) {
        const LongNumber<N> x = term(t);
        loses = hn::Or(loses, hn::AndNot(is_zero(x.magnitude), less(x.last, total.last)));
      }
      if (hn::AllFalse(LD(), loses)) below = Below::nothing;
    } else if (!of.last && unit.align_rounding == Rounding::toward_zero) {
      below = Below::cut;
    }
    for (const Term& t : node.others) {
      if (!of.last && of.others_may_be_large) leave_large(total.last, room, term(t));
    }
    if (below == Below::nothing)
      add_terms<Below::nothing>(of, unit, alignment, total);
    else if (below == Below::cut)
      add_terms<Below::cut>(of, unit, alignment, total);
    else if (below == Below::rounded)
      add_terms<Below::rounded>(of, unit, alignment, total);
    else
      add_terms<Below::left>(of, unit, alignment, total);
    if (w_.any_special) leave_special_products(node);
    return alignment;
  }

  /// Exponents of products become counts by this, but those of zeros huge words.
  static constexpr std::int64_t kToCount = std::int64_t{1} << 24;
  static constexpr std::uint64_t kNoLowest = std::uint64_t{1} << 32;
  static_assert(kLongNone + kToCount < 0);

  /// What terms of a plain sum have below its last bit.
  enum class Below : std::uint8_t { nothing, cut, rounded, left };
  template <Below kBelow>
  HWY_INLINE void add_terms(const LongNode& of, const Unit& unit, LVI alignment, LongNumber<N>& total) {
    const LVI to_last = hn::Neg(total.last);
    const Term& first = of.node.terms.front();
    LongSum<N> sum;
    const auto add_one = [&]<int kParts, bool kUp>(const Long<N>& x, LV negative, LVI last) HWY_ATTR {
      const LVI up = hn::Add(last, to_last);
      if constexpr (kBelow == Below::left)
        add_or_leave<kParts>(x, negative, up, total.magnitude);
      else if constexpr (kBelow == Below::rounded)
        add_cut<kParts>(unit, x, negative, up, total.magnitude);
      else
        sum.add(long_placed<N, kParts, kUp>(x, up), negative);
    };
    for (const int k : of.node.products) {
      const auto kk = static_cast<std::size_t>(k);
      const std::size_t at = kk * kColumns + column_;
      const LV a = word(w_.a.significand[kk]), b = hn::Load(LD(), w_.b.significand + at);
      LongNumber<N> x;
      x.last = hn::Add(count(w_.a.last[kk]), hn::Load(LI(), w_.b.last + at));
      x.negative = as_words(hn::BroadcastSignBit(as_counts(hn::Xor(a, b))));
      x.magnitude = multiplied(significand(a), significand(b));
      if (unit.drop_below) {
        x.exponent = n_.product.exponent == ProductExponent::normalised
                         ? hn::Add(x.last, hn::Sub(width(cut_to<kProductWords>(x.magnitude)), count(1)))
                         : hn::Add(count(w_.a.exponent[kk]), hn::Load(LI(), w_.b.exponent + at));
        drop_far(unit, first.kind != Term::Kind::product || first.index != k, alignment, x);
      }
      add_one.template operator()<kProductWords, kBelow == Below::nothing>(x.magnitude, x.negative, x.last);
    }
    // The others' last bits may be far below what they are multiples of.
    for (const Term& t : of.node.others) {
      LongNumber<N> x = term(t);
      drop_far(unit, t != first, alignment, x);
      if (is_word(t))
        add_one.template operator()<1, false>(x.magnitude, x.negative, x.last);
      else
        add_one.template operator()<N, false>(x.magnitude, x.negative, x.last);
    }
    if constexpr (kBelow == Below::nothing || kBelow == Below::cut) total.magnitude = sum.total();
  }
  /// Whether a term that is no product has one word.
  bool is_word(const Term& t) const {
    return t.kind == Term::Kind::accumulator || nodes_[static_cast<std::size_t>(t.index)].rounding.words;
  }
  void leave_special_products(const SortedNode& node) {
    LV any = word(0);
    for (const int k : node.products) {
      const auto kk = static_cast<std::size_t>(k);
      any = hn::Or(any, hn::Or(word(w_.a.significand[kk]), hn::Load(LD(), w_.b.significand + kk * kColumns + column_)));
    }
    leave_special(any);
  }

  /// The same of any terms.
  LVI add_any(const SortedNode& node, const Unit& unit, LongNumber<N>& total) {
    const std::size_t terms = node.terms.size();
    LVI alignment = least_alignment(unit);
    for (std::size_t i = 0; i < terms; ++i) {
      const LongNumber<N> x = term(node.terms[i]);
      store(x, w_.terms + i * kWordsOfNumber<N>);
      alignment = larger(alignment, aligning_exponent(unit.zero_exponent, node.terms[i], x));
    }
    const int first_bits = unit.first_fraction_bits.value_or(unit.fraction_bits), room = room_of(terms);
    const int most_bits = std::max(unit.fraction_bits, first_bits);
    const bool cuts_all = most_bits <= room - kLongHeadroom;
    if (cuts_all)
      total.last = hn::Sub(alignment, count(most_bits));
    else
      total.last = last_of_all(unit, first_bits, terms, alignment, room);
    total.magnitude = long_of<N>(word(0));
    for (std::size_t i = 0; i < terms; ++i) {
      const Term& t = node.terms[i];
      LongNumber<N> x = load<N>(w_.terms + i * kWordsOfNumber<N>);
      const int bits = i == 0 ? first_bits : unit.fraction_bits;
      if (cuts_all) {
        // Products' bits are known (words_of()).
        const bool is_known = t.kind == Term::Kind::product && n_.product.round.empty();
        if (!is_known) leave_large(total.last, room, x);
        if (bits == most_bits)
          drop_far(unit, i > 0, alignment, x);
        else
          cut(unit, bits, i > 0, alignment, x);
      }
      const LVI up = hn::Sub(x.last, total.last);
      with_words_of(t, [&]<int kParts>() HWY_ATTR {
        if (cuts_all && bits == most_bits)
          add_cut<kParts>(unit, x.magnitude, x.negative, up, total.magnitude);
        else
          add(long_placed<N, kParts, true>(x.magnitude, larger(up, count(0))), x.negative, total.magnitude);
      });
    }
    return alignment;
  }

  /// Calls with how many words the magnitude of a term may have.
  template <class With>
  void with_words_of(const Term& t, const With& with) const {
    const bool is_product = t.kind == Term::Kind::product;
    if (is_product ? plan_.product_rounding.words : is_word(t)) return with.template operator()<1>();
    if (is_product && n_.product.round.empty()) return with.template operator()<kProductWords>();
    with.template operator()<N>();
  }

  /// Leaves a term out that is not the first, if it is so far below the alignment that the unit drops it.
  static void drop_far(const Unit& unit, bool may_drop, LVI alignment, LongNumber<N>& x) {
    if (!may_drop || !unit.drop_below) return;
    const LMask is_far = less(x.exponent, hn::Sub(alignment, count(*unit.drop_below)));
    x.magnitude = zero_where(is_far, x.magnitude);
  }
  /// What a unit leaves of a term, which may be dropped if it is not the first.
  static void cut(const Unit& unit, int bits, bool may_drop, LVI alignment, LongNumber<N>& x) {
    drop_far(unit, may_drop, alignment, x);
    if (bits != kExact) round_to_last(hn::Sub(alignment, count(bits)), unit.align_rounding, x);
  }

  /// Cuts terms in memory, of which some are exact, and tells the last bit of all; leaves sums of more than `room`
  /// bits.
  LVI last_of_all(const Unit& unit, int first_bits, std::size_t terms, LVI alignment, int room) {
    constexpr std::int64_t kFar = 1 << 28;
    LVI lowest = count(kFar), highest = count(-kFar);
    for (std::size_t i = 0; i < terms; ++i) {
      std::uint64_t* const at = w_.terms + i * kWordsOfNumber<N>;
      LongNumber<N> x = load<N>(at);
      cut(unit, i == 0 ? first_bits : unit.fraction_bits, i > 0, alignment, x);
      store(x, at);
      const LMask vanishes = is_zero(x.magnitude);
      lowest = chosen(vanishes, lowest, smaller(lowest, x.last));
      highest = chosen(vanishes, highest, larger(highest, leading_exponent(x)));
    }
    left_ = hn::Or(left_, less(count(room - 1), hn::Sub(highest, lowest)));
    return lowest;
  }

  /// Multiplies a sum by the scales of its first product's block, and tells where one of these is zero.
  LMask scale(std::size_t k, LongNumber<N>& x) {
    const std::size_t block = k / static_cast<std::size_t>(n_.scales->block_k), at = block * kColumns + column_;
    const LV a = word(w_.a_scale.significand[block]), b = hn::Load(LD(), w_.b_scale.significand + at);
    leave_special(hn::Or(a, b));
    const LV both = times_low(significand(a), significand(b));
    x.magnitude = times(x.magnitude, both);
    x.last = hn::Add(x.last, hn::Add(count(w_.a_scale.last[block]), hn::Load(LI(), w_.b_scale.last + at)));
    x.exponent =
        hn::Add(x.exponent, hn::Add(count(w_.a_scale.exponent[block]), hn::Load(LI(), w_.b_scale.exponent + at)));
    return hn::Eq(both, word(0));
  }

  const LongWork& w_;
  const LongPlan& plan_;
  const std::vector<LongNode>& nodes_;
  const Numerics& n_;
  std::size_t column_;
  std::uint64_t* results_;
  LongNumber<N> c_;
  Specials c_specials_;
  LMask left_, plus_, minus_, nan_, nan_of_c_;
  bool any_special_;  ///< c, or a result so far
};

/// Vectors that go through the nodes side by side, one's sums while another's wait for theirs.
constexpr std::size_t kAtOnce = 4;

template <int N>
bool run_columns(const LongWork& w) {
  bool any_left = false;
  const std::size_t nodes = w.sums->nodes.size(), of_vector = nodes * kWordsOfResult<N>;
  for (std::size_t column = 0; column < kColumns; column += kAtOnce * kLongLanes) {
    const auto of = [&](std::size_t i)
                        HWY_ATTR { return LongColumns<N>(w, column + i * kLongLanes, w.results + i * of_vector); };
    LongColumns<N> columns[kAtOnce] = {of(0), of(1), of(2), of(3)};
    for (std::size_t number = 0; number < nodes; ++number) {
      for (LongColumns<N>& each : columns) each.add_node(number);
    }
    for (LongColumns<N>& each : columns) any_left |= each.put_result();
  }
  return any_left;
}
static_assert(kColumns % (kAtOnce * kLongLanes) == 0);

bool run(const LongWork& w) {
  switch (w.sums->words) {
    case 1:
      return run_columns<1>(w);
    case 2:
      return run_columns<2>(w);
    case 3:
      return run_columns<3>(w);
    default:
      return run_columns<kMostLongWords>(w);
  }
}

std::size_t room(std::size_t numbers) { return numbers * kAtOnce * kWordsOfResult<kMostLongWords>; }

const LongKernels* long_kernels_of_target() {
  static const LongKernels kKernels = {hwy::TargetName(HWY_TARGET), decode, run, room};
  return &kKernels;
}

#else

const LongKernels* long_kernels_of_target() { return nullptr; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcnum::panels {

HWY_EXPORT(long_kernels_of_target);

const LongKernels* long_kernels() { return HWY_DYNAMIC_DISPATCH(long_kernels_of_target)(); }

}  // namespace tcnum::panels
#endif
