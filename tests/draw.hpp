// Datapaths drawn from a space.
#pragma once

#include <cstdint>
#include <random>

#include "src/fit/space.hpp"

namespace tcnum {

/// Every property any of its values, until they go together.
inline Choice draw(const Space& space, std::mt19937_64& random) {
  Choice c{};
  do {
    for (std::size_t i = 0; i < kProperties; ++i) {
      c[i] = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(space.count(static_cast<Property>(i))));
    }
  } while (!space.contains(c));
  return c;
}

}  // namespace tcnum
