// What tables leave out, for people; and records as CSV and JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "bench/measure/record.hpp"

namespace tcnum::bench {

/// What was measured on, line by line.
std::string header_text(const TimingFacts& facts);
/// What was waived, wrong or interrupted, rows whose clock moved, and those where the model is off.
std::string notes_text(const Document& document);
/// One line a record, all columns that any record has. Series are left out.
std::string csv_text(const Document& document);
/// tcnum.bench/1, one line a record.
std::string json_text(const Document& document);
/// A record's line, and a document of such lines.
std::string json_line(const Record& record, const TimingFacts& facts);
std::string json_text(const Document& document, const std::vector<std::string>& lines);

/// Rows where the model is off by more than so many percent.
inline constexpr double kModelTolerancePercent = 5;
std::vector<std::string> off_model(const Document& document);

}  // namespace tcnum::bench
