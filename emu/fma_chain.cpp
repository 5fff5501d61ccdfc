#include "fma_chain.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "machine_rounding.hpp"
#include "multiversion.hpp"

namespace tcnum {
namespace {

bool is_ieee_fma(const Unit& unit) {
  const RoundStep& step = unit.result.step[0];
  const bool nearest = step.rounding == Rounding::nearest_even, toward_zero = step.rounding == Rounding::toward_zero;
  const bool known = nearest || toward_zero || step.rounding == Rounding::down || step.rounding == Rounding::up;
  const auto rounds = [&](Overflow overflow) {
    return step == round_to(format(FormatId::fp64), step.rounding, overflow);
  };
  return unit.fraction_bits == kExact && !unit.first_fraction_bits && !unit.drop_below && !unit.scaled &&
         unit.result.count == 1 && known &&
         (rounds(Overflow::ieee) || (nearest && rounds(Overflow::infinity)) ||
          (toward_zero && rounds(Overflow::max_finite))) &&
         unit.zero_sign == ZeroSign::ieee && unit.underflow_sign == UnderflowSign::kept;
}

double load(const std::byte* codes, std::size_t i) {
  double x;
  std::memcpy(&x, codes + i * sizeof(x), sizeof(x));
  return x;
}

}  // namespace

std::optional<FmaChain> fma_chain(const Numerics& n, const Tree& tree) {
  for (const OperandRule& rule : {n.a, n.b, n.c}) {
    if (rule.format != FormatId::fp64 || rule.subnormals != Subnormals::kept) return std::nullopt;
  }
  if (n.result != FormatId::fp64 || n.scales || n.product.infinite_from || !n.product.round.empty()) {
    return std::nullopt;
  }
  FmaChain chain;
  std::vector<int>& order = chain.order;
  for (const Node& node : tree.nodes) {
    const Unit& unit = n.units[static_cast<std::size_t>(node.unit)];
    if (node.terms.size() != 2 || !is_ieee_fma(unit)) return std::nullopt;
    const Rounding rounding = unit.result.step[0].rounding;
    if (!order.empty() && rounding != chain.rounding) return std::nullopt;
    chain.rounding = rounding;
    const bool product_first = node.terms[0].kind == Term::Kind::product;
    const Term& product = node.terms[product_first ? 0 : 1];
    const Term& sum = node.terms[product_first ? 1 : 0];
    const Term previous =
        order.empty() ? Term{Term::Kind::accumulator, 0} : Term{Term::Kind::node, static_cast<int>(order.size()) - 1};
    if (product.kind != Term::Kind::product || sum != previous) return std::nullopt;
    order.push_back(product.index);
  }
  return chain;
}

namespace {

TCNUM_ALSO_FOR("fma")
void evaluate(const Tiles& tiles, std::size_t t, std::span<const int> order, std::span<double> results) {
  const std::byte *a = tiles.a.bytes().data(), *b = tiles.b.bytes().data(), *c = tiles.c.bytes().data();
  const std::size_t n = tiles.n;
  for (std::size_t i = 0; i < tiles.m; ++i) {
    double* row = results.data() + i * n;
    for (std::size_t j = 0; j < n; ++j) row[j] = load(c, tiles.c_index(t, i, j));
    for (const int k : order) {
      const auto kk = static_cast<std::size_t>(k);
      const double x = load(a, tiles.a_index(t, i, kk));
      const std::size_t first = tiles.b_index(t, kk, 0);
      for (std::size_t j = 0; j < n; ++j) row[j] = std::fma(x, load(b, first + j), row[j]);
    }
  }
}

}  // namespace

void evaluate_fma_chain(const Tiles& tiles, std::size_t t, const FmaChain& chain, std::span<double> results) {
  const MachineRounding rounding(chain.rounding);
  evaluate(tiles, t, chain.order, results);
}

}  // namespace tcnum
