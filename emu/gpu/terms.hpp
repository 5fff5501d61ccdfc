// Any dot problem that 128 bits hold, one at a time and term by term: for datapaths that have no faster evaluator. The
// rules are those of exact.cpp.
#pragma once

#include "dot_product.hpp"
#include "emu/multiword_sum.hpp"
#include "emu/value128.hpp"

namespace tcnum::gpu {

/// Bits from the lowest of an exact sum's terms to the highest, at most: gpu/requirements.cpp bounds their exponents.
inline constexpr int kMostTermExponent = 2500, kMostTermSpan = 6000;

/// Codes of a's row and b's column, by places: a[place · a_pitch] is one.
template <class Code>
class TermsEvaluation {
 public:
  using Kind = Value128::Kind;

  TCNUM_HOST_DEVICE TermsEvaluation(const GpuDatapath& d, const Code* a, int a_pitch, const Code* b, int b_pitch,
                                    std::uint64_t c)
      : d_(d), a_(a), a_pitch_(a_pitch), b_(b), b_pitch_(b_pitch), c_(operand(d.c, d.c_rule, c, NanOperand::c)) {}

  TCNUM_HOST_DEVICE std::uint64_t operator()() {
    for (int number = 0; number < d_.nodes; ++number) results_[number] = sum(d_.node[number]);
    const Value128& v = results_[d_.nodes - 1];
    if (v.kind == Kind::nan) return v.payload;
    return pack(d_.result, Rounded<uint128>{v.magnitude, v.lsb, v.exponent, v.negative, v.kind == Kind::infinity});
  }

 private:
  TCNUM_HOST_DEVICE int rank(NanOperand which) const {
    int rank = 0;
    while (d_.nan.order[static_cast<std::size_t>(rank)] != which) ++rank;
    return rank;
  }
  TCNUM_HOST_DEVICE static Value128 nan(std::uint64_t payload, int rank) {
    Value128 v;
    v.kind = Kind::nan;
    v.payload = payload;
    v.rank = rank;
    return v;
  }
  /// A NaN that no operand brought ranks behind all that one did.
  TCNUM_HOST_DEVICE Value128 generated_nan() const { return nan(d_.nan.code, static_cast<int>(d_.nan.order.size())); }

  TCNUM_HOST_DEVICE static int leading(const Value128& v) { return bit_width(v.magnitude) - 1 + v.lsb; }

  TCNUM_HOST_DEVICE Value128 operand(const Format& f, const OperandRule& rule, std::uint64_t code,
                                     NanOperand which) const {
    const Decoded x = decode(f, code);
    if (x.number_class == NumberClass::nan) {
      const bool keeps = d_.nan.propagate && f.id == d_.result.id;
      return nan(keeps ? code | d_.quiet : d_.nan.code, rank(which));
    }
    Value128 v;
    v.negative = x.negative;
    v.exponent = x.exponent;
    v.lsb = x.exponent - f.fraction_bits;
    const bool subnormal = x.number_class == NumberClass::subnormal;
    if (x.number_class == NumberClass::infinity)
      v.kind = Kind::infinity;
    else if (!subnormal || rule.subnormals == Subnormals::kept)
      v.magnitude = x.significand;
    if (subnormal && v.magnitude != 0 && rule.subnormal_exponent == SubnormalExponent::normalised)
      v.exponent = leading(v);
    return v;
  }

  TCNUM_HOST_DEVICE Value128 product(int place) const {
    const Value128 x = operand(d_.a, d_.a_rule, a_[place * a_pitch_], NanOperand::a);
    const Value128 y = operand(d_.b, d_.b_rule, b_[place * b_pitch_], NanOperand::b);
    if (x.kind == Kind::nan || y.kind == Kind::nan) {
      if (x.kind != Kind::nan) return y;
      return y.kind == Kind::nan && y.rank < x.rank ? y : x;
    }
    Value128 v;
    v.negative = x.negative != y.negative;
    v.exponent = x.exponent + y.exponent;
    if (x.kind == Kind::infinity || y.kind == Kind::infinity) {
      if (x.is_zero() || y.is_zero()) return generated_nan();
      v.kind = Kind::infinity;
      return v;
    }
    const bool differ = d_.product.operation == ProductOperation::exclusive_or;
    v.magnitude = differ ? x.magnitude ^ y.magnitude : x.magnitude * y.magnitude;
    if (v.magnitude != 0) {
      v.lsb = x.lsb + y.lsb;
      if (d_.product.exponent == ProductExponent::normalised) v.exponent = leading(v);
      if (d_.product.infinite_from && leading(v) >= *d_.product.infinite_from) v.kind = Kind::infinity;
    }
    if (v.kind == Kind::finite && !d_.product.round.empty())
      round(d_.product.round, 0, UnderflowSign::kept, Rounded<uint128>{v.magnitude, v.lsb, v.exponent, v.negative}, v);
    return v;
  }

  TCNUM_HOST_DEVICE void round(const RoundSteps& steps, int alignment, UnderflowSign underflow_sign, Rounded<uint128> r,
                               Value128& v) const {
    unsigned consulted = 0;
    apply_steps<false>(r, steps, alignment, underflow_sign, d_.c_rule.subnormal_exponent == SubnormalExponent::minimum,
                       consulted);
    v.kind = r.infinite ? Kind::infinity : Kind::finite;
    v.negative = r.negative;
    v.magnitude = r.magnitude;
    v.lsb = r.lsb;
    v.exponent = r.exponent;
  }

