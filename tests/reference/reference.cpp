#include "reference.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "values.hpp"

namespace tcnum::reference {
namespace {

// --- Terms -----------------------------------------------------------------------------------------------------------

/// A term of a node: an operand, a product or a sum.
struct Quantity {
  Value value;
  int exponent = 0;  ///< with which it takes part in the alignment; a zero only where zeros do so naturally
  /// Of a NaN: the codes that compete in the next node, by the operand that they came with.
  std::array<std::optional<std::uint64_t>, 3> payload{};
  bool cancelled_in_its_block = false;  ///< a zero that is aligned by its scales

  bool is_nan() const { return value.kind == Value::Kind::nan; }
  bool is_infinite() const { return value.kind == Value::Kind::infinite; }
  bool is_zero() const { return value.kind == Value::Kind::finite && value.number == 0; }
};

Value infinity(bool negative) { return {Value::Kind::infinite, negative}; }

/// Evaluates one dot problem. Parts are in the order of the page's sections.
class Evaluation {
 public:
  Evaluation(const Datapath& datapath, std::span<const std::uint64_t> sa, std::span<const std::uint64_t> sb,
             Tally& tally)
      : numerics_(datapath.numerics), tree_(datapath.tree), sa_(sa), sb_(sb), tally_(tally) {
    for (const Unit& unit : numerics_.units) sums_are_scaled_ = sums_are_scaled_ || unit.scaled;
  }

  std::uint64_t run(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c) {
    std::vector<Quantity> results;
    for (const Node& node : tree_.nodes) {
      std::vector<Quantity> terms;
      for (const Term& term : node.terms) {
        const auto index = static_cast<std::size_t>(term.index);
        switch (term.kind) {
          case Term::Kind::accumulator:
            terms.push_back(operand(numerics_.c, c, NanOperand::c));
            break;
          case Term::Kind::product:
            terms.push_back(product(a[index], b[index], term.index));
            break;
          case Term::Kind::node:
            terms.push_back(results[index]);
            break;
        }
      }
      results.push_back(evaluate(node, terms));
    }
    const Quantity& d = results.back();
    return d.is_nan() ? nan_code(d) : code_of(numerics_.result, d.value);
  }

 private:
  // "operands.a, .b, .c"

  Quantity operand(const OperandRule& rule, std::uint64_t code, NanOperand which) {
    const Encoding& f = encoding(rule.format);
    Quantity q{value_of(rule.format, code), f.min_exponent(), {}};
    if (q.is_infinite()) tally_.add(Event::infinite_operand);
    if (q.is_nan()) {
      tally_.add(Event::nan_operand);
      q.payload[static_cast<std::size_t>(which)] = rule.format == numerics_.result ? quiet(code) : numerics_.nan.code;
    }
    if (q.value.kind != Value::Kind::finite) return q;
    const bool subnormal = !f.is_integer() && !q.is_zero() && rule.format != FormatId::ue8m0 &&
                           leading_bit(q.value.number) < f.min_exponent();
    if (subnormal) tally_.add(Event::subnormal_operand);
    if (subnormal && rule.subnormals == Subnormals::flushed) {
      tally_.add(Event::flushed_operand);
      q.value.number = 0;
    }
    if (q.is_zero()) return q;
    const int leading = leading_bit(q.value.number);
    const bool by_leading_bit = subnormal && rule.subnormal_exponent == SubnormalExponent::normalised;
    if (leading >= f.min_exponent() || by_leading_bit) q.exponent = leading;
    if (by_leading_bit) tally_.add(Event::subnormal_aligned_by_leading_bit);
    return q;
  }

  // "product"

