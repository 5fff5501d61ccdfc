// Products of whole matrices by chains of IEEE 754's FMAs.
#pragma once

#include <cstddef>

#include "emu/cpu/matrix_codes.hpp"
#include "emu/fma_chain.hpp"

namespace tcnum::panels {

struct FmaChainPlan {
  OperandRule a, b, c;
  FormatId number = FormatId::fp64;  ///< of all results: fp64 or fp32
  std::size_t depth = 0;             ///< products of a k-step, which is the datapath once
  FmaChain chain;                    ///< of a k-step
  NanRule nan;
  Datapath datapath;  ///< for those who tell which NaN a NaN is
};

/// Why FMA panels cannot evaluate a datapath; empty if they can.
WhyNot why_no_fma_panels(const Numerics& numerics, const SortedTree& tree);
/// Of a datapath that they can.
FmaChainPlan make_fma_chain_plan(const Numerics& numerics, const SortedTree& tree);

/// As multiply() of aligned sums.
void multiply(const FmaChainPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads);

}  // namespace tcnum::panels
