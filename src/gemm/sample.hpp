// Some rows and columns of a product, for those who have many plans to try.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tcnum {

struct Sample {
  std::vector<std::size_t> rows, columns;
};

/// As many as these, evenly from the first to the last.
inline std::vector<std::size_t> evenly(std::size_t count, std::size_t most) {
  std::vector<std::size_t> chosen;
  const std::size_t here = std::min(count, most);
  for (std::size_t i = 0; i < here; ++i) chosen.push_back(here == 1 ? 0 : i * (count - 1) / (here - 1));
  return chosen;
}
inline Sample sample_of(std::size_t m, std::size_t n, std::size_t rows, std::size_t columns) {
  return {evenly(m, rows), evenly(n, columns)};
}

}  // namespace tcnum
