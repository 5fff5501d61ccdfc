// What the pages show of the DPX functions.
#pragma once

#include "sections.hpp"

namespace tcnum::bench {

Section dpx_section(const Document& document, const SassTable& sass);

}  // namespace tcnum::bench
