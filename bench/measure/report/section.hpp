// A part of a page, made of records by a table: what its columns and its plots show.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/measure/record.hpp"
#include "plot.hpp"

namespace tcnum::bench {

/// Markdown leaves the plots out.
struct Section {
  std::string title, prose;
  std::vector<std::vector<std::string>> table;  ///< the first row is the heading; empty: none
  std::vector<std::string> plots = {};          ///< SVG
  bool folded = false;                          ///< a long table, which an HTML page shows when it is asked for
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
  double unit = 1;
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
/// The same from behind the first point on: "fp16" of "roofline.fp16".
Column short_subject(std::string heading);
/// A column for each number in a sweep.
Column over(const char* x, const char* y, std::function<std::string(double)> heading_of, int digits, double unit = 1);

using Records = std::vector<const Record*>;

/// A plot with a line for each record: two of its series.
struct Curves {
  Plot plot;
  const char *x = nullptr, *y = nullptr;
  /// Of a record's line; empty: it has none.
  std::function<std::string(const Record&)> name = [](const Record&) { return ""; };
  double x_unit = 1, y_unit = 1;
  bool highest = false;  ///< of several y at the same x the highest
  /// What else there is to draw.
  std::function<void(const Records&, Plot&)> more = {};
};

struct SectionTable {
  std::string title, prose, measurement;
  std::vector<Column> columns;
  std::vector<Curves> curves = {};
  bool folded = false;
};
/// Of the records of that measurement that have values.
Section section_of(const Document& document, const SectionTable& table);

// What sections are made with.

/// The heading, and a row for each record.
std::vector<std::vector<std::string>> table_of(const Records& rows, const std::vector<Column>& columns);
/// Whether a record is of that measurement, and has values.
bool is(const Record& r, std::string_view measurement);
Records select(const Document& document, const std::function<bool(const Record&)>& wanted);
Records rows_of(const Document& document, std::string_view measurement);
std::string cell(const Record& record, std::string_view name, int digits);
std::string short_name(const Record& record);
std::string size_text(const std::optional<double>& bytes);
/// "8", "1024".
std::string whole(double number);
/// What two series of a record have for each point of a sweep, as long as the shorter.
std::vector<std::pair<double, double>> points_of(const Record& record, std::string_view x, std::string_view y);
/// Those in which there is something to see.
std::vector<std::string> plots_of(std::vector<Plot> plots);

}  // namespace tcnum::bench
