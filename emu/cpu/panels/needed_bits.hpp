// Fraction bits that no number of a datapath has, and exponents that none comes to.
#pragma once

#include <vector>

#include "emu/sorted_tree.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum::panels {

/// All sums of a node are multiples of 2^lowest, and below 2^top.
struct SumReach {
  int lowest = 0, top = 0;
};

struct NeededBits {
  /// The datapath with fewer fraction bits wherever the more make no difference, whatever the operands are: sums of
  /// small formats' numbers are cut, and rounded, to more bits than they can have. Likewise with a larger largest
  /// exponent, where even the smallest number is too large, and infinite. All results are the same.
  Numerics numerics;
  std::vector<SumReach> sums;  ///< of each node, before they are scaled and rounded
};
NeededBits needed_bits(const Numerics& numerics, const SortedTree& tree);

}  // namespace tcnum::panels
