#include "fma_chain.hpp"

namespace tcnum {
namespace {

bool is_ieee_fma(const Unit& unit, FormatId number) {
  const RoundStep& step = unit.result.step[0];
  const bool nearest = step.rounding == Rounding::nearest_even, toward_zero = step.rounding == Rounding::toward_zero;
  const bool known = nearest || toward_zero || step.rounding == Rounding::down || step.rounding == Rounding::up;
  const auto rounds = [&](Overflow overflow) { return step == round_to(format(number), step.rounding, overflow); };
  return unit.fraction_bits == kExact && !unit.first_fraction_bits && !unit.drop_below && !unit.scaled &&
         unit.result.count == 1 && known &&
         (rounds(Overflow::ieee) || (nearest && rounds(Overflow::infinity)) ||
          (toward_zero && rounds(Overflow::max_finite))) &&
         unit.zero_sign == ZeroSign::ieee && unit.underflow_sign == UnderflowSign::kept;
}

Rounding rounding_of(const Numerics& numerics, const SortedTree& tree) {
  return numerics.units[static_cast<std::size_t>(tree.nodes.front().unit)].result.step[0].rounding;
}

}  // namespace

WhyNot why_no_fma_chain(const Numerics& numerics, const SortedTree& tree) {
  for (const OperandRule& rule : {numerics.a, numerics.b, numerics.c}) {
    if (rule.format != FormatId::fp64) return "its operands are not fp64";
    if (rule.subnormals != Subnormals::kept) return "its operands' subnormals are flushed";
  }
  if (numerics.result != FormatId::fp64) return "its result is not fp64";
  return why_no_fma_chain_in(FormatId::fp64, numerics, tree);
}

WhyNot why_no_fma_chain_in(FormatId number, const Numerics& numerics, const SortedTree& tree) {
  if (numerics.scales) return "it has block scales";
  if (numerics.product.operation != ProductOperation::multiply) return "its operands are compared bit by bit";
  if (numerics.product.infinite_from || !numerics.product.round.empty()) return "its products are rounded or limited";
  const Rounding rounding = rounding_of(numerics, tree);
  Term previous{Term::Kind::accumulator, 0};
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const SortedNode& node = tree.nodes[i];
    const Unit& unit = numerics.units[static_cast<std::size_t>(node.unit)];
    if (node.products.size() != 1 || node.others.size() != 1 || node.others[0] != previous)
      return "it is no chain of one product after the other";
    if (!is_ieee_fma(unit, number)) return "a sum is not IEEE 754's FMA";
    if (unit.result.step[0].rounding != rounding) return "its sums round differently";
    previous = {Term::Kind::node, static_cast<int>(i)};
  }
  return {};
}

FmaChain fma_chain_of(const Numerics& numerics, const SortedTree& tree) {
  FmaChain chain{{}, rounding_of(numerics, tree)};
  for (const SortedNode& node : tree.nodes) chain.order.push_back(node.products.front());
  return chain;
}

}  // namespace tcnum
