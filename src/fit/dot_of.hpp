// A datapath's dot product, of as many products as a chain of it takes, as what takes an instruction takes it.
#pragma once

#include "tcnum/datapath.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

inline Instruction dot_of(const Datapath& datapath, int k) {
  const Numerics& n = datapath.numerics;
  Scaling scales;
  if (n.scales) scales = {ScaleKind::dot, n.scales->format, n.scales->block_k};
  return make_dot(n.result, n.a.format, n.b.format, n.c.format, k, scales);
}

}  // namespace tcnum
