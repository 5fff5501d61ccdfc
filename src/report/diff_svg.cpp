#include "diff_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tcnum {
namespace {

constexpr int kCellWidth = 58, kCellHeight = 26, kLeft = 76, kTop = 62, kMargin = 14, kLegend = 34,
              kLeastWidth = 560;  // for the line below

struct Colours {
  std::string cell, text;
};

/// The more differ, the darker: of one hue, which those who see few colours tell apart too.
Colours colours_of(const DiffCell& cell) {
  switch (cell.kind) {
    case DiffCell::Kind::same:
      return {"#e8f3ec", "#1b5e36"};
    case DiffCell::Kind::none_found:
      return {"#f7f7f7", "#555555"};
    case DiffCell::Kind::other_formats:
      return {"#ffffff", "#999999"};
    case DiffCell::Kind::different:
      break;
  }
  // A share of 40 % is as dark as it gets; its root, so that rare ones are seen.
  constexpr double kDarkest = 0.4;
  constexpr double kLight[] = {253, 231, 212}, kDark[] = {150, 45, 20};
  const double at = std::sqrt(std::min(cell.share / kDarkest, 1.0));
  const auto mixed = [&](int i) { return static_cast<int>(std::lround(kLight[i] + at * (kDark[i] - kLight[i]))); };
  return {fmt::format("#{:02x}{:02x}{:02x}", mixed(0), mixed(1), mixed(2)), at > 0.6 ? "#ffffff" : "#3a1408"};
}

std::string text_at(double x, double y, const std::string& text, const std::string& more) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, more, text);
}

std::string cell_at(int x, int y, const Colours& colours, const std::string& text) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"#ffffff\"/>\n", x, y,
                     kCellWidth, kCellHeight, colours.cell) +
         text_at(x + kCellWidth / 2.0, y + kCellHeight / 2.0 + 4, text,
                 fmt::format("text-anchor=\"middle\" fill=\"{}\"", colours.text));
}

}  // namespace

std::string DiffCell::text() const {
  switch (kind) {
    case Kind::same:
      return "same";
    case Kind::none_found:
      return "none found";
    case Kind::other_formats:
      return "other formats";
    case Kind::different:
      break;
  }
  return fmt::format("{:.2g} %", 100 * share);
}

std::string diff_svg(const std::string& title, const std::vector<std::string>& names,
                     const std::vector<std::vector<DiffCell>>& cells) {
  const auto count = static_cast<int>(names.size());
  const int width = std::max(kLeft + count * kCellWidth + kMargin, kLeastWidth),
            height = kTop + count * kCellHeight + kLegend + kMargin;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<title>{2}</title>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      width, height, title);
  svg += text_at(kMargin, 22, title, "font-size=\"13\" font-weight=\"bold\"");
  for (int i = 0; i < count; ++i) {
    const int x = kLeft + i * kCellWidth, y = kTop + i * kCellHeight;
    svg += text_at(x + kCellWidth / 2.0, kTop - 8, names[static_cast<std::size_t>(i)], "text-anchor=\"middle\"");
    svg += text_at(kLeft - 8, y + kCellHeight / 2.0 + 4, names[static_cast<std::size_t>(i)], "text-anchor=\"end\"");
    svg += cell_at(x, y, {"#dddddd", "#dddddd"}, "");
    for (int j = 0; j < i; ++j) {
      const DiffCell& cell = cells[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      const std::string text = cell.kind == DiffCell::Kind::none_found      ? "–"
                               : cell.kind == DiffCell::Kind::other_formats ? ""
                                                                            : cell.text();
      svg += cell_at(kLeft + j * kCellWidth, y, colours_of(cell), text);
      svg += cell_at(x, kTop + j * kCellHeight, colours_of(cell), text);
    }
  }
  svg += text_at(kMargin, kTop + count * kCellHeight + 22,
                 "Share of the tried dot products that differ; –: none found, but not the same description",
                 "fill=\"#555555\"");
  return svg + "</svg>\n";
}

}  // namespace tcnum
