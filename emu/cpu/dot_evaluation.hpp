// One dot problem, node by node.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>

#include "aligned_sum.hpp"
#include "decoded_tiles.hpp"
#include "emu/consulted.hpp"
#include "emu/value128.hpp"
#include "pair_sum.hpp"
#include "plan.hpp"
#include "product_sums.hpp"
#include "terms_sum.hpp"

namespace tcnum {

/// kTrace: also notes what the result may depend on.
template <bool kTrace>
struct DotEvaluation {
  const CpuPlan& plan;
  DecodedProblem p;
  int watch_exponent;
  unsigned consulted = 0;
  bool special = false;  ///< some operand is an infinity or a NaN

  const Numerics& n() const { return plan.numerics; }
  bool minimum_exponents() const { return n().c.subnormal_exponent == SubnormalExponent::minimum; }

  std::uint64_t operator()() {
    begin();
    const std::size_t nodes = plan.tree->nodes.size();
    Values128<40> results(nodes);
    for (std::size_t i = 0; i < nodes; ++i) evaluate(i, results.data());
    return to_code(results.data()[nodes - 1]);
  }

  /// Looks at the operands.
  void begin() {
    const DecodedTiles& d = p.decoded;
    const unsigned flags = d.a().flags[p.a_row] | d.b().flags[p.b_row] | d.c().flags[p.c];
    special = (flags & kHasSpecial) != 0;
    if constexpr (kTrace) {
      if (flags & kHasSubnormal) consulted |= kConsultedSubnormalInput;
    }
  }

  std::uint64_t to_code(const Value128& v) {
    if (v.kind == Value128::Kind::nan) {
      if constexpr (kTrace) consulted |= kConsultedNan;
      return v.payload;
    }
    // The sign of a zero on the way shows only in the sign of a zero at the end.
    if (v.magnitude != 0) consulted &= ~static_cast<unsigned>(kConsultedZeroSum);
    const bool infinite = v.kind == Value128::Kind::infinity;
    const auto low = static_cast<std::uint64_t>(v.magnitude);
    const Format& f = format(n().result);
    return low == v.magnitude ? pack(f, Rounded<std::uint64_t>{low, v.lsb, v.exponent, v.negative, infinite})
                              : pack(f, Rounded<uint128>{v.magnitude, v.lsb, v.exponent, v.negative, infinite});
  }

  /// Sets the node's result.
  void evaluate(std::size_t number, Value128* results) {
    const SortedNode& node = plan.tree->nodes[number];
    Value128& result = results[number];
    if (!is_finite(node, results)) {
      result = sum_of_terms(node, results);
      return;
    }
    switch (plan.evaluators[number]) {
      case CpuEvaluator::columns:
        return aligned_sum(node, results, result);
      case CpuEvaluator::pairs_64:
        return pair(node, results, result);
      default:  // also a chain of FMAs, where the machine's own are of no use
        result = sum_of_terms(node, results);
    }
  }

  bool is_finite(const SortedNode& node, const Value128* results) const {
    return !special && std::all_of(node.others.begin(), node.others.end(), [&](const Term& t) {
      return t.kind != Term::Kind::node || results[t.index].kind == Value128::Kind::finite;
    });
  }

  /// Rounds the sum of a node's terms. Values are written where they stay, member by member: a copy would have to wait
  /// for the members.
  template <class U>
  void round(const Unit& unit, Rounded<U>& r, int alignment, Value128& result) {
    if constexpr (kTrace) {
      if (r.magnitude == 0) consulted |= kConsultedZeroSum;
    }
    apply_steps<kTrace>(r, unit.result, alignment, unit.underflow_sign, minimum_exponents(), consulted);
    result.kind = r.infinite ? Value128::Kind::infinity : Value128::Kind::finite;
    result.negative = r.negative;
    result.aligns_as_zero = false;
    result.magnitude = r.magnitude;
    result.lsb = r.lsb;
    result.exponent = r.exponent;
  }

  // --- Aligned sums of finite terms, in 64 bits.

  void find_others(const SortedNode& node, const Unit& unit, const Value128* results, OtherTerms& others) const {
    const bool natural = unit.zero_exponent.kind == ZeroExponentKind::natural;
    for (const Term& t : node.others) {
      if (t.kind == Term::Kind::accumulator) {
        const DecodedNumbers& c = p.decoded.c();
        others.add(c.significand_at(p.c), c.natural[p.c] - c.fraction_bits, (natural ? c.natural : c.exponent)[p.c],
                   c.negative[p.c] != 0);
      } else {
        const Value128& v = results[t.index];
        const auto magnitude = static_cast<std::int64_t>(v.magnitude);
        others.add(v.negative ? -magnitude : magnitude, v.lsb, magnitude == 0 && !natural ? kNotAligned32 : v.exponent,
                   v.negative);
      }
    }
  }

