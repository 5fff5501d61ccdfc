// What sections are made with: cells of tables, choices of records, and plots.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measurement.hpp"
#include "plot.hpp"
#include "record.hpp"

namespace tcnum::bench {

/// A value or axis with so many digits behind the point; "–" where there is none.
std::string cell(const Record& record, const char* name, int digits);

/// Whether a record is of that measurement, and has values.
bool is(const Record& r, std::string_view measurement);

std::vector<const Record*> select(const Document& document, const std::function<bool(const Record&)>& wanted);

/// Those of that measurement that have values.
std::vector<const Record*> rows_of(const Document& document, const Measurement& measurement);

/// What two series of a record have for each point of a sweep, as long as the shorter.
std::vector<std::pair<double, double>> points_of(const Record& record, std::string_view x, std::string_view y);

/// "192 KiB"; "–" where there is none.
std::string size_text(const std::optional<double>& bytes);

/// Those in which there is something to see.
std::vector<std::string> plots_of(std::vector<Plot> plots);

}  // namespace tcnum::bench
