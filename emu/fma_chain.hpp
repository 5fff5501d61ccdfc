// Chains of fp64 FMAs, evaluated with the machine's own.
#pragma once

#include <span>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// The order in which a chain of IEEE 754 FMAs, rounding to nearest, takes its products; empty: the datapath is
/// something else. The machine's FMA gives the same numbers, zeros and infinities, but not the same NaNs.
std::vector<int> fma_chain_order(const Numerics& numerics, const Tree& tree);

/// Evaluates tile t with such a chain. `results`: m × n numbers, row-major.
void evaluate_fma_chain(const Tiles& tiles, std::size_t t, std::span<const int> order, std::span<double> results);

}  // namespace tcnum
