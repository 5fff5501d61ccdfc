#include "lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "tcnum/error.hpp"

namespace tcnum {

void Lines::add(std::string_view piece) {
  constexpr std::size_t kLongest = std::size_t{1} << 20;
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    line_ += piece.substr(0, end);
    if (line_.size() > kLongest) {
      throw InputError(fmt::format("{}: has a line longer than {} MiB; expected text", where_, kLongest >> 20));
    }
    if (end == piece.npos) return;
    take_(line_);
    line_.clear();
    piece.remove_prefix(end + 1);
  }
}

void Lines::finish() {
  if (!line_.empty()) take_(line_);
  line_.clear();
}

}  // namespace tcnum
