// Chains of FMAs, which the machine has.
#pragma once

#include <vector>

#include "evaluators.hpp"

namespace tcnum {

/// A chain of IEEE 754's FMAs: the order in which it takes its products, and how all of them round.
struct FmaChain {
  std::vector<int> order;
  Rounding rounding = Rounding::nearest_even;
};

/// Why a datapath is no such chain; empty if it is one. The machine's FMA then gives the same numbers, zeros and
/// infinities, but not the same NaNs.
WhyNot why_no_fma_chain(const Numerics& numerics, const SortedTree& tree);
/// The same of FMAs whose results are of that format, whatever their operands are.
WhyNot why_no_fma_chain_in(FormatId number, const Numerics& numerics, const SortedTree& tree);
/// The chain that a datapath is.
FmaChain fma_chain_of(const Numerics& numerics, const SortedTree& tree);

}  // namespace tcnum
