// What the pages show of copies to shared memory.
#pragma once

#include <vector>

#include "bench/measure/sections.hpp"

namespace tcnum::bench {

/// Whether a measurement of copies from memory wrote it.
bool is_of_copies(const Record& record);

std::vector<Section> copy_sections(const Document& document);

}  // namespace tcnum::bench
