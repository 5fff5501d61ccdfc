// A report of recorded measurements: tables in Markdown, and one HTML page with plots.
#pragma once

#include <string>

#include "record.hpp"
#include "src/catalogue/sass.hpp"

namespace tcnum::bench {

/// With the machine instructions of that table.
std::string markdown_report(const Document& document, const SassTable& sass);
std::string html_report(const Document& document, const SassTable& sass);

}  // namespace tcnum::bench
