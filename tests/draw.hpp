// Datapaths drawn from a space.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>

#include "src/fit/space.hpp"

namespace tcnum {

/// Widens a space as far as it goes. Returns the number of its first new structure, or none if there is none.
inline std::optional<int> widen_fully(Space& space) {
  const std::optional<int> first = space.widen();
  while (space.widen()) {
  }
  return first;
}

/// The first structure of that kind whose largest block has block_k products, taken in that order; of one block the
/// order is no matter.
inline int find_structure(const Space& space, Combination combination, int block_k, ProductOrder order = {}) {
  const auto found = std::ranges::find_if(space.structures(), [&](const Structure& s) {
    return s.combination == combination && s.block_k() == block_k && (s.blocks.size() == 1 || s.order == order);
  });
  return static_cast<int>(found - space.structures().begin());
}

/// Every property any of its values, until they go together.
inline Choice draw(const Space& space, std::mt19937_64& random) {
  Choice c{};
  do {
    for (std::size_t i = 0; i < kProperties; ++i) {
      // What means nothing for the structure, which is drawn first, is not drawn.
      if (kPropertyTable[i].part == Part::joining && !space.structure(c).sums_apart()) {
        c[i] = 0;
        continue;
      }
      const ScaledGroups& groups = space.structure(c).scaled;
      if (const auto p = static_cast<Property>(i);
          (p == Property::group_bits && !groups.cut) || (p == Property::group_exponent && groups.size == 0)) {
        c[i] = 0;
        continue;
      }
      c[i] = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(space.count(static_cast<Property>(i))));
    }
  } while (!space.contains(c));
  return c;
}

}  // namespace tcnum
