// A datapath whose products are far smaller than its operands say.
#pragma once

#include "tcnum/datapath.hpp"

namespace tcnum::test {

/// All products become ±2^-118 and some bits below: they are beyond the largest number that a step knows. Of a sum with
/// c nothing but its rounding up shows them, and of one without c all is.
inline Datapath datapath_of_capped_products() {
  Datapath d = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/fp-add-tree.json");
  Numerics& n = d.numerics;
  n.a.format = n.b.format = n.c.format = FormatId::fp8e4m3;
  RoundStep cap = round_to(format(FormatId::fp32), Rounding::toward_zero, Overflow::max_finite);
  cap.fraction_bits = 18;
  cap.min_exponent = cap.max_exponent = -118;
  n.product.round = {cap};
  n.units[0].result = {round_to(format(n.result), Rounding::up)};
  d.tree.k = 4;
  const auto product = [](int k) { return Term{Term::Kind::product, k}; };
  d.tree.nodes = {Node{0, {product(0), product(1)}}, Node{0, {{Term::Kind::accumulator, 0}, product(2), product(3)}},
                  Node{0, {{Term::Kind::node, 0}, {Term::Kind::node, 1}}}};
  return d;
}

}  // namespace tcnum::test
