// Records as a table for people, and as CSV and JSON for programs.
#pragma once

#include <string>

#include "record.hpp"

namespace tcnum::bench {

/// What was measured on, line by line.
std::string header_text(const TimingFacts& facts);
/// A table for each measurement, then what was waived, and the rows where the model is off.
std::string tables_text(const Document& document);
/// One line a record, all columns that any record has. Series are left out.
std::string csv_text(const Document& document);
/// tcnum.bench/1, one line a record.
std::string json_text(const Document& document);

/// Rows where the model is off by more than so many percent.
inline constexpr double kModelTolerancePercent = 5;
std::vector<std::string> off_model(const Document& document);

}  // namespace tcnum::bench
