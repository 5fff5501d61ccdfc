// What the pages show of the roofline.
#pragma once

#include <vector>

#include "bench/measure/sections.hpp"

namespace tcnum::bench {

/// The roofs, and all points of them.
std::vector<Section> roofline_sections(const Document& document);

}  // namespace tcnum::bench
