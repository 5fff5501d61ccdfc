// A part of a page, made of records by a table of what its columns show.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/measure/record.hpp"
#include "published.hpp"

namespace tcnum::bench {

struct Section {
  std::string title, prose;
  std::vector<std::vector<std::string>> table;  ///< the first row is the heading; empty: none
  bool of_report = false;                       ///< what sums up rows or puts them beside others: not after a run
};

/// A column, or several, of which each record has a cell.
struct Column {
  std::string heading;
  std::function<std::string(const Record&)> cell;
  /// Of a sweep: a column for each of the numbers that the records have in the series `x`, with the highest of those
  /// in `y`.
  const char *x = nullptr, *y = nullptr;
  std::function<std::string(double)> heading_of = {};
  int digits = 0;
};
/// A value or axis with so many digits behind the point; "–" where there is none.
Column number(std::string heading, std::string name, int digits);
/// As the record has it.
Column text(std::string heading, std::string name);
/// "192 KiB"; "–" where there is none.
Column size(std::string heading, std::string name);
/// "8 × 32"; "–" where there is none.
Column both(std::string heading, std::string first, std::string second);
/// What is measured.
Column subject(std::string heading);
/// A column for each number in a sweep.
Column over(const char* x, const char* y, std::function<std::string(double)> heading_of, int digits);

using Records = std::vector<const Record*>;

struct SectionTable {
  std::string title, prose;
  std::function<bool(const Record&)> of;  ///< whether the records have such a row
  std::vector<Column> columns;
  bool of_report = false;
};
Section section_of(const Document& document, const SectionTable& table);

// What sections are made with.

/// Whether a record is of that measurement, and has values.
bool is(const Record& r, std::string_view measurement);
std::function<bool(const Record&)> of(std::string measurement);
Records select(const Document& document, const std::function<bool(const Record&)>& wanted);
std::string cell(const Record& record, std::string_view name, int digits);
/// "40.7", of the one with that name; "–" where there is none.
std::string published_cycles(std::span<const PublishedCycles> published, std::string_view name);
std::string size_text(const std::optional<double>& bytes);

}  // namespace tcnum::bench
