// Instructions and their properties as one table, for papers and spreadsheets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probe_report.hpp"

namespace tcnum {

enum class TableStyle : unsigned char { text, markdown, csv, latex };
/// By what users call it: "text", "md", "csv", "latex".
std::optional<TableStyle> find_table_style(std::string_view text);
inline constexpr std::string_view kTableStyles = "text, md, csv or latex";

/// A row: what each column has for an instruction, by the column's name. An empty cell says that the property does not
/// apply, or is not known.
struct TableRow {
  std::vector<std::pair<std::string, std::string>> cells;
};

/// As a probe found it: its verdict and properties.
TableRow table_row(const ProbeReport& report);

/// A tabular with the rules of booktabs, the first row a heading. `columns`: "llr". Cells are LaTeX already, as
/// latex_text() makes them.
std::string latex_table(std::string_view columns, const std::vector<std::vector<std::string>>& rows);
std::string latex_text(std::string_view text);

/// With the columns of all rows, without those that are empty in all. Of LaTeX, a tabular with the rules of booktabs.
std::string property_table(const std::vector<TableRow>& rows, TableStyle style);

}  // namespace tcnum
