// What the pages show of matrix products.
#pragma once

#include <vector>

#include "bench/measure/sections.hpp"

namespace tcnum::bench {

/// Whether a measurement of products wrote it. The spread of such a record is that of times.
bool is_of_products(const Record& record);

std::vector<Section> product_sections(const Document& document);

}  // namespace tcnum::bench