  Quantity product(std::uint64_t a_code, std::uint64_t b_code, int k) {
    const Quantity a = operand(numerics_.a, a_code, NanOperand::a), b = operand(numerics_.b, b_code, NanOperand::b);
    Quantity p;
    if (a.is_nan() || b.is_nan()) {
      p.value.kind = Value::Kind::nan;
      p.payload[0] = a.payload[0];
      p.payload[1] = b.payload[1];
      return p;
    }
    const bool negative = a.value.negative != b.value.negative;
    if (a.is_infinite() || b.is_infinite()) {
      p.value = infinity(negative);
      if (a.is_zero() || b.is_zero()) {
        tally_.add(Event::infinity_times_zero);
        p.value.kind = Value::Kind::nan;
      }
    } else if (numerics_.product.operation == ProductOperation::exclusive_or) {
      tally_.add(Event::product_exclusive_or);
      p.value = number(a.value.number == b.value.number ? 0 : 1, false);
      p.exponent = a.exponent + b.exponent;
    } else {
      p.value = number(a.value.number * b.value.number, negative);
      p.exponent = a.exponent + b.exponent;
    }
    if (numerics_.scales && !sums_are_scaled_) {
      tally_.add(Event::product_scaled);
      p = scaled(p, k);
    }
    const ProductRule& rule = numerics_.product;
    if (p.value.number != 0) {
      if (rule.exponent == ProductExponent::normalised) p.exponent = leading_bit(p.value.number);
      if (rule.infinite_from && abs(p.value.number) >= power_of_two(*rule.infinite_from)) {
        tally_.add(Event::product_infinite);
        p.value = infinity(negative);
      }
    }
    if (!rule.round.empty()) {
      tally_.add(Event::product_rounded);
      p = rounded(p, rule.round, UnderflowSign::kept);
    }
    return p;
  }

  // "scales"

  Quantity scaled(Quantity q, int k) {
    const FormatId id = numerics_.scales->format;
    const auto block = static_cast<std::size_t>(k / numerics_.scales->block_k);
    for (const std::uint64_t code : {sa_[block], sb_[block]}) {
      if (q.is_nan()) return q;
      const Value scale = value_of(id, code);
      if (scale.kind == Value::Kind::nan) {
        tally_.add(Event::scale_nan);
        return {scale, 0, {}};
      }
      if (scale.number == 0) {
        tally_.add(Event::scale_zero);
        q.cancelled_in_its_block = false;
      }
      if (q.is_infinite()) {
        if (scale.number == 0) return {Value{Value::Kind::nan}, 0, {}};
        continue;
      }
      q.value = number(q.value.number * scale.number, q.value.negative);
      if (id == FormatId::ue8m0) {
        q.exponent += leading_bit(scale.number);
        continue;
      }
      const int smallest = encoding(id).min_exponent(),
                leading = scale.number == 0 ? smallest : leading_bit(scale.number);
      if (leading < smallest) tally_.add(Event::scale_subnormal);
      q.exponent += std::max(leading, smallest);
    }
    return q;
  }

  // "How it works"

  Quantity evaluate(const Node& node, const std::vector<Quantity>& terms) {
    Quantity result = sum_of(node, terms);
    // "nan": a NaN that a node makes is no operand's, yet to later nodes it is a term like c, whichever way it was
    // made.
    auto& payload = result.payload[static_cast<std::size_t>(NanOperand::c)];
    if (result.is_nan() && !payload) payload = numerics_.nan.code;
    return result;
  }

  Quantity sum_of(const Node& node, const std::vector<Quantity>& terms) {
    const Unit& unit = numerics_.units[static_cast<std::size_t>(node.unit)];
    if (const std::optional<Quantity> special = without_arithmetic(terms)) {
      return unit.scaled ? scaled(*special, node.terms.front().index) : *special;
    }
    Quantity sum = cut_and_add(unit, terms, alignment_exponent(unit, terms));
    if (unit.scaled) {
      tally_.add(Event::sum_scaled);
      if (unit.scale_exponents_alone) {
        tally_.add(Event::sum_aligned_by_scales);
        sum.exponent = 0;
        sum.cancelled_in_its_block =
            sum.is_zero() && std::ranges::any_of(terms, [](const Quantity& t) { return !t.is_zero(); });
      }
      sum = scaled(sum, node.terms.front().index);
    }
    if (unit.result.empty()) {
      tally_.add(Event::sum_left_exact);
      return sum;
    }
    return rounded(sum, unit.result, unit.underflow_sign);
  }

  /// The result of a node with infinite or NaN terms.
  std::optional<Quantity> without_arithmetic(const std::vector<Quantity>& terms) {
    bool positive = false, negative = false, nan = false;
    for (const Quantity& t : terms) {
      nan = nan || t.is_nan();
      if (t.is_infinite()) (t.value.negative ? negative : positive) = true;
    }
    if (nan) return chosen_nan(terms);
    if (positive && negative) {
      tally_.add(Event::infinities_cancelled);
      return chosen_nan(terms);
    }
    if (positive || negative) return Quantity{infinity(negative), 0, {}};
    return std::nullopt;
  }

