// A datapath that is run again and again along k, as a product longer than the instruction is computed.
#pragma once

#include "emu/cpu/matrix_product.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// Each step takes the result of the one before as its c. The last step is filled up with products of +0 and +0, and
/// with block scales of 1.
class Chain {
 public:
  explicit Chain(const Datapath& datapath);

  /// Whether it takes so many products: more than one step needs results that can be the next step's c.
  bool takes(std::size_t k) const;
  /// Fills tiles.d, whose formats are the datapath's; all NaNs become one code. Any k that it takes.
  void run(Tiles& tiles) const;

 private:
  Emulator emulator_;
  MatrixProduct product_;
  std::size_t k_;
  bool repeats_;
};

/// A datapath's dot product of so many products, as what takes an instruction takes it.
inline Instruction dot_of(const Datapath& datapath, int k) {
  const Numerics& n = datapath.numerics;
  Scaling scales;
  if (n.scales) scales = {ScaleKind::dot, n.scales->format, n.scales->block_k};
  return make_dot(n.result, n.a.format, n.b.format, n.c.format, k, scales);
}

}  // namespace tcnum
