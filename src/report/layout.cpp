#include "layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

#include "io/printable.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

constexpr std::size_t kIndent = 2, kGap = 2, kNarrowestLast = 24;

bool is_continuation(char c) { return (c & 0xc0) == 0x80; }  // of a character of UTF-8: it takes no place

std::vector<std::string> lines_of(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    std::string& line = lines.back();
    if (line.empty())
      line = word;
    else if (width_of(line) + 1 + width_of(word) <= width)
      line.append(" ").append(word);
    else
      lines.emplace_back(word);
  }
  return lines;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// The last column takes what the others leave of the line.
std::vector<std::size_t> column_widths(const std::vector<std::vector<std::string>>& rows, std::size_t wide) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  std::size_t before = kIndent;
  for (std::size_t c = 0; c + 1 < widths.size(); ++c) {
    for (const auto& row : rows) widths[c] = std::max(widths[c], width_of(printable(row[c])));
    widths[c] = std::min(widths[c], wide);
    before += widths[c] + kGap;
  }
  widths.back() = before + kNarrowestLast > kReportWidth ? kNarrowestLast : kReportWidth - before;
  return widths;
}

// --- A table in a style -----------------------------------------------------------------------------------------

struct StyleName {
  std::string_view name;
  TableStyle style;
};
constexpr std::array<StyleName, 4> kStyleNames = {
    {{"text", TableStyle::text}, {"md", TableStyle::markdown}, {"csv", TableStyle::csv}, {"latex", TableStyle::latex}}};

/// What stands for a character of a style that means something there, or for one of UTF-8's.
struct Escape {
  std::string_view character, written;
};
constexpr std::string_view kMarkdownMarked = "\\|*_`~[]$#!", kLatexMarked = "{}$&#%_";  // by a backslash
constexpr std::array<Escape, 3> kMarkdownEscapes = {{{"<", "&lt;"}, {">", "&gt;"}, {"&", "&amp;"}}};
constexpr std::array<Escape, 9> kLatexEscapes = {{{"\\", "\\textbackslash{}"},
                                                  {"^", "\\textasciicircum{}"},
                                                  {"~", "\\textasciitilde{}"},
                                                  {"<", "\\textless{}"},
                                                  {">", "\\textgreater{}"},
                                                  {"|", "\\textbar{}"},
                                                  {"\"", "''"},
                                                  {"×", "$\\times$"},
                                                  {"→", "$\\to$"}}};

std::string escaped(std::string_view text, std::string_view marked, std::span<const Escape> escapes) {
  std::string out;
  while (!text.empty()) {
    const auto found = std::ranges::find_if(escapes, [&](const Escape& e) { return text.starts_with(e.character); });
    const std::string_view taken = found == escapes.end() ? text.substr(0, 1) : found->character;
    if (marked.find(taken) != marked.npos) out += '\\';
    out += found != escapes.end() ? found->written : taken == "\n" || taken == "\r" ? " " : taken;
    text.remove_prefix(taken.size());
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

/// Each cell as `cell` has it, between `before`, `between` and `after`.
std::string line_of(const Cells& row, std::string (*cell)(std::string_view), std::string_view before,
                    std::string_view between, std::string_view after) {
  Cells cells;
  for (const std::string& each : row) cells.push_back(cell(each));
  return fmt::format("{}{}{}", before, fmt::join(cells, between), after);
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

std::string markdown_cell(std::string_view text) { return escaped(text, kMarkdownMarked, kMarkdownEscapes); }

std::string latex_cell(std::string_view text) {
  // A number's minus is no hyphen.
  const bool minus = text.size() > 1 && text.front() == '-' && text[1] >= '0' && text[1] <= '9';
  return (minus ? "$-$" : "") + escaped(text.substr(minus ? 1 : 0), kLatexMarked, kLatexEscapes);
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !is_continuation(c); }));
}

std::string padded(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, width_of(text)), ' ');
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  for (const std::string& line : lines_of(printable(text), width - indent)) {
    out += std::string(indent, ' ') + line + "\n";
  }
  return out;
}

std::string table_text(const std::vector<std::vector<std::string>>& rows, std::size_t wide) {
  const std::vector<std::size_t> widths = column_widths(rows, wide);
  const std::size_t columns = widths.size();
  std::string out;
  for (const auto& row : rows) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      cells.push_back(lines_of(printable(row[c]), widths[c]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t i = 0; i < height; ++i) {
      std::string line(kIndent, ' ');
      for (std::size_t c = 0; c < columns; ++c) {
        const std::string_view cell = i < cells[c].size() ? std::string_view(cells[c][i]) : std::string_view();
        line += padded(cell, widths[c]) + std::string(kGap, ' ');
      }
      out += trimmed(std::move(line)) + "\n";
    }
  }
  return out;
}

std::string count_text(double count) {
  constexpr double kMostDigits = 1e12;
  if (count >= kMostDigits) return fmt::format("{:.2g}", count);
  std::string digits = fmt::format("{:.0f}", count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string plural(std::size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", count_text(n), noun, n == 1 ? "" : "s");
}

TableStyle parse_table_style(std::string_view text) {
  const auto found = std::ranges::find(kStyleNames, text, &StyleName::name);
  if (found != kStyleNames.end()) return found->style;
  throw InputError(fmt::format("--table: {} is no kind of table; expected text, md, csv or latex", text));
}

std::string property_table(const std::vector<TableRow>& rows, TableStyle style) {
  if (rows.empty()) return "";
  const std::vector<Cells> table = filled_columns(rows);
  if (style == TableStyle::text) return table_text(table, kWideCell);
  const std::size_t columns = table.front().size();
  const std::string markdown_rule = line_of(Cells(columns, "---"), markdown_cell, "| ", " | ", " |\n");
  std::string out =
      style == TableStyle::latex ? fmt::format("\\begin{{tabular}}{{{}}}\n\\toprule\n", std::string(columns, 'l')) : "";
  for (const Cells& row : table) {
    const bool is_heading = &row == &table.front();
    if (style == TableStyle::csv) {
      out += line_of(row, csv_cell, "", ",", "\n");
    } else if (style == TableStyle::markdown) {
      out += line_of(row, markdown_cell, "| ", " | ", " |\n") + (is_heading ? markdown_rule : "");
    } else {
      out += line_of(row, latex_cell, "", " & ", " \\\\\n") + (is_heading ? "\\midrule\n" : "");
    }
  }
  return style == TableStyle::latex ? out + "\\bottomrule\n\\end{tabular}\n" : out;
}

}  // namespace tcnum
