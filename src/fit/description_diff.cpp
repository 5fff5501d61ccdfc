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

/// Adds the paths of members below `path` in which values differ; null: there is none.
void add_differing(const std::vector<const ordered_json*>& values, const std::string& path,
                   std::vector<std::string>& paths) {
  const auto is_object = [](const auto* value) { return value != nullptr && value->is_object(); };
  if (!std::ranges::all_of(values, is_object)) {
    const auto is_first = [&](const auto* value) {
      return value == values.front() || (value != nullptr && values.front() != nullptr && *value == *values.front());
    };
    if (!std::ranges::all_of(values, is_first)) paths.push_back(path);
    return;
  }
  std::vector<std::string> keys;
  for (const auto* value : values) {
    for (const auto& [key, member] : value->items()) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  for (const std::string& key : keys) {
    std::vector<const ordered_json*> members;
    for (const auto* value : values) members.push_back(value->contains(key) ? &value->at(key) : nullptr);
    add_differing(members, path + "/" + key, paths);
  }
}

}  // namespace

std::vector<std::string> differing_members(const std::vector<ordered_json>& objects) {
  std::vector<const ordered_json*> roots;
  for (const ordered_json& each : objects) roots.push_back(&each);
  std::vector<std::string> paths;
  add_differing(roots, "", paths);
  return paths;
}

std::string shown_path(std::string path) {
  std::ranges::replace(path, '/', '.');
  return path.substr(1);
}

std::string member_text(const ordered_json& object, const std::string& path) {
  const ordered_json::json_pointer at(path);
  if (!object.contains(at) || object.at(at).is_null()) return "none";
  return object.at(at).is_string() ? object.at(at).get<std::string>() : object.at(at).dump();
}

void take_member(ordered_json& object, const ordered_json& other, const std::string& path) {
  const ordered_json::json_pointer at(path);
  if (other.contains(at))
    object[at] = other.at(at);
  else if (object.contains(at))
    object[at.parent_pointer()].erase(at.back());
}

std::vector<DescriptionDiff> description_diff(const Datapath& one, const Datapath& other) {
  ordered_json mine = said(one);
  const ordered_json theirs = with_names_of(mine, said(other));
  std::vector<std::string> fields = differing_members({mine, theirs});  // in whatever order the units stand
  mine["schema"] = to_json(one).at("schema");
  if (std::erase_if(fields, [](const std::string& path) { return path == "/k" || path == "/tree"; }) > 0)
    fields.insert(fields.begin(), "/tree");
  std::vector<DescriptionDiff> found;
  for (const std::string& field : fields) {
    std::optional<Datapath> exchanged;
    try {
      ordered_json taken = mine;
      take_member(taken, theirs, field);
      if (field == "/tree") take_member(taken, theirs, "/k");
      exchanged = datapath_from_json(taken);
    } catch (const InputError&) {  // the two do not go together
    }
    found.push_back({shown_path(field), member_text(mine, field), member_text(theirs, field), std::move(exchanged)});
  }
  return found;
}

}  // namespace tcnum
