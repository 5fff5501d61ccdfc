// What descriptions in JSON say otherwise, of datapaths and of plans: field by field.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tcnum/datapath.hpp"

namespace tcnum {

/// Paths of the members in which objects differ, "/units/sum/fraction_bits", in the order in which they come; what is
/// an object in all of them is looked into.
std::vector<std::string> differing_members(const std::vector<nlohmann::ordered_json>& objects);
/// The path as reports show it: "units.sum.fraction_bits".
std::string shown_path(std::string path);
/// What stands there, text as it is; "none" if nothing does.
std::string member_text(const nlohmann::ordered_json& object, const std::string& path);
/// Puts there what the other has, if it has anything.
void take_member(nlohmann::ordered_json& object, const nlohmann::ordered_json& other, const std::string& path);

/// A field by its path in the JSON of a description, "units.sum.fraction_bits"; "tree" is k and the tree.
struct DescriptionDiff {
  std::string field, one, other;      ///< the field, and what either says
  std::optional<Datapath> exchanged;  ///< the one with this field as the other has it, if that is a datapath
};

/// Beside what the descriptions and their units are called. None: they describe the same datapath.
std::vector<DescriptionDiff> description_diff(const Datapath& one, const Datapath& other);

}  // namespace tcnum
