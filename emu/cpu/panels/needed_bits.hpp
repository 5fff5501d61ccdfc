// Fraction bits that no number of a datapath has.
#pragma once

#include "emu/sorted_tree.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum::panels {

/// The datapath with fewer fraction bits wherever the more make no difference, whatever the operands are: sums of small
/// formats' numbers are cut, and rounded, to more bits than they can have. All results are the same.
Numerics with_needed_bits(const Numerics& numerics, const SortedTree& tree);

}  // namespace tcnum::panels
