// A report of recorded measurements: tables in Markdown, and one HTML page with plots.
#pragma once

#include <string>

#include "record.hpp"

namespace tcnum::bench {

std::string markdown_report(const Document& document);
std::string html_report(const Document& document);

}  // namespace tcnum::bench
