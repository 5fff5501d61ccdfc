// What the pages show of matrix products.
#pragma once

#include <vector>

#include "bench/measure/sections.hpp"

namespace tcnum::bench {

/// The best tile against the library, with plots; every kernel, for each set of shapes; and single products of the sets
/// that are of somebody's.
std::vector<Section> gemm_sections(const Document& document);

}  // namespace tcnum::bench
