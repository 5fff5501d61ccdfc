// Two results of one dot product, in words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum::test {

/// All that is needed to see why whoever is named, "fast, exact", does not agree.
inline std::string difference(const Datapath& datapath, const Problem& problem, std::string_view names,
                              std::uint64_t one, std::uint64_t other) {
  std::string text = fmt::format("{}\n{}: {:#x}, {:#x}\n{:#x}", to_json(datapath).dump(), names, one, other, problem.c);
  for (std::size_t k = 0; k < problem.a.size(); ++k) text += fmt::format(" + {:#x}*{:#x}", problem.a[k], problem.b[k]);
  for (std::size_t block = 0; block < problem.sa.size(); ++block)
    text += fmt::format(" scales {:#x}, {:#x}", problem.sa[block], problem.sb[block]);
  return text;
}

}  // namespace tcnum::test
