#include "layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/printable.hpp"

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

std::string plural(std::size_t n, std::string_view noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

}  // namespace tcnum