  int alignment_exponent(const Unit& unit, const std::vector<Quantity>& terms) {
    const ZeroExponent& zeros = unit.zero_exponent;
    std::vector<int> of_numbers, of_zeros;
    for (const Quantity& t : terms) {
      if (!t.is_zero() || t.cancelled_in_its_block)
        of_numbers.push_back(t.exponent);
      else if (zeros.kind == ZeroExponentKind::natural)
        of_zeros.push_back(t.exponent);
      else if (zeros.kind == ZeroExponentKind::zeros)
        of_zeros.push_back(zeros.value);
    }
    if (zeros.kind == ZeroExponentKind::floor) of_zeros.push_back(zeros.value);
    if (of_numbers.empty() && of_zeros.empty()) tally_.add(Event::nothing_aligned);
    if (of_zeros.empty()) return of_numbers.empty() ? 0 : std::ranges::max(of_numbers);
    const int largest_of_zeros = std::ranges::max(of_zeros);
    if (!of_numbers.empty() && std::ranges::max(of_numbers) >= largest_of_zeros) return std::ranges::max(of_numbers);
    if (!of_numbers.empty()) {
      tally_.add(zeros.kind == ZeroExponentKind::natural ? Event::alignment_of_natural_zero
                 : zeros.kind == ZeroExponentKind::zeros ? Event::alignment_of_given_zero
                                                         : Event::alignment_floored);
    }
    return largest_of_zeros;
  }

  Quantity cut_and_add(const Unit& unit, const std::vector<Quantity>& terms, int alignment) {
    Rational sum = 0;
    bool all_negative = true, some_negative = false, some_nonzero = false, some_left = false;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const Quantity& t = terms[i];
      all_negative = all_negative && t.value.negative;
      some_negative = some_negative || t.value.negative;
      if (t.is_zero()) continue;
      some_nonzero = true;
      if (i > 0 && unit.drop_below && t.exponent < alignment - *unit.drop_below) {
        tally_.add(Event::term_dropped);
        continue;
      }
      const bool elsewhere = i == 0 && unit.first_fraction_bits;
      const int bits = elsewhere ? *unit.first_fraction_bits : unit.fraction_bits;
      Rational cut = t.value.number;
      if (bits != kExact) cut = multiple(cut, power_of_two(alignment - bits), unit.align_rounding);
      if (cut != t.value.number) {
        tally_.add(Event::term_cut);
        if (elsewhere) tally_.add(Event::first_term_cut_elsewhere);
      }
      some_left = some_left || cut != 0;
      sum += cut;
    }
    if (sum == 0 && some_nonzero) tally_.add(some_left ? Event::cancelled : Event::cut_to_zero);
    // zero_sign
    const bool rounds_down = !unit.result.empty() && (unit.result.end() - 1)->rounding == Rounding::down;
    const bool negative_zero = all_negative || (rounds_down && some_negative);
    if (sum == 0 && negative_zero) {
      if (unit.zero_sign == ZeroSign::positive)
        tally_.add(Event::zero_sum_made_positive);
      else
        tally_.add(all_negative ? Event::zero_sum_negative : Event::zero_sum_negative_by_rounding);
    }
    return {number(sum, negative_zero && unit.zero_sign == ZeroSign::ieee), alignment, {}};
  }

  // "Rounding steps"

  Quantity rounded(Quantity q, const RoundSteps& steps, UnderflowSign underflow_sign) {
    const RoundStep& last = *(steps.end() - 1);
    const int alignment = q.exponent;
    const bool nonzero = !q.is_zero();
    for (const RoundStep& step : steps) {
      if (q.value.kind != Value::Kind::finite) break;
      if (q.is_zero()) {
        if (!last.from_alignment) q.exponent = last.min_exponent;
        break;
      }
      if (&step != steps.begin()) tally_.add(Event::rounded_again);
      q = round_once(q, step, alignment);
    }
    if (nonzero && q.is_zero()) {
      tally_.add(Event::underflow);
      if (underflow_sign == UnderflowSign::positive) {
        if (q.value.negative) tally_.add(Event::underflow_made_positive);
        q.value.negative = false;
      }
    }
    return q;
  }

