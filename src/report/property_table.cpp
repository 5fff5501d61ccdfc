#include "property_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "finding.hpp"
#include "problem_text.hpp"
#include "short_datapath.hpp"

namespace tcnum {
namespace {

// --- A table in a style -----------------------------------------------------------------------------------------

struct StyleName {
  std::string_view name;
  TableStyle style;
};
constexpr std::array<StyleName, 3> kStyleNames = {
    {{"md", TableStyle::markdown}, {"csv", TableStyle::csv}, {"latex", TableStyle::latex}}};

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
                                                   {"\"", "\\textquotedbl{}"},
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

std::string latex_table(const std::vector<Cells>& rows) {
  std::string out = fmt::format("\\begin{{tabular}}{{{}}}\n\\hline\n", std::string(rows.front().size(), 'l'));
  for (const Cells& row : rows) {
    Cells cells;
    for (const std::string& cell : row) cells.push_back(escaped(cell, kLatexEscapes));
    out += fmt::format("{} \\\\\n", fmt::join(cells, " & "));
    if (&row == &rows.front()) out += "\\hline\n";
  }
  return out + "\\hline\n\\end{tabular}\n";
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

// --- A datapath's properties, without a space that it would be of -----------------------------------------------

/// What the units in use have for a property, each once, in the order of evaluation.
template <class Text>
std::string of_units(const Datapath& datapath, const Text& text) {
  Cells values;
  for (const Node& node : datapath.tree.nodes) {
    const std::string value = text(datapath.numerics.units[static_cast<std::size_t>(node.unit)]);
    if (!value.empty() && std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return fmt::format("{}", fmt::join(values, "; "));
}

std::string zero_exponent_text(const Unit& unit) {
  switch (unit.zero_exponent.kind) {
    case ZeroExponentKind::none:
      return "none";
    case ZeroExponentKind::natural:
      return "natural";
    case ZeroExponentKind::floor:
      return std::to_string(unit.zero_exponent.value);
    case ZeroExponentKind::zeros:
      return fmt::format("{} for zeros", unit.zero_exponent.value);
  }
  return {};
}

std::string_view subnormals_text(bool flushed) { return flushed ? "flushed" : "kept"; }

std::string_view overflow_text(Overflow overflow) {
  static constexpr std::array<std::string_view, 4> kTexts = {"ieee", "infinity", "max_finite", "wrap"};
  return kTexts[static_cast<std::size_t>(overflow)];
}

void put_floating_cells(const Datapath& datapath, TableRow& row) {
  const Numerics& n = datapath.numerics;
  const Unit& root = n.units[static_cast<std::size_t>(datapath.tree.nodes.back().unit)];
  const RoundSteps& steps = root.result;
  const auto put = [&](std::string_view name, std::string value) { row.cells.emplace_back(name, std::move(value)); };
  put("fraction_bits", of_units(datapath, [](const Unit& u) {
        return u.fraction_bits == kExact ? std::string("exact") : std::to_string(u.fraction_bits);
      }));
  put("align_rounding", of_units(datapath, [](const Unit& u) {
        return u.fraction_bits == kExact ? std::string() : std::string(name(u.align_rounding));
      }));
  put("output_rounding", std::string(name((steps.end() - 1)->rounding)));
  put("output_fraction_bits", std::to_string((steps.end() - 1)->fraction_bits));
  put("zero_exponent", of_units(datapath, zero_exponent_text));
  put("subnormal_inputs",
      std::string(subnormals_text(std::ranges::any_of(
          std::array{n.a, n.b, n.c}, [](const OperandRule& o) { return o.subnormals == Subnormals::flushed; }))));
  put("subnormal_outputs", std::string(subnormals_text(std::ranges::any_of(
                               steps, [](const RoundStep& s) { return s.subnormals == Subnormals::flushed; }))));
  put("zero_sign", root.zero_sign == ZeroSign::ieee ? "ieee" : "positive");
  put("underflow_sign", root.underflow_sign == UnderflowSign::kept ? "kept" : "positive");
  put("nan", hex(format(n.result), n.nan.code) + (n.nan.propagate ? ", or the operand's" : ""));
}

/// Columns that rows without a datapath, or of integers, leave empty.
constexpr std::array<std::string_view, 10> kFloatingCells = {
    "fraction_bits",    "align_rounding",    "output_rounding", "output_fraction_bits", "zero_exponent",
    "subnormal_inputs", "subnormal_outputs", "zero_sign",       "underflow_sign",       "nan"};

}  // namespace

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

TableRow table_row(const Instruction& instruction, const std::vector<CatalogueEntry>& accounts) {
  TableRow row;
  row.cells = {{"instruction", instruction.name()}};
  if (accounts.empty()) {
    for (const std::string_view each : {"account", "standing", "datapath"}) row.cells.emplace_back(each, "");
  } else {
    const CatalogueEntry& first = accounts.front();
    row.cells.emplace_back("account", first.account);
    row.cells.emplace_back("standing", name(first.standing));
    row.cells.emplace_back("datapath", short_text(first.datapath));
  }
  if (!accounts.empty() && format(instruction.d).floating) {
    put_floating_cells(accounts.front().datapath, row);
  } else {
    for (const std::string_view each : kFloatingCells) row.cells.emplace_back(each, "");
  }
  row.cells.emplace_back("overflow", accounts.empty() ? "" : of_units(accounts.front().datapath, [](const Unit& unit) {
                           return unit.result.empty() ? std::string()
                                                      : std::string(overflow_text((unit.result.end() - 1)->overflow));
                         }));
  return row;
}

std::string property_table(const std::vector<TableRow>& rows, TableStyle style) {
  if (rows.empty()) return "";
  const std::vector<Cells> table = filled_columns(rows);
  switch (style) {
    case TableStyle::markdown:
      return markdown_table(table);
    case TableStyle::csv:
      return csv_table(table);
    case TableStyle::latex:
      return latex_table(table);
  }
  return {};
}

}  // namespace tcnum
