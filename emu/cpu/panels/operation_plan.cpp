#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "number_reader.hpp"
#include "operations.hpp"

namespace tcnum::panels {
namespace {

/// The rounding of a machine's operation that a step is, if it is one, whatever it does to subnormal numbers.
std::optional<Rounding> machine_rounding(const RoundSteps& steps, const Format& number) {
  if (steps.count != 1) return std::nullopt;
  const RoundStep& s = steps.step[0];
  const auto rounds = [&](Overflow overflow) { return s == round_to(number, s.rounding, overflow, s.subnormals); };
  const bool overflows = rounds(Overflow::ieee) ||
                         (s.rounding == Rounding::nearest_even && rounds(Overflow::infinity)) ||
                         (s.rounding == Rounding::toward_zero && rounds(Overflow::max_finite));
  if (!overflows || s.rounding == Rounding::nearest_away) return std::nullopt;
  return s.rounding;
}

/// Those of terms that are cut in two parts: of a product that is rounded to odd its last bits tell directions, and one
/// less of them ties.
constexpr int kMostBits = 50, kMostBitsToNearest = 49;
/// Exponents that numbers usually have are between these: of a format without them, too many results would be left.
constexpr int kLeastUsual = -14, kMostUsual = 12;

/// Whose operations are a datapath's.
enum class Rounder : std::uint8_t {
  machine,  ///< the machine's
  rules,    ///< fp64's, whose results rules round
};

class Planner {
 public:
  Planner(const Numerics& numerics, const SortedTree& tree, Rounder rounder)
      : n_(numerics), tree_(tree), number_(format(n_.result)), has_rules_(rounder == Rounder::rules) {
    why_not_ = plan();
  }
  WhyNot why_not() const { return why_not_; }
  OperationPlan take() { return std::move(plan_); }

 private:
  /// A result of an operation, or c.
  struct Number {
    int place = 0;
    int lowest = 0;  ///< it is a multiple of 2^lowest
    bool has_c = false;
  };

  WhyNot plan() {
    if (n_.result != FormatId::fp64 && n_.result != FormatId::fp32) return "its results are neither fp64 nor fp32";
    for (const OperandRule* operand : {&n_.a, &n_.b, &n_.c}) {
      if (!reads_exactly(n_.result, operand->format)) return "its operands are no numbers of the result's format";
      if (!format(operand->format).floating && cuts_some()) return "it aligns integers";
    }
    if (n_.c.format != n_.result && cuts_some()) return "it aligns c, which is not of the result's format";
    if (n_.scales) return "it has block scales";
    if (n_.product.operation != ProductOperation::multiply) return "its operands are compared bit by bit";
    if (has_rules_ && n_.result != FormatId::fp64) return "its results are fp32, and not rounded as the machine does";
    if (!has_rules_ && n_.nan.propagate) return "a NaN among its operands comes back";
    product_lowest_ = lowest(format(n_.a.format)) + lowest(format(n_.b.format));
    const int product_top = top(format(n_.a.format)) + top(format(n_.b.format));
    if (n_.product.infinite_from && *n_.product.infinite_from < product_top) {
      if (!has_rules_ || *n_.product.infinite_from < kMostUsual) return "its products are limited";
      plan_.infinite_from = std::ldexp(1.0, std::min(*n_.product.infinite_from, kMostOrdinaryNumber));
    }
    if (!n_.product.round.empty() && !take_rounding(n_.product.round))
      return "a product's rounding is no machine's, or another than others'";
    plan_.a = n_.a;
    plan_.b = n_.b;
    plan_.c = n_.c;
    plan_.number = n_.result;
    plan_.nan = n_.nan.code;
    plan_.depth = static_cast<std::size_t>(tree_.tree.k);
    plan_.product_exponent = n_.product.exponent;
    const auto least = [](const OperandRule& rule) {
      return rule.subnormal_exponent == SubnormalExponent::minimum ? std::ldexp(1.0, format(rule.format).min_exponent())
                                                                   : 0.0;
    };
    plan_.least_a = least(n_.a);
    plan_.least_b = least(n_.b);
    plan_.datapath = {n_, {}, tree_.tree};
    for (const SortedNode& node : tree_.nodes) {
      if (const WhyNot why_not = plan_node(node); !why_not.empty()) return why_not;
    }
    plan_.adds_to_c = results_.back().has_c;
    plan_.rounding = has_rules_ ? Rounding::nearest_even : rounding_.value();
    return {};
  }

