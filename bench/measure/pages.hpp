// Recorded measurements as pages: tables in Markdown, one HTML page with plots, and sections as text.
#pragma once

#include <string>
#include <string_view>

#include "record.hpp"
#include "src/catalogue/sass.hpp"

namespace tcnum::bench {

/// With the machine instructions of that table; of the sections that sections_of() chooses by that title.
std::string markdown_page(const Document& document, const SassTable& sass, std::string_view title = {});
std::string html_page(const Document& document, const SassTable& sass, std::string_view title = {});
/// Without what was measured on.
std::string text_page(const Document& document, const SassTable& sass, std::string_view title);

}  // namespace tcnum::bench
