// What the pages show of starting kernels.
#pragma once

#include "sections.hpp"

namespace tcnum::bench {

Section launch_section(const Document& document);

}  // namespace tcnum::bench
