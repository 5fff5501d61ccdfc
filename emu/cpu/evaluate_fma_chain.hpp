// Chains of fp64 FMAs, evaluated with the machine's own.
#pragma once

#include <span>

#include "emu/fma_chain.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// Evaluates tile t with such a chain. `results`: m × n numbers, row-major, of which NaNs are only known to be NaNs.
void evaluate_fma_chain(const Tiles& tiles, std::size_t t, const FmaChain& chain, std::span<double> results);

}  // namespace tcnum
