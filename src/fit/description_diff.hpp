// What two descriptions of datapaths say otherwise, field by field.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tcnum/datapath.hpp"

namespace tcnum {

/// A field by its path in the JSON of a description, "units.sum.fraction_bits"; "tree" is k and the tree.
struct DescriptionDiff {
  std::string field, one, other;      ///< the field, and what either says
  std::optional<Datapath> exchanged;  ///< the one with this field as the other has it, if that is a datapath
};

/// Beside what the descriptions and their units are called. None: they describe the same datapath.
std::vector<DescriptionDiff> description_diff(const Datapath& one, const Datapath& other);

}  // namespace tcnum
