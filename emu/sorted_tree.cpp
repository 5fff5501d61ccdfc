#include "sorted_tree.hpp"

namespace tcnum {

SortedTree::SortedTree(const Tree& of) : tree(of) {
  for (const Node& node : tree.nodes) {
    SortedNode sorted;
    sorted.unit = node.unit;
    sorted.terms = node.terms;
    for (const Term& t : node.terms) {
      if (t.kind == Term::Kind::product)
        sorted.products.push_back(t.index);
      else
        sorted.others.push_back(t);
    }
    sorted.contiguous = true;
    for (std::size_t i = 1; i < sorted.products.size(); ++i) {
      if (sorted.products[i] != sorted.products[0] + static_cast<int>(i)) sorted.contiguous = false;
    }
    units_in_use |= 1u << sorted.unit;
    nodes.push_back(std::move(sorted));
  }
}

}  // namespace tcnum
