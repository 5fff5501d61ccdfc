
#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "io/printable.hpp"
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

std::string row_name(const Record& r) {
  std::string name = r.subject;
  for (const Field& axis : r.axes) name += fmt::format(" {}={}", axis.name, r.text(axis.name));
  return name;
}

/// What was waived, wrong or interrupted, rows whose clock moved, and those where the model is off.
std::string notes_text(const Document& document) {
  std::string text, off;
  for (const Record& r : document.records) {
    if (!r.waived.empty()) text += fmt::format("\nwaived: {}: {}", row_name(r), r.waived);
    if (!r.error.empty()) text += fmt::format("\nERROR: {}: {}", row_name(r), r.error);
    if (r.text("clock_moved") == "true") text += fmt::format("\nclock moved: {}", row_name(r));
    if (r.find(kInterrupted) != nullptr) text += fmt::format("\ninterrupted: {}", row_name(r));
    if (is_off_model(r)) off += fmt::format("  {}: {:+.1f} %\n", row_name(r), *r.number(kModelResidual));
  }
  if (!off.empty()) text += fmt::format("\n\nThe model is off by more than {:.0f} % for\n", kModelTolerancePercent);
  return text + off;
}

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
  return text + notes_text(document);
}

}  // namespace tcnum::bench
