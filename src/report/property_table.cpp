#include "property_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "finding.hpp"
#include "layout.hpp"
#include "short_datapath.hpp"

namespace tcnum {
namespace {

// --- A table in a style -----------------------------------------------------------------------------------------

struct StyleName {
  std::string_view name;
  TableStyle style;
};
constexpr std::array<StyleName, 4> kStyleNames = {
    {{"text", TableStyle::text}, {"md", TableStyle::markdown}, {"csv", TableStyle::csv}, {"latex", TableStyle::latex}}};

/// What stands for a character, or for one of UTF-8's.
struct Escape {
  std::string_view character, written;
};
constexpr std::array<Escape, 16> kMarkdownEscapes = {{{"\\", "\\\\"},
                                                      {"|", "\\|"},
                                                      {"*", "\\*"},
                                                      {"_", "\\_"},
                                                      {"`", "\\`"},
                                                      {"~", "\\~"},
                                                      {"[", "\\["},
                                                      {"]", "\\]"},
                                                      {"<", "&lt;"},
                                                      {">", "&gt;"},
                                                      {"&", "&amp;"},
                                                      {"$", "\\$"},
                                                      {"#", "\\#"},
                                                      {"!", "\\!"},
                                                      {"\n", " "},
                                                      {"\r", " "}}};
constexpr std::array<Escape, 18> kLatexEscapes = {{{"\\", "\\textbackslash{}"},
                                                   {"{", "\\{"},
                                                   {"}", "\\}"},
                                                   {"$", "\\$"},
                                                   {"&", "\\&"},
                                                   {"#", "\\#"},
                                                   {"%", "\\%"},
                                                   {"_", "\\_"},
                                                   {"^", "\\textasciicircum{}"},
                                                   {"~", "\\textasciitilde{}"},
                                                   {"<", "\\textless{}"},
                                                   {">", "\\textgreater{}"},
                                                   {"|", "\\textbar{}"},
                                                   {"\"", "''"},
                                                   {"×", "$\\times$"},
                                                   {"→", "$\\to$"},
                                                   {"\n", " "},
                                                   {"\r", " "}}};

template <std::size_t kCount>
std::string escaped(std::string_view text, const std::array<Escape, kCount>& escapes) {
  std::string out;
  while (!text.empty()) {
    const auto found = std::ranges::find_if(escapes, [&](const Escape& e) { return text.starts_with(e.character); });
    out += found == escapes.end() ? text.substr(0, 1) : found->written;
    text.remove_prefix(found == escapes.end() ? 1 : found->character.size());
  }
  return out;
}

/// As RFC 4180 has it.
std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

using Cells = std::vector<std::string>;

/// Characters of a cell of text from which on it is wrapped.
constexpr std::size_t kWideCell = 24;

std::string markdown_table(const std::vector<Cells>& rows) {
  std::string out;
  for (const Cells& row : rows) {
    for (const std::string& cell : row) out += fmt::format("| {} ", escaped(cell, kMarkdownEscapes));
    out += "|\n";
    if (&row != &rows.front()) continue;
    for (std::size_t c = 0; c < row.size(); ++c) out += "| --- ";
    out += "|\n";
  }
  return out;
}

std::string csv_table(const std::vector<Cells>& rows) {
  std::string out;
  for (const Cells& row : rows) {
    Cells cells;
    for (const std::string& cell : row) cells.push_back(csv_cell(cell));
    out += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return out;
}

/// Headings, then rows.
std::vector<Cells> filled_columns(const std::vector<TableRow>& rows) {
  std::vector<Cells> table(rows.size() + 1);
  for (std::size_t c = 0; c < rows.front().cells.size(); ++c) {
    if (std::ranges::all_of(rows, [&](const TableRow& row) { return row.cells[c].second.empty(); })) continue;
    table.front().push_back(rows.front().cells[c].first);
    for (std::size_t r = 0; r < rows.size(); ++r) table[r + 1].push_back(rows[r].cells[c].second);
  }
  return table;
}

}  // namespace

std::string latex_text(std::string_view text) {
  // A number's minus is no hyphen.
  const bool minus = text.size() > 1 && text.front() == '-' && text[1] >= '0' && text[1] <= '9';
  return minus ? "$-$" + escaped(text.substr(1), kLatexEscapes) : escaped(text, kLatexEscapes);
}

std::string latex_table(std::string_view columns, const std::vector<Cells>& rows) {
  std::string out = fmt::format("\\begin{{tabular}}{{{}}}\n\\toprule\n", columns);
  for (const Cells& row : rows)
    out += fmt::format("{} \\\\\n{}", fmt::join(row, " & "), &row == &rows.front() ? "\\midrule\n" : "");
  return out + "\\bottomrule\n\\end{tabular}\n";
}

std::optional<TableStyle> find_table_style(std::string_view text) {
  const auto found = std::ranges::find(kStyleNames, text, &StyleName::name);
  return found == kStyleNames.end() ? std::nullopt : std::optional(found->style);
}

TableRow table_row(const ProbeReport& report) {
  const Space& space = report.fit.space();
  TableRow row;
  row.cells = {{"instruction", space.instruction().name()},
               {"verdict", std::string(name(report.result.verdict))},
               {"datapath", short_text(report.result.datapath)}};
  for (std::size_t i = 0; i < kProperties; ++i) {
    const auto property = static_cast<Property>(i);
    const Finding finding(report.fit, report.result, property);
    std::string value = finding.interesting() ? finding.value() : "";
    if (value == "does not apply") value.clear();
    row.cells.emplace_back(name(property), std::move(value));
  }
  row.cells.emplace_back("answers", std::to_string(report.fit.evidence().size()));
  return row;
}

std::string property_table(const std::vector<TableRow>& rows, TableStyle style) {
  if (rows.empty()) return "";
  std::vector<Cells> table = filled_columns(rows);
  switch (style) {
    case TableStyle::text:
      return table_text(table, kWideCell);
    case TableStyle::markdown:
      return markdown_table(table);
    case TableStyle::csv:
      return csv_table(table);
    case TableStyle::latex:
      for (Cells& row : table) std::ranges::transform(row, row.begin(), latex_text);
      return latex_table(std::string(table.front().size(), 'l'), table);
  }
  return {};
}

}  // namespace tcnum
