// What tables leave out, for people; and records as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "bench/measure/record.hpp"

namespace tcnum::bench {

/// What was waived, wrong or interrupted, rows whose clock moved, and those where the model is off.
std::string notes_text(const Document& document);
/// tcnum.bench/1, one line a record.
std::string json_text(const Document& document);

/// Rows where the model is off by more than so many percent.
inline constexpr double kModelTolerancePercent = 5;
std::vector<std::string> off_model(const Document& document);

}  // namespace tcnum::bench
