// Chains of fp64 FMAs, evaluated with the machine's own.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// A chain of IEEE 754's FMAs: the order in which it takes its products, and how all of them round.
struct FmaChain {
  std::vector<int> order;
  Rounding rounding = Rounding::nearest_even;
};
/// The chain that a datapath is, if it is one. The machine's FMA gives the same numbers, zeros and infinities, but not
/// the same NaNs.
std::optional<FmaChain> fma_chain(const Numerics& numerics, const Tree& tree);

/// Evaluates tile t with such a chain. `results`: m × n numbers, row-major.
void evaluate_fma_chain(const Tiles& tiles, std::size_t t, const FmaChain& chain, std::span<double> results);

}  // namespace tcnum
