#include "element_type.hpp"

namespace tcnum {
namespace {

void add(std::string& list, std::string_view name) { list.append(list.empty() ? "" : ", ").append(name); }

}  // namespace

std::string formats_in(const ElementType& type) {
  std::string list;
  for (const Format& each : kFormats) {
    if (type.can_hold(each.id)) add(list, each.name);
  }
  return list;
}

std::string types_for(std::span<const ElementType> types, FormatId id) {
  std::string list;
  for (const ElementType& each : types) {
    if (each.can_hold(id)) add(list, each.name);
  }
  return list;
}

}  // namespace tcnum
