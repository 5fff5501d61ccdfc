#include <algorithm>
#include <optional>

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

class Planner {
 public:
  Planner(const Numerics& numerics, const SortedTree& tree) : n_(numerics), tree_(tree), number_(format(n_.result)) {
    why_not_ = plan();
  }
  WhyNot why_not() const { return why_not_; }
  OperationPlan take() { return std::move(plan_); }

 private:
  /// A result of an operation, or c.
  struct Number {
    int place = 0;
    int lowest = 0;  ///< it is a multiple of 2^lowest
  };

  WhyNot plan() {
    if (n_.result != FormatId::fp64 && n_.result != FormatId::fp32) return "its results are neither fp64 nor fp32";
    if (n_.c.format != n_.result) return "c is not of the result's format";
    if (!holds(number_, format(n_.a.format)) || !holds(number_, format(n_.b.format)))
      return "its operands are no floating-point numbers of the result's format";
    if (n_.scales) return "it has block scales";
    if (n_.nan.propagate) return "a NaN among its operands comes back";
    const auto lowest = [](FormatId id) { return format(id).min_exponent() - format(id).fraction_bits; };
    product_lowest_ = lowest(n_.a.format) + lowest(n_.b.format);
    const int product_top = format(n_.a.format).max_exponent() + format(n_.b.format).max_exponent() + 2;
    if (n_.product.infinite_from && *n_.product.infinite_from < product_top) return "its products are limited";
    if (!n_.product.round.empty()) {
      if (!take_rounding(n_.product.round)) return "a product's rounding is no machine's, or another than others'";
    }
    plan_.a = n_.a;
    plan_.b = n_.b;
    plan_.c = n_.c;
    plan_.number = n_.result;
    plan_.nan = n_.nan.code;
    plan_.depth = static_cast<std::size_t>(tree_.tree.k);
    for (const SortedNode& node : tree_.nodes) {
      if (const WhyNot why_not = plan_node(node); !why_not.empty()) return why_not;
    }
    plan_.rounding = rounding_.value();
    return {};
  }

  bool take_rounding(const RoundSteps& steps) {
    const std::optional<Rounding> rounding = machine_rounding(steps, number_);
    if (!rounding || (rounding_ && *rounding_ != *rounding)) return false;
    rounding_ = rounding;
    return true;
  }

  WhyNot plan_node(const SortedNode& node) {
    const Unit& unit = n_.units[static_cast<std::size_t>(node.unit)];
    if (unit.fraction_bits != kExact || unit.first_fraction_bits || unit.drop_below) return "a sum cuts or drops terms";
    if (!take_rounding(unit.result)) return "a sum's rounding is no machine's, or another than others'";
    if (unit.zero_sign != ZeroSign::ieee || unit.underflow_sign != UnderflowSign::kept)
      return "a zero's sign is not IEEE 754's";
    const bool flushes = unit.result.step[0].subnormals == Subnormals::flushed;
    const bool rounds_products = !n_.product.round.empty();
    if (node.terms.size() == 1 && node.products.size() == 1 && !rounds_products) {
      results_.push_back(multiply(node.products[0], flushes));
      return {};
    }
    if (node.terms.size() != 2) return "a sum has other than two terms";
    if (node.products.size() == 1 && !rounds_products) {
      const Number x = number_of(node.others[0]);
      results_.push_back(put({Operation::Kind::multiply_add, node.products[0], x.place, 0, 0, flushes},
                             std::min(product_lowest_, x.lowest), {x}));
      return {};
    }
    if (node.products.size() == 2 && !rounds_products) return "a sum of two products is not one operation";
    const Number x = number_of(node.terms[0]), y = number_of(node.terms[1]);
    results_.push_back(
        put({Operation::Kind::add, 0, x.place, y.place, 0, flushes}, std::min(x.lowest, y.lowest), {x, y}));
    return {};
  }

  Number number_of(const Term& t) {
    if (t.kind == Term::Kind::node) return results_[static_cast<std::size_t>(t.index)];
    if (t.kind == Term::Kind::accumulator) return {0, number_.min_exponent() - number_.fraction_bits};
    return multiply(t.index, n_.product.round.step[0].subnormals == Subnormals::flushed);
  }
  Number multiply(int k, bool flushes) {
    return put({Operation::Kind::multiply, k, 0, 0, 0, flushes}, product_lowest_, {});
  }

  /// `lowest`: of the result before it is rounded.
  Number put(Operation operation, int lowest, std::initializer_list<Number> used) {
    for (const Number& x : used) {
      if (x.place != 0) free_.push_back(x.place);  // c stays: the first is its alone
    }
    // Multiples of the smallest normal number are never subnormal.
    operation.flushes = operation.flushes && lowest < number_.min_exponent();
    if (free_.empty()) {
      operation.place = static_cast<int>(plan_.places++);
    } else {
      operation.place = free_.back();
      free_.pop_back();
    }
    plan_.operations.push_back(operation);
    return {operation.place, std::max(lowest, number_.min_exponent() - number_.fraction_bits)};
  }

  const Numerics& n_;
  const SortedTree& tree_;
  const Format& number_;
  OperationPlan plan_;
  std::optional<Rounding> rounding_;
  int product_lowest_ = 0;
  std::vector<Number> results_;
  std::vector<int> free_;
  WhyNot why_not_;
};

}  // namespace

WhyNot why_no_operation_panels(const Numerics& numerics, const SortedTree& tree) {
  return Planner(numerics, tree).why_not();
}

OperationPlan make_operation_plan(const Numerics& numerics, const SortedTree& tree) {
  return Planner(numerics, tree).take();
}

}  // namespace tcnum::panels
