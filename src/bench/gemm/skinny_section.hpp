// What the pages show of tall and skinny products.
#pragma once

#include "src/bench/sections.hpp"

namespace tcnum::bench {

Section skinny_section(const Document& document);

}  // namespace tcnum::bench
