// What the pages show of linear layers.
#pragma once

#include <vector>

#include "bench/measure/sections.hpp"

namespace tcnum::bench {

std::vector<Section> linear_sections(const Document& document);

}  // namespace tcnum::bench
