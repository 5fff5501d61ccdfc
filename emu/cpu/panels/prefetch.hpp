// What comes next, brought into the cache while others are worked on.
#pragma once

#include <algorithm>
#include <cstddef>

#include <hwy/cache_control.h>

namespace tcnum::panels {

/// Has one of so many equal parts of some numbers brought there; nothing if there are none. All at once would have to
/// wait for each other, as a core asks for a dozen lines at a time.
template <class Number>
void prefetch_part(const Number* numbers, std::size_t count, std::size_t part, std::size_t parts) {
  constexpr std::size_t kLine = 64 / sizeof(Number);
  if (numbers == nullptr) return;
  const std::size_t lines = count / kLine, share = (lines + parts - 1) / parts;
  for (std::size_t line = part * share; line < std::min((part + 1) * share, lines); ++line)
    hwy::Prefetch(numbers + line * kLine);
}

}  // namespace tcnum::panels
