// Recorded measurements as pages: tables in Markdown, and one HTML page with plots.
#pragma once

#include <string>

#include "record.hpp"
#include "src/catalogue/sass.hpp"

namespace tcnum::bench {

/// With the machine instructions of that table.
std::string markdown_page(const Document& document, const SassTable& sass);
std::string html_page(const Document& document, const SassTable& sass);

}  // namespace tcnum::bench
