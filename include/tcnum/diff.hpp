// Where two datapaths part: whether they ever give different results, for how much of what operands, and what of their
// descriptions does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/fit.hpp"

namespace tcnum {

/// Dot products of operands of one kind: "crafted" as the battery has them, or random ones of a distribution.
struct OperandsDiff {
  std::string_view operands;
  std::uint64_t tried = 0, different = 0;
  double max_ulps = 0;   ///< of finite results that differ: how many results lie between, and one
  double mean_ulps = 0;  ///< of the same
};

/// What the descriptions say otherwise, by its path in their JSON; "tree" is k and the tree.
struct FieldDiff {
  std::string field, one, other;
  bool decides = false;  ///< the first with this of the second gives the second's result for the smallest operands
};

struct DatapathDiff {
  int k = 0;           ///< products of each dot product that was tried
  bool equal = false;  ///< the descriptions say the same: they never differ
  std::vector<OperandsDiff> operands;
  /// The smallest operands that were found for which they differ: `expected` is the first's result, `observed` the
  /// second's.
  std::optional<Counterexample> smallest;
  std::vector<FieldDiff> fields;

  std::uint64_t tried() const;
  std::uint64_t different() const;
};

struct DiffOptions {
  std::uint64_t seed = 1;
  std::size_t tiles = 256;  ///< of 8 × 8 of each distribution
  unsigned threads = 0;     ///< 0: as many as the machine has
};

/// Two NaNs are the same result. Where one datapath takes more products than the other, each is chained until both have
/// taken as many. Throws InputError if their formats or block scales differ, if one that would have to be chained takes
/// a c of another format than its results, or if that would be more than 256 products.
DatapathDiff diff(const Datapath& one, const Datapath& other, const DiffOptions& options = {});

}  // namespace tcnum
