// One dot product bit by bit, of one datapath or of several, and one element of a product by a plan.
#pragma once

#include "exact_value.hpp"
#include "src/gemm/element.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

// --- One dot product beside what it should be: what each node of a datapath does, and how far off that leaves the sum.

/// a[k] · b[k], with the scales of its block.
ExactValue exact_product(const Numerics& numerics, const Problem& problem, std::size_t k);

/// Products by their numbers, in runs: "0 to 3, 8, ..., 12 to 15", where there are many; the first and last of each.
std::string runs_text(const std::vector<Stretch>& products);
nlohmann::ordered_json runs_json(const std::vector<Stretch>& products);

/// Of the dot product's terms, those that a sum is of.
struct Summed {
  bool c = false;
  std::vector<Stretch> products;  ///< runs, ascending

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

// --- One dot product, bit by bit.

/// What each node of the datapath does with the problem: its terms, how far each is shifted, which of its bits are kept
/// and which cut, the sum, how it is rounded, and how far that is from the true value; nodes that zeros alone come into
/// in one line. Each line is indented by two; ends with the result and its error. A problem with more products than the
/// datapath takes is that of a chain.
std::string explain_text(const Datapath& datapath, const Problem& problem);

/// "error +0.5 ulps".
std::string error_text(double ulps);

// --- One dot product as several datapaths compute it, side by side, for people, programs and papers.

/// Whose datapath it is: an instruction's of an architecture, or a file's, whose name is `instruction`.
struct ExplainedOf {
  std::string arch, instruction, account, origin;
  std::string operands = {};    ///< their formats
  std::string lowered_to = {};  ///< CatalogueEntry

  /// The instruction, marked if it is lowered.
  std::string marked_name() const;
};

struct ExplainedSide {
  std::vector<ExplainedOf> of;
  Datapath datapath;
  Problem problem;  ///< the same numbers on every side, in the datapath's formats
  Explanation explanation;

  /// Of the result, the bits that are not those of the true value rounded to nearest; none if that is no finite number.
  std::uint64_t differing_bits() const;
};

ExplainedSide make_side(ExplainedOf of, Datapath datapath, Problem problem);

/// As one those of the same formats whose sums that are not idle have the same results.
std::vector<ExplainedSide> fold(std::vector<ExplainedSide> sides);

/// The numbers, each side's result with its bits and its error, and the sums on the way.
std::string sides_text(const std::vector<ExplainedSide>& sides);
/// tcnum.explain/1 (docs/schemas).
nlohmann::ordered_json sides_document(const std::vector<ExplainedSide>& sides);

// --- One element of a product by a plan, or by two, for people and programs.

/// What a plan, which is called so, makes of the element.
struct ExplainedElement {
  std::string name;
  ElementTrace trace;

  /// Whether one accumulator takes all products.
  bool is_one_chain() const { return trace.chains.size() == 1; }
};

/// What each plan does; its steps; and how its result becomes D's code. Of two plans, from the first step on that
/// differs. `observed`: another result, in the format of D. `chain_is_shown`: of a plan that is one chain, its k-steps
/// are left out, as explain_text() has shown them.
std::string element_text(const std::vector<ExplainedElement>& plans, const std::optional<std::uint64_t>& observed = {},
                         bool chain_is_shown = false);

/// tcnum.explain/1. `chain`: the first accumulator of the first plan.
nlohmann::ordered_json element_document(const std::vector<ExplainedElement>& plans, const ExplainedSide& chain,
                                        const std::optional<std::uint64_t>& observed = {});

}  // namespace tcnum