  /// The node's result, given the sum of its products in units of 2^(alignment − fraction_bits).
  void total(const SortedNode& node, const Unit& unit, const OtherTerms& others, int alignment, std::int64_t sum,
             Value128& result) {
    const int lsb = alignment - unit.fraction_bits;
    sum += others.sum(lsb, unit.align_rounding);
    Rounded<std::uint64_t> r{static_cast<std::uint64_t>(std::abs(sum)), lsb, alignment, sum < 0};
    if (sum == 0) {
      r.lsb = 0;
      if (alignment <= kNotAligned32 / 2) r.exponent = 0;  // nothing took part
      r.negative = zero_sum_is_negative(unit, node, others);
    }
    round(unit, r, alignment, result);
  }

  /// value = significand · 2^(exponent − product fraction), in units of 2^(alignment − fraction_bits).
  ProductCut product_cut(const Unit& unit) const {
    const int up = unit.fraction_bits - p.decoded.a().fraction_bits - p.decoded.b().fraction_bits;
    return {unit.align_rounding, std::max(0, up), std::max(0, -up), unit.fraction_bits};
  }

  /// 32 bits hold a product, also shifted left as far as alignment can ask (cpu/requirements.cpp).
  void aligned_sum(const SortedNode& node, const Value128* results, Value128& result) {
    const Unit& unit = plan.unit_of(node);
    Products products;
    find_products(node, unit, products);
    OtherTerms others;
    find_others(node, unit, results, others);
    std::int32_t highest = others.highest_exponent;
    for (std::size_t i = 0; i < products.count; ++i) highest = std::max(highest, products.exponent[i]);
    if constexpr (kTrace) {
      if (highest <= watch_exponent) watch(unit, products, others);
    }
    bool any_zero = others.any_zero;
    if (unit.zero_exponent.kind == ZeroExponentKind::zeros) {
      for (std::size_t i = 0; i < products.count; ++i) any_zero |= products.product[i] == 0;
    }
    const int alignment = alignment_of(unit, highest, any_zero);

    const ProductCut how = product_cut(unit);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < products.count; ++i) {
      sum += cut(products.product[i] << how.up, alignment - products.exponent[i] + how.down, how.rounding);
    }
    total(node, unit, others, alignment, sum, result);
  }

