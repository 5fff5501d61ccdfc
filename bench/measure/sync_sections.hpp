// What the pages show of atomics, barriers and clusters.
#pragma once

#include "sections.hpp"

namespace tcnum::bench {

Section atomics_section(const Document& document);
Section barriers_section(const Document& document);
Section clusters_section(const Document& document);
Section histogram_section(const Document& document);

}  // namespace tcnum::bench
