// One dot product beside what it should be: what each node of a datapath does, and how far off that leaves the sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exact_value.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// a[k] · b[k], with the scales of its block.
ExactValue exact_product(const Numerics& numerics, const Problem& problem, std::size_t k);

/// Of the dot product's terms, those that a sum is of.
struct Summed {
  bool c = false;
  std::vector<std::pair<std::size_t, std::size_t>> products;  ///< first and last of each run, ascending

  void add(const Summed& other);
  /// "c, products 0 to 15".
  std::string text() const;
  friend bool operator==(const Summed&, const Summed&) = default;
};

struct ExplainedNode {
  TracedNode traced;
  std::size_t unit = 0;
  Summed of;                   ///< all that has come into it, by way of other nodes too
  ExactValue exact;            ///< the sum of these
  ExactValue result;           ///< what the node makes of it
  std::optional<double> ulps;  ///< of the dot product's result: how far the node's is off, if both are finite
  /// Its products are zeros, and so are all its other terms but one, which is its result: as if it were not there.
  bool idle = false;
};

struct Explanation {
  /// Of one evaluation of the datapath after the other, each of which takes the result of the one before for its c.
  std::vector<ExplainedNode> nodes;
  std::size_t nodes_each = 0, products_each = 0;  ///< of one evaluation
  std::uint64_t d = 0;
  ExactValue exact;
  std::optional<double> ulps;

  /// How a term of a node is called, such as "sum 3".
  std::string term_name(std::size_t node, const Term& term) const;
  /// The node's number among all nodes that a term is the result of; of the first c, none.
  std::optional<std::size_t> node_of(std::size_t node, const Term& term) const;
};

/// A problem has as many products as the datapath takes, or a chain of it. Block scales are in the exact sum too, and
/// operands are what their codes say: a datapath that flushes subnormals is off. Throws as trace_exact() does.
Explanation explain(const Datapath& datapath, const Problem& problem);

}  // namespace tcnum
