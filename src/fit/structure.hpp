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
  // Rarer ones, which a space has once it is widened.
  group_trees,   ///< sums are added in balanced trees of `group` neighbours, each tree to c one after the other
  apart,         ///< a block's products are aligned and added, then that sum with the result before, the first with c
  apart_parity,  ///< likewise, but every other product of a block first, and the two sums with each other
  apart_halves,  ///< likewise, a block's first half and its second
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
  kFirstAdd = 0,  ///< of group_trees, of which no such sum is the result: the add of c, where others follow
  kInnerSum = 1,  ///< a sum of products, or of such sums, whose result goes on
  kAdd = 2,       ///< a floating-point add that is the result
  kInnerAdd = 3,  ///< a floating-point add whose result goes on
  // Where products are summed apart, the first two are what takes in the result before, and these are:
  kProducts = 2,  ///< a sum of products that is not rounded
  kHalves = 3,    ///< of two of them
  // Sums of products that are multiplied by their block scales are not rounded either. They have a number that nothing
  // else needs: where sums are added apart, no sum of products is the result, and elsewhere nothing is added.
  kGroupInChain = 2,
  kGroupApart = 0,
};

/// Sums of neighbours in k that are multiplied by the block scales that they share.
struct ScaledGroups {
  int size = 0;      ///< 0: each product is multiplied
  bool cut = false;  ///< their products are aligned and cut, rather than added exactly
  friend constexpr bool operator==(const ScaledGroups&, const ScaledGroups&) = default;
};

/// The shape of a datapath's tree. Units of the tree are roles.
struct Structure {
  Combination combination = Combination::chain;
  Blocks blocks;
  Tree tree;
  ProductOrder order;
  int group = 0;  ///< of group_trees: how many blocks
  ScaledGroups scaled;

  bool adds_apart() const { return combination != Combination::chain && !sums_apart(); }
  /// Whether the products of a block are aligned among themselves, before their sum is with what goes on.
  bool sums_apart() const { return combination >= Combination::apart; }
  /// Whether each product is rounded by itself, so that nothing is ever aligned in a block sum.
  bool products_alone() const {
    return block_k() == 1 && combination != Combination::chain && combination != Combination::chain_then_c;
  }
  /// What sums of scaled groups are, of a structure that has them.
  Role group_role() const { return adds_apart() ? kGroupApart : kGroupInChain; }
  int block_k() const;  ///< size of the largest block
};

/// `group` is of group_trees. Blocks consist of whole scaled groups.
Structure make_structure(Combination combination, Blocks blocks, ProductOrder order, int group = 0,
                         ScaledGroups scaled = {});

/// "2 blocks of 8, ascending k; c inside, blocks in a chain".
std::string text_of(const Structure& structure);

/// An order of all k, with its products.
struct OrderedProducts {
  ProductOrder order;
  std::vector<int> k;
};
/// The orders in which hardware might take k products.
std::vector<OrderedProducts> product_orders(int k);

/// Neighbours in one block; none, if there is an odd number of them.
Blocks in_pairs(const Blocks& blocks);
/// Splits an order of all k into blocks of a size.
Blocks blocks_of(const std::vector<int>& k, int size);

/// What a tree computes, written so that trees that only differ in the order of a node's terms are written alike,
/// unless that order matters (`ordered`).
std::string shape_of(const Tree& tree, bool ordered);

}  // namespace tcnum
