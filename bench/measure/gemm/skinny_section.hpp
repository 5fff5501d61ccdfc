// What the pages show of tall and skinny products.
#pragma once

#include "bench/measure/sections.hpp"

namespace tcnum::bench {

Section skinny_section(const Document& document);

}  // namespace tcnum::bench
