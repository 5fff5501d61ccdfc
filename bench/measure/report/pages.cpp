#include "pages.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "io/printable.hpp"
#include "plot.hpp"
#include "sections.hpp"
#include "src/report/layout.hpp"

namespace tcnum::bench {
namespace {

constexpr const char* kMethod =
    "Every SM runs one block of the same work; cycles are the SM's own, between barriers around the timed loop. "
    "Operands differ in every lane. The accumulators of every timed kernel are compared with the emulator's, bit "
    "for bit, those of each round with the first round's, and those of each SM with the others'. The clock is "
    "that of the SMs over the timed launches (clock64 against globaltimer). Power is from NVML's energy counter "
    "over the same launches. No sample is dropped.";

std::string title_of(const Document& document) { return "Latency, throughput and power: " + document.facts.device; }

/// As Markdown shows it, in a cell of a table or elsewhere, whatever it is.
std::string in_markdown(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      if (std::string_view("\\`|*[]").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + in_markdown(cell) + " |";
  return text + "\n";
}

std::string markdown_table(const std::vector<std::vector<std::string>>& rows) {
  std::string text = markdown_row(rows[0]) + markdown_row(std::vector<std::string>(rows[0].size(), "---"));
  for (std::size_t i = 1; i < rows.size(); ++i) text += markdown_row(rows[i]);
  return text;
}

std::string html_table(const std::vector<std::vector<std::string>>& rows) {
  std::string text = "<table>\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += "<tr>";
    for (const std::string& cell : rows[i]) {
      text += fmt::format("<{0}>{1}</{0}>", i == 0 ? "th" : "td", escaped(cell));
    }
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

std::string html_section(const Section& section) {
  std::string text;
  if (!section.title.empty()) text += fmt::format("<h2>{}</h2>\n", escaped(section.title));
  if (!section.prose.empty()) text += fmt::format("<p>{}</p>\n", escaped(section.prose));
  for (const std::string& plot : section.plots) text += plot;
  const std::string table = html_table(section.table);
  return text + (section.folded ? "<details><summary>Table</summary>\n" + table + "</details>\n" : table);
}

/// Up to the title's paragraph.
constexpr std::string_view kHtmlHead =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
    "content=\"width=device-width\">\n<title>{0}</title>\n<style>\n"
    "body {{ font-family: sans-serif; max-width: 75rem; margin: 1rem auto; padding: 0 1rem; }}\n"
    "table {{ border-collapse: collapse; font-size: 0.85rem; }}\n"
    "td, th {{ padding: 0.15rem 0.6rem; border-bottom: 1px solid #ddd; text-align: left; }}\n"
    "svg {{ width: 100%; max-width: 54rem; display: block; margin: 1rem 0; }}\n"
    "</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p>{1}</p>\n";

}  // namespace

std::string markdown_page(const Document& document, const SassTable& sass, std::string_view title) {
  std::string text =
      fmt::format("# {}\n\nMade by `tcnum bench report`.\n\n{}\n", in_markdown(title_of(document)), kMethod);
  for (const Section& each : sections_of(document, sass, title)) {
    if (!each.title.empty()) text += fmt::format("\n## {}\n", in_markdown(each.title));
    if (!each.prose.empty()) text += "\n" + in_markdown(each.prose) + "\n";
    text += "\n" + markdown_table(each.table);
  }
  return text;
}

std::string html_page(const Document& document, const SassTable& sass, std::string_view title) {
  std::string text = fmt::format(kHtmlHead, escaped(title_of(document)), escaped(kMethod));
  for (const Section& each : sections_of(document, sass, title)) text += html_section(each);
  return text + "</body>\n</html>\n";
}

std::string text_page(const Document& document, const SassTable& sass, std::string_view title) {
  std::string text;
  for (const Section& each : sections_of(document, sass, title)) {
    if (each.title.empty()) continue;
    if (!text.empty()) text += "\n";
    text += each.title + "\n\n";
    if (!each.prose.empty()) text += wrapped(each.prose, 2) + "\n";
    text += table_text(each.table);
  }
  return text;
}

std::string run_text(const Document& document, const SassTable& sass) {
  std::vector<Section> sections = sections_of(document, sass);
  std::erase_if(sections, [](const Section& s) { return s.of_report; });
  const auto& device = sections.front().table;  // below an empty heading
  std::string text = table_text({device.begin() + 1, device.end()});
  sections.front() = wgmma_section(document);
  for (const Section& each : sections) {
    if (each.table.size() > 1) text += fmt::format("\n{}\n\n{}", each.title, table_text(each.table));
  }
  return text;
}

}  // namespace tcnum::bench
