// Text in lines and columns, printable() whatever it holds, and tables for papers and spreadsheets.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tcnum {

/// No line of a text report is longer, but for a single word that is.
inline constexpr std::size_t kReportWidth = 110;

/// Rows of cells as aligned columns, the first row a heading. Cells of the last column are wrapped at kReportWidth; the
/// others from `wide` characters on. Each line is indented by two.
std::string table_text(const std::vector<std::vector<std::string>>& rows, std::size_t wide = 32);
/// Wraps text at a width, each line indented.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width = kReportWidth);

/// Characters of UTF-8 text.
std::size_t width_of(std::string_view text);
/// The text with spaces up to a width; as it is where it is wider.
std::string padded(std::string_view text, std::size_t width);

/// 12345678 as "12,345,678"; datapaths of a space, which may be fewer than exact, as "1.2e+12".
std::string count_text(double count);
template <std::integral Whole>
std::string count_text(Whole count) {
  return count_text(static_cast<double>(count));
}
/// "1 product", "1,024 products".
std::string plural(std::size_t n, std::string_view noun);

enum class TableStyle : unsigned char { text, markdown, csv, latex };
/// By what users of --table call it: "text", "md", "csv", "latex". Throws InputError for anything else.
TableStyle parse_table_style(std::string_view text);

/// A row: what each column has for an instruction, by the column's name. An empty cell says that the property does not
/// apply, or is not known.
struct TableRow {
  std::vector<std::pair<std::string, std::string>> cells;
};
/// With the columns of all rows, without those that are empty in all. Of LaTeX, a tabular with the rules of booktabs.
std::string property_table(const std::vector<TableRow>& rows, TableStyle style);

}  // namespace tcnum
