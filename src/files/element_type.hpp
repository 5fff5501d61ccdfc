// The types that files declare their elements to have, and which formats' codes may stand in them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tcnum/format.hpp"

namespace tcnum {

/// A row of a container's table of types.
struct ElementType {
  std::string_view name;           ///< as the container spells it
  int bits;                        ///< of one element
  std::optional<FormatId> format;  ///< that its elements have where nothing else is said; nothing: it must be said
  /// An integer, or opaque: may hold the codes of any format of that size. All others hold what they say.
  bool any_codes;

  bool can_hold(FormatId id) const {
    if (any_codes && tcnum::format(id).storage_bytes() * 8 == bits) return true;
    if (id == FormatId::tf32) return format == FormatId::fp32;      // all 32 bits, as given to the hardware
    if (id == FormatId::ue4m3) return format == FormatId::fp8e4m3;  // it is that without a sign
    return format == id;
  }
};

inline const ElementType* find_element_type(std::span<const ElementType> types, std::string_view name) {
  const auto found = std::ranges::find(types, name, &ElementType::name);
  return found == types.end() ? nullptr : &*found;
}

/// "fp16, bf16": those that can stand in the type.
std::string formats_in(const ElementType& type);
/// "F16, U16": those that can hold the format.
std::string types_for(std::span<const ElementType> types, FormatId id);

}  // namespace tcnum
