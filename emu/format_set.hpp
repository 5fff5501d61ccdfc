// Sets of number formats, for tables.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "tcnum/format.hpp"

namespace tcnum {

struct FormatSet {
  std::uint32_t bits = 0;
  constexpr FormatSet(std::initializer_list<FormatId> ids) {
    for (const FormatId id : ids) bits |= 1u << static_cast<unsigned>(id);
  }
  constexpr bool contains(FormatId id) const {
    return !is_own(id) && (bits >> static_cast<unsigned>(id) & 1u) != 0;
  }
};
static_assert(kFormats.size() <= 32);

}  // namespace tcnum
