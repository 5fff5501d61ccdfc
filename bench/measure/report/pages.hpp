// Recorded measurements as pages: tables in Markdown, one HTML page with plots, and sections as text.
#pragma once

#include <string>
#include <string_view>

#include "bench/measure/record.hpp"
#include "src/catalogue/sass.hpp"

namespace tcnum::bench {

/// With the machine instructions of that table; of the sections that sections_of() chooses by that title.
std::string markdown_page(const Document& document, const SassTable& sass, std::string_view title = {});
std::string html_page(const Document& document, const SassTable& sass, std::string_view title = {});
/// Without what was measured on.
std::string text_page(const Document& document, const SassTable& sass, std::string_view title = {});
/// What a run measured, and on what, as tables.
std::string run_text(const Document& document, const SassTable& sass);

}  // namespace tcnum::bench
