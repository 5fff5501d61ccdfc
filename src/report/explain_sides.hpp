// One dot product as several datapaths compute it, side by side, for people, programs and papers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "explanation.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

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
/// Tables for the package booktabs: the results, and if there is one side alone, its sums.
std::string sides_latex(const std::vector<ExplainedSide>& sides);

}  // namespace tcnum
