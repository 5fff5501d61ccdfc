// A datapath's tree as evaluators read it: each node's terms sorted by what they are.
#pragma once

#include <vector>

#include "tcnum/datapath.hpp"

namespace tcnum {

struct SortedNode {
  int unit = 0;
  std::vector<int> products;  ///< k of each, in the tree's order
  std::vector<Term> others;   ///< the accumulator and results of nodes
  std::vector<Term> terms;    ///< all, in the tree's order
  bool contiguous = false;    ///< products are those of k = products[0], products[0] + 1, …
};

struct SortedTree {
  explicit SortedTree(const Tree& of);

  Tree tree;
  std::vector<SortedNode> nodes;
  unsigned units_in_use = 0;  ///< bit u: some node is of unit u
};

}  // namespace tcnum
