// How far the model of products is from what was measured.
#pragma once

#include <vector>

#include "bench/measure/sections.hpp"

namespace tcnum::bench {

/// None where the document has no parameters of the model.
std::vector<Section> model_sections(const Document& document);

}  // namespace tcnum::bench
