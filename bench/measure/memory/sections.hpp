// What the pages show of memories.
#pragma once

#include <vector>

#include "bench/measure/sections.hpp"

namespace tcnum::bench {

/// Whether a measurement of memories wrote it. The spread of such a record is that of a sweep's worst point.
bool is_of_memory(const Record& record);

std::vector<Section> memory_sections(const Document& document);

/// Bytes a clock by strides: 16 rows of 8, stride 1 at first.
std::vector<std::vector<std::string>> strides_table(const Record& record);

}  // namespace tcnum::bench