  /// Whether terms are aligned. Exponents then tell leading bits, as those of integers do not, nor all of c's.
  bool cuts_some() const {
    return std::ranges::any_of(tree_.nodes, [&](const SortedNode& node) {
      return cuts_or_drops(n_.units[static_cast<std::size_t>(node.unit)]);
    });
  }
  /// All numbers of a format are multiples of 2^this.
  static int lowest(const Format& f) { return f.min_exponent() - f.fraction_bits; }
  /// They are below 2^this.
  static int top(const Format& f) { return f.floating ? f.max_exponent() + 1 : f.storage_bits; }

  bool take_rounding(const RoundSteps& steps) {
    if (has_rules_) return are_for_rules(steps);
    const std::optional<Rounding> rounding = machine_rounding(steps, number_);
    if (!rounding || (rounding_ && *rounding_ != *rounding)) return false;
    rounding_ = rounding;
    return true;
  }

  /// Whether steps leave numbers of their own exponents, which among those that usually occur are all normal.
  static bool are_for_rules(const RoundSteps& steps) {
    bool has_own_exponent = false;
    for (const RoundStep& s : steps) {
      if (s.twos_complement || s.overflow == Overflow::wrap) return false;
      if (s.min_exponent > kLeastUsual || s.max_exponent < kMostUsual) return false;
      if (s.from_alignment && (has_own_exponent || s.fraction_bits > kMostGridBits)) return false;
      if (s.fraction_bits > format(FormatId::fp64).fraction_bits) return false;
      has_own_exponent = has_own_exponent || !s.from_alignment;
    }
    return has_own_exponent && !steps.step[static_cast<std::size_t>(steps.count - 1)].from_alignment;
  }
  static std::vector<OperationStep> steps_of(const RoundSteps& steps) {
    std::vector<OperationStep> to;
    for (const RoundStep& s : steps) {
      // Both are exponents of doubles.
      const int least = std::max(s.min_exponent, -kMostOrdinaryNumber);
      const int overflow = std::min(s.max_exponent, kMostOrdinaryNumber - 1) + 1;
      to.push_back({s, std::ldexp(1.0, least), std::ldexp(1.0, overflow)});
    }
    return to;
  }

  /// What a node's unit does with its sum, the first of whose terms in the operation is `first` in the node.
  OperationRule rule_of(const Unit& unit, std::size_t first) const {
    OperationRule rule;
    rule.steps = steps_of(unit.result);
    rule.is_sum = true;
    rule.zero_is_positive = unit.zero_sign == ZeroSign::positive;
    rule.rounds_down = rule.steps.back().step.rounding == Rounding::down;
    rule.cuts = cuts_or_drops(unit);
    if (!rule.cuts) return rule;
    rule.is_wide = most_bits(unit) > kMostGridBits;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const std::size_t in_node = i == 0 ? first : 1 - first;
      const bool is_first = in_node == 0;
      rule.terms[i] = {is_first ? unit.first_fraction_bits.value_or(unit.fraction_bits) : unit.fraction_bits,
                       !is_first && unit.drop_below.has_value()};
    }
    rule.align_rounding = unit.align_rounding;
    // Below all ordinary numbers they align nothing.
    const ZeroExponent& zero = unit.zero_exponent;
    const double power = zero.value < -kMostOrdinaryNumber ? 0 : std::ldexp(1.0, zero.value);
    if (zero.kind == ZeroExponentKind::zeros) rule.zero_power = power;
    if (zero.kind == ZeroExponentKind::floor) rule.floor_power = power;
    if (unit.drop_below) rule.drop_power = std::ldexp(1.0, -std::min(*unit.drop_below, 2 * kMostOrdinaryNumber));
    return rule;
  }

  static bool cuts_or_drops(const Unit& unit) {
    return unit.fraction_bits != kExact || unit.first_fraction_bits || unit.drop_below;
  }
  static int most_bits(const Unit& unit) { return std::max(unit.fraction_bits, unit.first_fraction_bits.value_or(0)); }

  WhyNot check_rule(const Unit& unit) const {
    if (!are_for_rules(unit.result)) return "a sum's rounding is of few numbers, or to more bits than fp64 has";
    if (!cuts_or_drops(unit)) return {};
    const bool to_nearest =
        unit.align_rounding == Rounding::nearest_even || unit.align_rounding == Rounding::nearest_away;
    for (const int bits : {unit.fraction_bits, unit.first_fraction_bits.value_or(0)}) {
      if (bits != kExact && bits > (to_nearest ? kMostBitsToNearest : kMostBits))
        return "a sum's terms keep more bits than fp64 holds";
    }
    const ZeroExponent& zero = unit.zero_exponent;
    if (zero.kind == ZeroExponentKind::natural || zero.value > kMostOrdinaryNumber)
      return "zeros take part in an alignment with exponents of their own";
    return {};
  }
  /// The same of operations of the machine.
  WhyNot check_operation(const Unit& unit) {
    if (cuts_or_drops(unit)) return "a sum cuts or drops terms";
    if (!take_rounding(unit.result)) return "a sum's rounding is no machine's, or another than others'";
    if (unit.zero_sign != ZeroSign::ieee || unit.underflow_sign != UnderflowSign::kept)
      return "a zero's sign is not IEEE 754's";
    return {};
  }