  TCNUM_HOST_DEVICE Value128 other(const GpuNode& node, int which) const {
    if (node.others[which] == GpuNode::kAccumulator) return c_;
    Value128 v = results_[node.others[which]];
    if (v.kind == Kind::nan) v.rank = rank(NanOperand::c);
    return v;
  }
  /// Calls with each term, and whether it is the first.
  template <class Each>
  TCNUM_HOST_DEVICE void each_term(const GpuNode& node, const Each& each) const {
    if (node.other_is_first) each(other(node, 0), true);
    for (int p = 0; p < node.count; ++p) each(product(node.first + p), p == 0 && !node.other_is_first);
    for (int i = node.other_is_first ? 1 : 0; i < GpuNode::kMostOthers; ++i) {
      if (node.others[i] != GpuNode::kNone) each(other(node, i), node.count == 0 && i == 0);
    }
  }

  /// What a sum's terms have in common.
  struct Survey {
    Value128 nan;
    bool positive_infinity = false, negative_infinity = false;
    bool all_negative = true, any_negative = false, any_zero = false;  // of the finite ones
    int highest = 2 * kNotAligned32;

    TCNUM_HOST_DEVICE void add(const Value128& v, bool natural_zeros) {
      if (v.kind == Kind::nan) {
        if (nan.kind != Kind::nan || v.rank < nan.rank) nan = v;
        return;
      }
      if (v.kind == Kind::infinity) {
        (v.negative ? negative_infinity : positive_infinity) = true;
        return;
      }
      all_negative = all_negative && v.negative;
      any_negative = any_negative || v.negative;
      if (v.magnitude == 0) any_zero = true;
      if ((v.magnitude != 0 || natural_zeros) && v.exponent > highest) highest = v.exponent;
    }
  };

  /// What is left of a term.
  TCNUM_HOST_DEVICE static void cut(const Unit& unit, int alignment, bool first, Value128& v) {
    if (!first && unit.drop_below && v.exponent < alignment - *unit.drop_below) v.magnitude = 0;
    const int bits = first && unit.first_fraction_bits ? *unit.first_fraction_bits : unit.fraction_bits;
    if (v.magnitude == 0 || bits == kExact || v.lsb >= alignment - bits) return;
    v.magnitude = round_right(v.magnitude, alignment - bits - v.lsb, v.negative, unit.align_rounding);
    v.lsb = alignment - bits;
  }

  TCNUM_HOST_DEVICE Rounded<uint128> cut_and_add(const GpuNode& node, const Unit& unit, int alignment) const {
    const auto each_cut = [&](const auto& each) {
      each_term(node, [&](Value128 v, bool first) {
        cut(unit, alignment, first, v);
        if (v.magnitude != 0) each(v);
      });
    };
    constexpr int kFar = 1 << 28, kCarryBits = 12, kSumBits = 126;
    int lowest = kFar, highest = -kFar;
    each_cut([&](const Value128& v) {
      lowest = v.lsb < lowest ? v.lsb : lowest;
      highest = leading(v) + 1 > highest ? leading(v) + 1 : highest;
    });
    if (highest < lowest) return {0, 0, 0, false};
    if (highest - lowest + kCarryBits < kSumBits) {
      int128 sum = 0;
      each_cut([&](const Value128& v) {
        const auto x = static_cast<int128>(v.magnitude << (v.lsb - lowest));
        sum += v.negative ? -x : x;
      });
      return {static_cast<uint128>(sum < 0 ? -sum : sum), lowest, 0, sum < 0};
    }
    return add_far_apart(lowest, highest - lowest + kCarryBits, each_cut);
  }
  template <class EachCut>
  TCNUM_HOST_DEVICE TCNUM_NOINLINE static Rounded<uint128> add_far_apart(int lsb, int span, const EachCut& each_cut) {
    MultiwordSum<kMostTermSpan> sum(lsb, span);
    each_cut([&](const Value128& v) { sum.add(v.negative, v.magnitude, v.lsb); });
    return sum.value();
  }

  TCNUM_HOST_DEVICE Value128 sum(const GpuNode& node) const {
    const Unit& unit = d_.units[node.unit];
    Survey survey;
    each_term(node,
              [&](const Value128& v, bool) { survey.add(v, unit.zero_exponent.kind == ZeroExponentKind::natural); });
    Value128 result;
    if (survey.nan.kind == Kind::nan) return survey.nan;
    if (survey.positive_infinity && survey.negative_infinity) return generated_nan();
    if (survey.positive_infinity || survey.negative_infinity) {
      result.kind = Kind::infinity;
      result.negative = survey.negative_infinity;
      return result;
    }
    const int alignment = alignment_of(unit, survey.highest, survey.any_zero);
    Rounded<uint128> r = cut_and_add(node, unit, alignment);
    r.exponent = alignment;
    if (r.magnitude == 0) {
      r.lsb = 0;
      if (alignment <= kNotAligned32 / 2) r.exponent = 0;  // nothing took part
      r.negative = zero_is_negative(unit, survey.all_negative, survey.any_negative);
    }
    round(unit.result, alignment, unit.underflow_sign, r, result);
    return result;
  }

  const GpuDatapath& d_;
  const Code* a_;
  int a_pitch_;
  const Code* b_;
  int b_pitch_;
  Value128 c_;
  Value128 results_[GpuDatapath::kMostNodes];
};

template <class Code>
TCNUM_HOST_DEVICE std::uint64_t terms_dot(const GpuDatapath& d, const Code* a, int a_pitch, const Code* b, int b_pitch,
                                          std::uint64_t c) {
  return TermsEvaluation<Code>(d, a, a_pitch, b, b_pitch, c)();
}

}  // namespace tcnum::gpu
