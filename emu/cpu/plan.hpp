// A datapath as the CPU's evaluators take it.
#pragma once

#include <memory>
#include <vector>

#include "emu/evaluators.hpp"
#include "emu/fma_chain.hpp"
#include "emu/integer_sums.hpp"

namespace tcnum {

/// A datapath, and what is worked out of it once.
struct CpuPlan {
  CpuPlan(const Tree& of, const Numerics& to);
  /// Keeps the tree and works the rest out anew.
  void set_numerics(const Numerics& to);

  /// The one evaluator of the datapath's narrow tiles; any of those from `columns` to `terms_128` if they are evaluated
  /// node by node.
  CpuEvaluator evaluator() const { return evaluators.front(); }
  const Unit& unit_of(const SortedNode& node) const { return numerics.units[static_cast<std::size_t>(node.unit)]; }

  std::shared_ptr<const SortedTree> tree;
  Numerics numerics;
  std::vector<CpuEvaluator> evaluators;  ///< of each node
  bool scales_sums = false;              ///< block scales are factors of sums, not of products
  FmaChain fma_chain;                    ///< where the evaluator is that
  IntegerUnits integers;                 ///< where it is those
};

}  // namespace tcnum
