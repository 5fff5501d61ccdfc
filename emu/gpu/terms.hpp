// Any dot problem that 128 bits hold, one at a time and term by term: for datapaths that have no faster evaluator, and
// for what patches leave over. The rules are those of exact.cpp.
#pragma once

#include "dot_product.hpp"
#include "emu/terms.hpp"

namespace tcnum::gpu {

/// Bits from the lowest of an exact sum's terms to the highest, at most: gpu/requirements.cpp bounds their exponents.
inline constexpr int kMostTermExponent = 2500, kMostTermSpan = 6000;

/// What a code of an operand is.
TCNUM_HOST_DEVICE inline Value128 operand_value(const GpuDatapath& d, const Format& f, const OperandRule& rule,
                                                std::uint64_t code, NanOperand which) {
  const Decoded x = decode(f, code);
  if (x.number_class == NumberClass::nan) {
    const bool keeps = d.nan.propagate && f.id == d.result.id;
    return nan_value(keeps ? code | d.quiet : d.nan.code, nan_rank(d.nan, which));
  }
  Value128 v;
  v.negative = x.negative;
  v.exponent = x.exponent;
  v.lsb = x.exponent - f.fraction_bits;
  const bool subnormal = x.number_class == NumberClass::subnormal;
  if (x.number_class == NumberClass::infinity)
    v.kind = Value128::Kind::infinity;
  else if (!subnormal || rule.subnormals == Subnormals::kept)
    v.magnitude = x.significand;
  if (subnormal && v.magnitude != 0 && rule.subnormal_exponent == SubnormalExponent::normalised)
    v.exponent = leading(v);
  return v;
}

/// The operands of an element: codes of a's row and b's column, by places: a[place · a_pitch] is one.
template <class Code>
struct OperandCodes {
  const Code* codes_of_a;
  int a_pitch;
  const Code* codes_of_b;
  int b_pitch;

  TCNUM_HOST_DEVICE Value128 a(const GpuDatapath& d, int place) const {
    return operand_value(d, d.a, d.a_rule, codes_of_a[place * a_pitch], NanOperand::a);
  }
  TCNUM_HOST_DEVICE Value128 b(const GpuDatapath& d, int place) const {
    return operand_value(d, d.b, d.b_rule, codes_of_b[place * b_pitch], NanOperand::b);
  }
};

/// Or as patches have them: numbers, maybe scaled, of which no NaN keeps its payload, and no zero takes part in an
/// alignment.
struct OperandsOfSides {
  const SideA& side_a;
  int row;
  const SideB& side_b;
  int column;

  TCNUM_HOST_DEVICE Value128 a(const GpuDatapath& d, int place) const { return number(d, side_a, place, row); }
  TCNUM_HOST_DEVICE Value128 b(const GpuDatapath& d, int place) const { return number(d, side_b, place, column); }

 private:
  template <bool kIsA>
  TCNUM_HOST_DEVICE static Value128 number(const GpuDatapath& d, const Side<kIsA>& side, int place, int line) {
    const std::uint32_t high = high_word(side.value[Side<kIsA>::value_at(place, line)]);
    const bool is_special = side.is_special(place, line), is_zero = side.is_zero(place, line);
    if (is_special && is_zero) return nan_value(d.nan.code, nan_rank(d.nan, kIsA ? NanOperand::a : NanOperand::b));
    Value128 v;
    v.negative = (high & kSignBit) != 0;
    if (is_special) v.kind = Value128::Kind::infinity;
    if (is_special || is_zero) return v;
    constexpr std::uint32_t kHidden = 1u << kHighFraction;
    v.magnitude = (high & (kHidden - 1)) | kHidden;
    v.lsb = static_cast<int>(high >> kHighFraction & 0x7ff) - kBias - kHighFraction;
    v.exponent = side.exponent_at(place, line);
    return v;
  }
};

template <class Operands>
class TermsEvaluation {
 public:
  using Kind = Value128::Kind;

  TCNUM_HOST_DEVICE TermsEvaluation(const GpuDatapath& d, const Operands& operands, std::uint64_t c)
      : d_(d), operands_(operands), c_(operand_value(d, d.c, d.c_rule, c, NanOperand::c)) {}

  TCNUM_HOST_DEVICE std::uint64_t operator()() {
    for (int number = 0; number < d_.nodes; ++number) results_[number] = sum(d_.node[number]);
    const Value128& v = results_[d_.nodes - 1];
    if (v.kind == Kind::nan) return v.payload;
    return pack(d_.result, Rounded<uint128>{v.magnitude, v.lsb, v.exponent, v.negative, v.kind == Kind::infinity});
  }

 private:
  TCNUM_HOST_DEVICE Value128 product(int place) const {
    Value128 v = multiply(operands_.a(d_, place), operands_.b(d_, place), d_.product.operation, d_.nan);
    limit(d_.product, v);
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
    if (v.kind == Kind::nan) v.rank = nan_rank(d_.nan, NanOperand::c);
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

  TCNUM_HOST_DEVICE Rounded<uint128> cut_and_add(const GpuNode& node, const Unit& unit, int alignment) const {
    return sum_exactly<kMostTermSpan>([&](const auto& visit) {
      each_term(node, [&](Value128 v, bool first) {
        cut(unit, alignment, first, v);
        if (v.magnitude != 0) visit(v);
      });
    });
  }

  TCNUM_HOST_DEVICE Value128 sum(const GpuNode& node) const {
    const Unit& unit = d_.units[node.unit];
    TermsSurvey survey;
    each_term(node,
              [&](const Value128& v, bool) { survey.add(v, unit.zero_exponent.kind == ZeroExponentKind::natural); });
    if (!survey.is_finite()) return survey.special(d_.nan);
    const int alignment = alignment_of(unit, survey.highest_exponent, survey.any_zero);
    Rounded<uint128> r = cut_and_add(node, unit, alignment);
    complete_sum(r, unit, alignment, survey.all_negative, survey.any_negative);
    Value128 result;
    round(unit.result, alignment, unit.underflow_sign, r, result);
    return result;
  }

  const GpuDatapath& d_;
  Operands operands_;
  Value128 c_;
  Value128 results_[GpuDatapath::kMostNodes];
};

template <class Code>
TCNUM_HOST_DEVICE std::uint64_t terms_dot(const GpuDatapath& d, const Code* a, int a_pitch, const Code* b, int b_pitch,
                                          std::uint64_t c) {
  return TermsEvaluation(d, OperandCodes<Code>{a, a_pitch, b, b_pitch}, c)();
}
/// Few elements go this way: by a call, which leaves the others their registers.
TCNUM_HOST_DEVICE TCNUM_NOINLINE inline std::uint64_t terms_dot(const GpuDatapath& d, const SideA& a, int row,
                                                                const SideB& b, int column, std::uint64_t c) {
  return TermsEvaluation(d, OperandsOfSides{a, row, b, column}, c)();
}

}  // namespace tcnum::gpu