  /// One step, of a finite sum that is not zero.
  Quantity round_once(const Quantity& q, const RoundStep& step, int alignment) {
    const Rational& exact = q.value.number;
    int from = alignment;
    if (step.from_alignment) {
      tally_.add(Event::rounded_at_alignment);
    } else {  // smaller numbers as the smallest normal one, larger ones as the largest
      from = std::max(std::min(leading_bit(exact), step.max_exponent), step.min_exponent);
    }
    const Rational spacing = power_of_two(from - step.fraction_bits);
    if (denominator(Rational(exact / spacing)) == 2) tally_.add(Event::tie);
    Rational x = multiple(exact, spacing, step.rounding);
    if (x != exact) ++tally_.inexact[static_cast<std::size_t>(step.rounding)];
    if (x != 0 && leading_bit(x) > leading_bit(exact)) tally_.add(Event::carried);
    if (x != 0 && leading_bit(x) < step.min_exponent && step.subnormals == Subnormals::flushed) {
      tally_.add(Event::subnormal_flushed);
      x = 0;
    }
    Quantity result{within_range(number(x, q.value.negative), step), q.exponent, {}};
    if (step.from_alignment || result.is_infinite()) return result;
    // The exponent with which the number enters the next node.
    result.exponent = step.min_exponent;
    if (result.is_zero()) return result;
    const int leading = leading_bit(result.value.number);
    if (leading < step.min_exponent) tally_.add(Event::subnormal_result);
    if (leading >= step.min_exponent || numerics_.c.subnormal_exponent == SubnormalExponent::normalised) {
      result.exponent = leading;
    }
    return result;
  }

  /// What a step makes of a number that may be beyond the largest.
  Value within_range(const Value& v, const RoundStep& step) {
    if (step.max_exponent == kUnbounded) return v;
    const Rational end = power_of_two(step.max_exponent + 1), magnitude = abs(v.number);
    if (step.twos_complement && v.number == -end) {
      tally_.add(Event::least_integer);
      return v;
    }
    if (magnitude < end) return v;
    if (step.overflow == Overflow::wrap) {
      tally_.add(Event::wrapped);
      const Rational turn = end * 2;
      Rational residue = v.number - floor(v.number / turn) * turn;
      if (residue >= end) residue -= turn;
      return number(residue, v.negative);
    }
    bool to_infinity = step.overflow == Overflow::infinity;
    if (step.overflow == Overflow::ieee) {
      const bool inward =
          step.rounding == Rounding::toward_zero || step.rounding == (v.negative ? Rounding::up : Rounding::down);
      to_infinity = !inward;
    }
    if (to_infinity) {
      tally_.add(Event::overflow_to_infinity);
      return infinity(v.negative);
    }
    if (step.twos_complement && v.negative) {
      tally_.add(Event::overflow_clamped_to_least);
      return number(-end, true);
    }
    tally_.add(Event::overflow_to_largest);
    // One below the end by the spacing of the largest numbers: that of their exponent or, of integers, of all numbers.
    const int binade = std::max(step.max_exponent, step.min_exponent);
    const Rational largest = end - power_of_two(binade - step.fraction_bits);
    return number(v.negative ? Rational(-largest) : largest, v.negative);
  }

  // "nan"

  std::uint64_t quiet(std::uint64_t code) const {
    const Encoding& f = encoding(numerics_.result);
    return code | std::uint64_t{1} << (f.padding_bits + f.fraction_bits - 1);
  }

  Quantity chosen_nan(const std::vector<Quantity>& terms) {
    Quantity result;
    result.value.kind = Value::Kind::nan;
    if (!numerics_.nan.propagate) return result;
    auto& chosen = result.payload[static_cast<std::size_t>(NanOperand::c)];
    int candidates = 0;
    for (const NanOperand operand : numerics_.nan.order) {
      for (const Quantity& t : terms) {
        const auto& payload = t.payload[static_cast<std::size_t>(operand)];
        if (!payload) continue;
        ++candidates;
        if (!chosen) chosen = payload;
      }
    }
    if (candidates > 0) tally_.add(Event::nan_propagated);
    if (candidates > 1) tally_.add(Event::nan_of_several);
    return result;
  }

  std::uint64_t nan_code(const Quantity& d) const {
    return d.payload[static_cast<std::size_t>(NanOperand::c)].value_or(numerics_.nan.code);
  }

  const Numerics& numerics_;
  const Tree& tree_;
  std::span<const std::uint64_t> sa_, sb_;
  Tally& tally_;
  bool sums_are_scaled_ = false;
};

}  // namespace

std::uint64_t dot(const Datapath& datapath, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                  std::uint64_t c, std::span<const std::uint64_t> sa, std::span<const std::uint64_t> sb, Tally& tally) {
  return Evaluation(datapath, sa, sb, tally).run(a, b, c);
}

}  // namespace tcnum::reference
