#include "description_diff.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

/// What the description says, beside what it is called.
ordered_json said(const Datapath& datapath) {
  ordered_json json = to_json(datapath);
  for (const char* key : {"schema", "name", "note", "source"}) json.erase(key);
  return json;
}

/// Names of units in the order in which the tree has them.
void names_in(const ordered_json& tree, std::vector<std::string>& names) {
  if (!tree.is_array()) return;
  const std::string name = tree.at(0);
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  for (const ordered_json& term : tree) names_in(term, names);
}
void rename_in(ordered_json& tree, const std::vector<std::string>& from, const std::vector<std::string>& to) {
  if (!tree.is_array()) return;
  const auto at = std::ranges::find(from, tree.at(0).get<std::string>()) - from.begin();
  tree[0] = to[static_cast<std::size_t>(at)];
  for (std::size_t i = 1; i < tree.size(); ++i) rename_in(tree[i], from, to);
}
/// The other with the names of the one's units, if it has as many: what units are called says nothing.
ordered_json with_names_of(const ordered_json& one, ordered_json other) {
  std::vector<std::string> to, from;
  names_in(one.at("tree"), to);
  names_in(other.at("tree"), from);
  if (to.size() != from.size() || from.size() != other.at("units").size()) return other;
  ordered_json units;
  for (std::size_t i = 0; i < to.size(); ++i) units[to[i]] = other.at("units").at(from[i]);
  other["units"] = units;
  rename_in(other["tree"], from, to);
  return other;
}

/// Fields that are not the same, as paths; the tree with its k is one.
std::vector<std::string> fields_of(const ordered_json& one, const ordered_json& other) {
  std::vector<std::string> fields;
  if (one.at("k") != other.at("k") || one.at("tree") != other.at("tree")) fields.emplace_back("/tree");
  const auto add = [&](const auto& self, const ordered_json& x, const ordered_json& y,
                       const std::string& path) -> void {
    if (x == y || path == "/tree" || path == "/k") return;
    if (!x.is_object() || !y.is_object()) {
      fields.push_back(path);
      return;
    }
    for (const auto& [key, value] : x.items()) {
      if (y.contains(key))
        self(self, value, y.at(key), path + "/" + key);
      else
        fields.push_back(path + "/" + key);
    }
    for (const auto& [key, value] : y.items()) {
      if (!x.contains(key)) fields.push_back(path + "/" + key);
    }
  };
  add(add, one, other, "");
  return fields;
}

/// The one with a field as the other has it.
std::optional<Datapath> exchanged(const std::string& field, ordered_json mine, const ordered_json& theirs) {
  const auto take = [&](const std::string& path) {
    const ordered_json::json_pointer at(path);
    if (theirs.contains(at))
      mine[at] = theirs.at(at);
    else
      mine[at.parent_pointer()].erase(at.back());
  };
  take(field);
  if (field == "/tree") take("/k");
  try {
    return datapath_from_json(mine);
  } catch (const InputError&) {
    return std::nullopt;  // the two do not go together
  }
}

}  // namespace

std::vector<DescriptionDiff> description_diff(const Datapath& one, const Datapath& other) {
  ordered_json mine = said(one);
  const ordered_json theirs = with_names_of(mine, said(other));
  std::vector<DescriptionDiff> found;
  const std::vector<std::string> fields = fields_of(mine, theirs);  // in whatever order the units stand
  mine["schema"] = to_json(one).at("schema");
  for (const std::string& field : fields) {
    const ordered_json::json_pointer at(field);
    const auto text = [&](const ordered_json& of) {
      if (!of.contains(at)) return std::string("none");
      return of.at(at).is_string() ? of.at(at).get<std::string>() : of.at(at).dump();
    };
    std::string name = field.substr(1);
    std::ranges::replace(name, '/', '.');
    found.push_back({std::move(name), text(mine), text(theirs), exchanged(field, mine, theirs)});
  }
  return found;
}

}  // namespace tcnum
