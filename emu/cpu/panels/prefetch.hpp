// What comes next, brought into the cache while others are worked on.
#pragma once

#include <algorithm>
#include <cstddef>

#include <hwy/cache_control.h>

namespace tcnum::panels {

/// Some numbers, or none, that come in so many equal parts. All at once would have to wait for each other, as a core
/// asks for a dozen lines at a time.
template <class Number>
class PrefetchInParts {
 public:
  PrefetchInParts(const Number* numbers, std::size_t count, std::size_t parts)
      : numbers_(numbers),
        lines_(numbers == nullptr ? 0 : count / kLine),
        share_((lines_ + parts - 1) / std::max<std::size_t>(parts, 1)) {}

  void operator()(std::size_t part) const {
    for (std::size_t line = part * share_; line < std::min((part + 1) * share_, lines_); ++line)
      hwy::Prefetch(numbers_ + line * kLine);
  }

 private:
  static constexpr std::size_t kLine = 64 / sizeof(Number);

  const Number* numbers_;
  std::size_t lines_, share_;  // found once: a division takes as long as dozens of sums
};

/// A panel takes little of each of B's rows, too little for the machine to see what comes next: that of a row a little
/// further on, if there is one, is asked for. Rows are so many bytes apart, of which a panel takes `bytes`.
inline void prefetch_row_after(const std::byte* row, std::size_t row_bytes, std::size_t rows_after, std::size_t bytes) {
  constexpr std::size_t kAhead = 16, kLine = 64;
  if (rows_after < kAhead) return;
  for (std::size_t byte = 0; byte < bytes; byte += kLine) hwy::Prefetch(row + kAhead * row_bytes + byte);
}

}  // namespace tcnum::panels
