// What each of the CPU's evaluators of single nodes asks of a datapath.
#pragma once

#include "emu/evaluators.hpp"

namespace tcnum::cpu {

/// What a sum of aligned terms has room for on the stack.
inline constexpr std::size_t kMostProducts = 64, kMostOthers = 8;
/// Bits that the terms of an exact sum of two, and what its first rounding keeps, leave free in an integer: what lies
/// below the integer's last bit is folded into that bit, which must be below all bits that decide a rounding.
inline constexpr int kPairSpareBits = 8;

/// The units, as bits, whose results are significands of few enough bits for 64-bit evaluators to take as terms.
unsigned units_of_short_results(const Numerics& numerics, const SortedTree& tree);

/// What all of them ask.
WhyNot why_not_node_by_node(const Numerics& numerics, const SortedTree& tree);

/// A node of a datapath that can be evaluated node by node.
struct NodeToTake {
  const Numerics& numerics;
  const SortedTree& tree;
  const SortedNode& node;
  unsigned short_results;  ///< units_of_short_results()

  const Unit& unit() const { return numerics.units[static_cast<std::size_t>(node.unit)]; }
};
WhyNot why_not_columns(const NodeToTake& node);
WhyNot why_not_pairs_64(const NodeToTake& node);
WhyNot why_not_terms_128(const NodeToTake& node);

}  // namespace tcnum::cpu
