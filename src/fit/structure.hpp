// The structure of a datapath: which products form a block, in which order, and how the blocks and c come together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tcnum/datapath.hpp"

namespace tcnum {

/// How the sums of the blocks and c come together.
enum class Combination : std::uint8_t {
  chain,         ///< each block's sum takes in the result of the one before; the first takes in c
  chain_then_c,  ///< likewise, but the first block starts from nothing and c is added at the end
  adds,          ///< each block is summed alone; the sums are added to c one after the other
  adds_then_c,   ///< likewise, but to each other first and to c at the end
  pairs,         ///< sums are added in pairs, each pair to c one after the other: (c + (T0 + T1)) + (T2 + T3)
  tree_then_c,   ///< sums are added in a balanced tree of neighbours, c at the end
};

/// Products by their k, block by block; each block ascending.
using Blocks = std::vector<std::vector<int>>;

/// The order in which a structure takes its products.
struct ProductOrder {
  enum class Kind : std::uint8_t {
    one_block,    ///< all at once: there is no order
    ascending,    ///< of k
    descending,   ///< of k
    interleaved,  ///< groups of neighbours, alternately to a first half and to a second
    halves,       ///< k and k + K/2 side by side
    found,        ///< as the answers suggest
  };
  Kind kind = Kind::ascending;
  int group = 0;  ///< of interleaved: how many neighbours
  friend constexpr bool operator==(const ProductOrder&, const ProductOrder&) = default;
};
/// "ascending k", "interleaved by 2".
std::string text_of(const ProductOrder& order);

/// What a node of a structure does; the numbers of the units in its tree.
enum Role : int {
  kBlockSum = 0,  ///< a sum of products that is the result
  kInnerSum = 1,  ///< a sum of products whose result goes on
  kAdd = 2,       ///< a floating-point add that is the result
  kInnerAdd = 3,  ///< a floating-point add whose result goes on
};

/// The shape of a datapath's tree. Units of the tree are roles.
struct Structure {
  Combination combination = Combination::chain;
  Blocks blocks;
  Tree tree;
  ProductOrder order;

  bool adds_apart() const { return combination != Combination::chain; }
  /// Whether each product is rounded by itself, so that nothing is ever aligned in a block sum.
  bool products_alone() const {
    return block_k() == 1 && combination != Combination::chain && combination != Combination::chain_then_c;
  }
  int block_k() const;  ///< size of the largest block
};

Structure make_structure(Combination combination, Blocks blocks, ProductOrder order);

/// "2 blocks of 8, ascending k; c inside, blocks in a chain".
std::string text_of(const Structure& structure);

/// An order of all k, with its products.
struct OrderedProducts {
  ProductOrder order;
  std::vector<int> k;
};
/// The orders in which hardware might take k products.
std::vector<OrderedProducts> product_orders(int k);

/// Splits an order of all k into blocks of a size.
Blocks blocks_of(const std::vector<int>& k, int size);

/// What a tree computes, written so that trees that only differ in the order of a node's terms are written alike,
/// unless that order matters (`ordered`).
std::string shape_of(const Tree& tree, bool ordered);

}  // namespace tcnum
