// What sections are made with: cells of tables, choices of records, and plots.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plot.hpp"
#include "record.hpp"

namespace tcnum::bench {

/// A value or axis with so many digits behind the point; "–" where there is none.
std::string cell(const Record& record, const char* name, int digits);

/// Whether a record is of that measurement, and has values.
bool is(const Record& r, std::string_view measurement);

std::vector<const Record*> select(const Document& document, const std::function<bool(const Record&)>& wanted);

/// Those in which there is something to see.
std::vector<std::string> plots_of(std::vector<Plot> plots);

}  // namespace tcnum::bench