  [[gnu::always_inline]] void find_products(const SortedNode& node, const Unit& unit, Products& to) const {
    const DecodedNumbers &a = p.decoded.a(), &b = p.decoded.b();
    const bool natural = unit.zero_exponent.kind == ZeroExponentKind::natural;
    const std::size_t count = to.count = node.products.size();
    const std::int32_t* ea = (natural ? a.natural : a.exponent).data() + p.a;
    const std::int32_t* eb = (natural ? b.natural : b.exponent).data() + p.b;
    const std::int32_t* sa = a.significand.data() + p.a;
    const std::int32_t* sb = b.significand.data() + p.b;
    if (node.contiguous) {
      const auto first = static_cast<std::size_t>(count == 0 ? 0 : node.products[0]);
      ea += first, eb += first, sa += first, sb += first;
      for (std::size_t i = 0; i < count; ++i) to.product[i] = sa[i] * sb[i];
      for (std::size_t i = 0; i < count; ++i) to.exponent[i] = ea[i] + eb[i];
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        const auto kk = static_cast<std::size_t>(node.products[i]);
        to.product[i] = sa[kk] * sb[kk];
        to.exponent[i] = ea[kk] + eb[kk];
      }
    }
  }

  int product_fraction() const { return p.decoded.a().fraction_bits + p.decoded.b().fraction_bits; }

  /// Notes if aligning to the watched exponent would cut something.
  void watch(const Unit& unit, const Products& products, const OtherTerms& others) {
    const int last_kept = watch_exponent - unit.fraction_bits;
    const auto loses = [&](std::int64_t significand, int lsb) {
      return significand != 0 && lsb + std::countr_zero(static_cast<std::uint64_t>(significand)) < last_kept;
    };
    for (std::size_t i = 0; i < products.count; ++i) {
      if (loses(products.product[i], products.exponent[i] - product_fraction())) consulted |= kConsultedZeroExponent;
    }
    for (std::size_t i = 0; i < others.count; ++i) {
      if (loses(others.significand[i], others.lsb[i])) consulted |= kConsultedZeroExponent;
    }
  }

  bool zero_sum_is_negative(const Unit& unit, const SortedNode& node, const OtherTerms& others) const {
    bool all = others.all_negative, any = others.any_negative;
    for (const int kk : node.products) {
      const bool negative = p.decoded.a().negative[p.a + static_cast<std::size_t>(kk)] !=
                            p.decoded.b().negative[p.b + static_cast<std::size_t>(kk)];
      all = all && negative;
      any = any || negative;
    }
    return zero_is_negative(unit, all, any);
  }

  // --- Exact sums of two finite terms.

  static PairTerm pair_term(const DecodedNumbers& numbers, std::size_t at) {
    return {static_cast<std::uint64_t>(std::abs(numbers.significand_at(at))),
            numbers.natural[at] - numbers.fraction_bits, numbers.negative[at] != 0};
  }

  PairTerm pair_term(const Term& t, const Value128* results) const {
    switch (t.kind) {
      case Term::Kind::accumulator:
        return pair_term(p.decoded.c(), p.c);
      case Term::Kind::product: {
        const PairTerm x = pair_term(p.decoded.a(), p.a + static_cast<std::size_t>(t.index));
        const PairTerm y = pair_term(p.decoded.b(), p.b + static_cast<std::size_t>(t.index));
        return {x.magnitude * y.magnitude, x.lsb + y.lsb, x.negative != y.negative};
      }
      case Term::Kind::node:
        break;
    }
    const Value128& v = results[t.index];
    return {static_cast<std::uint64_t>(v.magnitude), v.lsb, v.negative};
  }

  void pair(const SortedNode& node, const Value128* results, Value128& result) {
    const Unit& unit = plan.unit_of(node);
    const PairTerm terms[2] = {pair_term(node.terms[0], results), pair_term(node.terms[1], results)};
    const bool all_negative = terms[0].negative && terms[1].negative;
    const bool any_negative = terms[0].negative || terms[1].negative;
    Rounded<std::uint64_t> r = sum_of_pair(terms);
    if (r.magnitude == 0) r = {0, 0, 0, zero_is_negative(unit, all_negative, any_negative)};
    round(unit, r, 0, result);
  }

  // --- Sums of any terms, which may be infinities and NaNs.

  Value128 nan(const OperandRule& rule, std::uint64_t code, NanOperand which) const {
    const bool keeps = n().nan.propagate && rule.format == n().result;
    return nan_value(keeps ? code | nan_code(format(rule.format)) : n().nan.code, nan_rank(n().nan, which));
  }

  Value128 operand(const DecodedNumbers& numbers, std::size_t at, const OperandRule& rule, std::uint64_t code,
                   NanOperand which) const {
    Value128 v;
    v.negative = numbers.negative[at] != 0;
    v.magnitude = static_cast<uint128>(std::abs(numbers.significand_at(at)));
    v.exponent = numbers.natural[at];
    v.lsb = v.exponent - numbers.fraction_bits;
    if (!special) return v;
    const NumberClass number_class = decode(format(rule.format), code).number_class;
    if (number_class == NumberClass::nan) return nan(rule, code, which);
    if (number_class == NumberClass::infinity) v.kind = Value128::Kind::infinity;
    return v;
  }

  Value128 product(int k) {
    const auto kk = static_cast<std::size_t>(k);
    const DecodedTiles& d = p.decoded;
    const Tiles& tiles = d.tiles();
    const std::uint64_t a_code = special ? tiles.a[tiles.a_index(p.tile, p.row, kk)] : 0;
    const std::uint64_t b_code = special ? tiles.b[tiles.b_index(p.tile, kk, p.column)] : 0;
    const Value128 x = operand(d.a(), p.a + kk, n().a, a_code, NanOperand::a);
    const Value128 y = operand(d.b(), p.b + kk, n().b, b_code, NanOperand::b);
    using Kind = Value128::Kind;
    Value128 v = multiply(x, y, n().product.operation, n().nan);
    if (n().scales && !plan.scales_sums) v = scaled(v, k);
    limit(n().product, v);
    if (v.kind == Kind::finite && !n().product.round.empty()) {
      Rounded<uint128> r{v.magnitude, v.lsb, v.exponent, v.negative};
      apply_steps<kTrace>(r, n().product.round, 0, UnderflowSign::kept, minimum_exponents(), consulted);
      v = {r.infinite ? Kind::infinity : Kind::finite, r.negative, false, 0, r.magnitude, r.lsb, r.exponent, 0};
    }
    return v;
  }

  /// Times the two scales of the block of product k.
  Value128 scaled(Value128 v, int k) {
    const Format& f = format(n().scales->format);
    const Tiles& tiles = p.decoded.tiles();
    const auto block_k = static_cast<std::size_t>(n().scales->block_k);
    const std::size_t blocks = tiles.k / block_k, block = static_cast<std::size_t>(k) / block_k;
    for (const std::uint64_t code : {tiles.sa[(p.tile * tiles.m + p.row) * blocks + block],
                                     tiles.sb[(p.tile * blocks + block) * tiles.n + p.column]}) {
      if (v.kind == Value128::Kind::nan) return v;
      const Decoded scale = decode(f, code);
      if (scale.number_class == NumberClass::nan) return generated_nan(n().nan);
      const bool zero = scale.significand == 0;
      if (v.kind == Value128::Kind::infinity) {
        if (zero) return generated_nan(n().nan);
        continue;
      }
      v.aligns_as_zero = v.aligns_as_zero && !zero;
      v.exponent += scale.exponent;
      v.magnitude *= scale.significand;
      v.lsb = v.magnitude == 0 ? 0 : v.lsb + scale.exponent - f.fraction_bits;
    }
    return v;
  }

  Value128 term(const Term& t, const Value128* results) {
    switch (t.kind) {
      case Term::Kind::accumulator: {
        const std::uint64_t code = special ? p.decoded.tiles().c[p.code_of_c] : 0;
        return operand(p.decoded.c(), p.c, n().c, code, NanOperand::c);
      }
      case Term::Kind::product:
        return product(t.index);
      case Term::Kind::node:
        break;
    }
    Value128 v = results[t.index];
    if (v.kind == Value128::Kind::nan) v.rank = nan_rank(n().nan, NanOperand::c);
    return v;
  }

  /// The sum of a block's finite products, times the block's scales.
  Value128 scaled_sum(const SortedNode& node, const Unit& unit, const Rounded<uint128>& r, bool any_nonzero) {
    Value128 sum;
    sum.negative = r.negative;
    sum.magnitude = r.magnitude;
    sum.lsb = r.lsb;
    sum.exponent = r.exponent;
    if (unit.scale_exponents_alone) {
      sum.exponent = 0;
      sum.aligns_as_zero = sum.magnitude == 0 && any_nonzero;
    }
    return scaled(sum, node.products.front());
  }

  Value128 sum_of_terms(const SortedNode& node, const Value128* results) {
    const Unit& unit = plan.unit_of(node);
    const std::size_t count = node.terms.size();
    Values128<72> on_stack(count);
    Value128* const terms = on_stack.data();
    TermsSurvey survey;
    for (std::size_t i = 0; i < count; ++i) {
      terms[i] = term(node.terms[i], results);
      survey.add(terms[i], unit.zero_exponent.kind == ZeroExponentKind::natural);
    }
    if (!survey.is_finite()) {
      const Value128 special_one = survey.special(n().nan);
      return unit.scaled ? scaled(special_one, node.products.front()) : special_one;
    }
    if constexpr (kTrace) {
      if (survey.highest_exponent <= watch_exponent && unit.fraction_bits != kExact) {
        for (std::size_t i = 0; i < count; ++i) {
          if (terms[i].magnitude != 0 && lowest_bit(terms[i]) < watch_exponent - unit.fraction_bits)
            consulted |= kConsultedZeroExponent;
        }
      }
    }
    const int alignment = alignment_of(unit, survey.highest_exponent, survey.any_zero);
    for (std::size_t i = 1; unit.drop_below && i < count; ++i) {
      if (terms[i].exponent < alignment - *unit.drop_below) terms[i].magnitude = 0;
    }

    Rounded<uint128> r{0, 0, alignment, false};
    if (survey.any_nonzero) r = cut_and_add(unit, terms, count, alignment);
    complete_sum(r, unit, alignment, survey.all_negative, survey.any_negative);
    Value128 result;
    if (unit.scaled) {
      const Value128 sum = scaled_sum(node, unit, r, survey.any_nonzero);
      if (sum.kind != Value128::Kind::finite) return sum;
      r = {sum.magnitude, sum.lsb, sum.exponent, sum.negative};
      round(unit, r, sum.exponent, result);
      result.aligns_as_zero = sum.aligns_as_zero;
      return result;
    }
    round(unit, r, alignment, result);
    return result;
  }
};

}  // namespace tcnum