  WhyNot plan_node(const SortedNode& node) {
    const Unit& unit = n_.units[static_cast<std::size_t>(node.unit)];
    if (const WhyNot why_not = has_rules_ ? check_rule(unit) : check_operation(unit); !why_not.empty()) return why_not;
    const bool flushes = unit.result.step[0].subnormals == Subnormals::flushed;
    const bool rounds_products = !n_.product.round.empty();
    const auto add_rule = [&](std::size_t first) {
      if (has_rules_) plan_.rules.push_back(rule_of(unit, first));
    };
    if (node.terms.size() == 1 && node.products.size() == 1 && !rounds_products) {
      if (cuts_or_drops(unit)) return "a sum of one product cuts it";
      results_.push_back(multiply(node.products[0], flushes));
      add_rule(0);
      return {};
    }
    if (node.terms.size() != 2) return "a sum has other than two terms";
    if (node.products.size() == 1 && !rounds_products) {
      const Number x = number_of(node.others[0]);
      results_.push_back(put({Operation::Kind::multiply_add, node.products[0], x.place, 0, 0, flushes},
                             std::min(product_lowest_, x.lowest), {x}));
      add_rule(node.terms[0].kind == Term::Kind::product ? 0 : 1);
      return {};
    }
    if (node.products.size() == 2 && !rounds_products) return "a sum of two products is not one operation";
    const Number x = number_of(node.terms[0]), y = number_of(node.terms[1]);
    results_.push_back(
        put({Operation::Kind::add, 0, x.place, y.place, 0, flushes}, std::min(x.lowest, y.lowest), {x, y}));
    add_rule(0);
    return {};
  }

  Number number_of(const Term& t) {
    if (t.kind == Term::Kind::node) return results_[static_cast<std::size_t>(t.index)];
    if (t.kind == Term::Kind::accumulator) return {.place = 0, .lowest = lowest(number_), .has_c = true};
    const Number product = multiply(t.index, n_.product.round.step[0].subnormals == Subnormals::flushed);
    if (has_rules_) {
      plan_.rules.emplace_back();
      plan_.rules.back().steps = steps_of(n_.product.round);
    }
    return product;
  }
  Number multiply(int k, bool flushes) {
    return put({Operation::Kind::multiply, k, 0, 0, 0, flushes}, product_lowest_, {});
  }

  /// `of_result`: the lowest bit that it may have before it is rounded.
  Number put(Operation operation, int of_result, std::initializer_list<Number> used) {
    bool has_c = false;
    for (const Number& x : used) {
      has_c |= x.has_c;
      if (x.place != 0) free_.push_back(x.place);  // c stays: the first is its alone
    }
    // Multiples of the smallest normal number are never subnormal.
    operation.flushes = operation.flushes && of_result < number_.min_exponent();
    if (free_.empty()) {
      operation.place = static_cast<int>(plan_.places++);
    } else {
      operation.place = free_.back();
      free_.pop_back();
    }
    plan_.operations.push_back(operation);
    return {operation.place, std::max(of_result, lowest(number_)), has_c};
  }

  const Numerics& n_;
  const SortedTree& tree_;
  const Format& number_;
  bool has_rules_;
  OperationPlan plan_;
  std::optional<Rounding> rounding_;
  int product_lowest_ = 0;
  std::vector<Number> results_;
  std::vector<int> free_;
  WhyNot why_not_;
};

}  // namespace

WhyNot why_no_operation_panels(const Numerics& numerics, const SortedTree& tree) {
  if (Planner(numerics, tree, Rounder::machine).why_not().empty()) return {};
  return Planner(numerics, tree, Rounder::rules).why_not();
}

OperationPlan make_operation_plan(const Numerics& numerics, const SortedTree& tree) {
  Planner planner(numerics, tree, Rounder::machine);
  return planner.why_not().empty() ? planner.take() : Planner(numerics, tree, Rounder::rules).take();
}

}  // namespace tcnum::panels
