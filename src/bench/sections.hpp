// What the pages of recorded measurements show, section by section.
#pragma once

#include <string>
#include <vector>

#include "record.hpp"
#include "src/catalogue/sass.hpp"

namespace tcnum::bench {

/// A part of a page. Markdown leaves the plots out.
struct Section {
  std::string title, prose;
  std::vector<std::vector<std::string>> table;  ///< the first row is the heading; empty: none
  std::vector<std::string> plots;               ///< SVG
  bool folded = false;                          ///< a long table, which an HTML page shows when it is asked for
};

/// Those for which there are measurements, with the machine instructions of that table.
std::vector<Section> sections_of(const Document& document, const SassTable& sass);

}  // namespace tcnum::bench
