// What the pages show of linear layers.
#pragma once

#include <vector>

#include "src/bench/sections.hpp"

namespace tcnum::bench {

std::vector<Section> linear_sections(const Document& document);

}  // namespace tcnum::bench
