// What the pages of recorded measurements show, section by section.
#pragma once

#include <string>
#include <string_view>
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

/// Those for which there are measurements, with the machine instructions of that table. The first one has no title and
/// says what was measured. With a `title`: that one and the section with this title, or else those with this text in
/// their titles, in upper or lower case. Throws InputError, naming the titles, where there is none.
std::vector<Section> sections_of(const Document& document, const SassTable& sass, std::string_view title = {});

/// Names of devices and titles are compared so.
std::string in_lower_case(std::string_view text);

/// One line: the device, when it was measured, the driver, and the highest clock of its SMs.
std::string device_line(const Document& document);

}  // namespace tcnum::bench
