#include "plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "io/printable.hpp"

namespace tcnum::bench {
namespace {

constexpr double kWidth = 720, kHeight = 360, kLeft = 64, kRight = 190, kTop = 34, kBottom = 46;
/// Told apart by people who see few colours too (Okabe and Ito).
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"};

std::string text_at(double x, double y, const std::string& text, const char* anchor = "middle", const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     escaped(text));
}

/// No quantity that is measured is larger, or smaller and not zero; and the arithmetic below holds these.
constexpr double kLargest = 1e100, kSmallest = 1e-100;

/// Whether an axis has a place for it.
bool has_place(double x, bool logarithmic) {
  return std::abs(x) <= kLargest && (!logarithmic || x >= kSmallest);  // false of NaN
}

/// Round numbers that cut 0 … largest into about five.
std::vector<double> ticks(double largest) {
  if (!(largest >= kSmallest)) return {0};
  const double rough = largest / 5, power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> at;
  for (int i = 0; i * step <= largest * 1.0001; ++i) at.push_back(i * step);
  return at;
}

/// 1, 2 and 5 times the powers of ten between two numbers that are not zero, ends included.
std::set<double> round_numbers(double least, double most) {
  constexpr double kRounding = 1e-9;
  std::set<double> numbers;
  const int last = static_cast<int>(std::ceil(std::log10(most)));
  for (int e = static_cast<int>(std::floor(std::log10(least))); e <= last; ++e) {
    for (double factor : {1.0, 2.0, 5.0}) {
      const double x = e < 0 ? factor / std::pow(10, -e) : factor * std::pow(10, e);
      if (x >= least * (1 - kRounding) && x <= most * (1 + kRounding)) numbers.insert(x);
    }
  }
  return numbers;
}

std::string begin(double height, const std::string& title) {
  return fmt::format(
             "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" font-family=\"sans-serif\" "
             "font-size=\"12\">\n<title>{}</title>\n",
             kWidth, height, escaped(title)) +
         text_at(kLeft, 18, title, "start", " font-weight=\"bold\"");
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : printable(text)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string svg(Plot plot) {
  for (Line& line : plot.lines) {
    std::erase_if(line.points, [&](const std::pair<double, double>& p) {
      return !has_place(p.first, plot.logarithmic_x) || !has_place(p.second, plot.logarithmic_y);
    });
  }
  std::erase_if(plot.lines, [](const Line& line) { return line.points.empty(); });
  if (plot.lines.empty()) return "";
  std::set<double> xs;
  double top = 0, bottom = INFINITY;
  for (const Line& line : plot.lines) {
    for (const auto& [x, y] : line.points) {
      xs.insert(x);
      top = std::max(top, y);
      bottom = std::min(bottom, y);
    }
  }
  const auto x_of = [&](double x) { return plot.logarithmic_x ? std::log2(x) : x; };
  const auto y_of = [&](double y) { return plot.logarithmic_y ? std::log2(y) : y; };
  const double x0 = plot.logarithmic_x ? x_of(*xs.begin()) : 0, x1 = std::max(x_of(*xs.rbegin()), x0 + 1e-9);
  const double y0 = plot.logarithmic_y ? std::floor(y_of(bottom)) : 0;
  double y1 = plot.logarithmic_y ? std::ceil(y_of(top)) : top * 1.05;
  if (!(y1 > y0)) y1 = y0 + 1;
  const auto px = [&](double x) { return kLeft + (x_of(x) - x0) / (x1 - x0) * (kWidth - kLeft - kRight); };
  const auto py = [&](double y) { return kHeight - kBottom - (y_of(y) - y0) / (y1 - y0) * (kHeight - kTop - kBottom); };

  std::string out = begin(kHeight, plot.title);
  std::vector<double> y_ticks = ticks(y1);
  if (plot.logarithmic_y) {
    y_ticks.clear();
    for (double e = y0; e <= y1; ++e) y_ticks.push_back(std::exp2(e));
  }
  for (double y : y_ticks) {
    out += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", kLeft,
                       kWidth - kRight, py(y), py(y));
    out += text_at(kLeft - 6, py(y) + 4, fmt::format("{:g}", y), "end");
  }
  const std::vector<double> even = ticks(x1);
  std::set<double> x_ticks(even.begin(), even.end());
  if (plot.logarithmic_x) {
    x_ticks = plot.round_x ? round_numbers(*xs.begin(), *xs.rbegin()) : std::set<double>();
    if (x_ticks.size() < 2) x_ticks = xs;
  }
  double last = -1e9;
  for (double x : x_ticks) {
    if (px(x) - last < 26) continue;  // numbers would touch
    last = px(x);
    out += text_at(px(x), kHeight - kBottom + 16, plot.round_x ? fmt::format("{:g}", x) : fmt::format("{:.3g}", x));
  }
  out += text_at((kLeft + kWidth - kRight) / 2, kHeight - 8, plot.x_name);
  out += text_at(14, kHeight / 2, plot.y_name, "middle",
                 fmt::format(" transform=\"rotate(-90 14 {:.0f})\"", kHeight / 2).c_str());

  std::size_t colour = 0;
  for (const Line& line : plot.lines) {
    const char* const stroke = kColours[colour % std::size(kColours)];
    const double y_name = kTop + 14 + 17 * static_cast<double>(colour++);
    std::string points, dots;
    for (const auto& [x, y] : line.points) {
      points += fmt::format("{:.1f},{:.1f} ", px(x), py(y));
      dots += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}: {:g}, {:g}</title></circle>\n", px(x),
          py(y), stroke, escaped(line.name), x, y);
    }
    if (!line.only_points) {
      out += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", points, stroke,
                         line.dashed ? " stroke-dasharray=\"5 4\"" : "");
    }
    if (!line.dashed || line.only_points) out += dots;
    out += fmt::format("<rect x=\"{:.0f}\" y=\"{:.1f}\" width=\"12\" height=\"4\" fill=\"{}\"/>\n",
                       kWidth - kRight + 12, y_name - 6, stroke);
    out += text_at(kWidth - kRight + 30, y_name, line.name, "start");
  }
  return out + "</svg>\n";
}

std::string svg_bars(const std::string& title, const std::string& unit, const std::vector<Bar>& bars) {
  constexpr double kBar = 20, kNames = 216, kNotes = 160;
  double largest = 0;
  for (const Bar& bar : bars) largest = std::max(largest, bar.value);
  const double height = kTop + kBar * static_cast<double>(bars.size()) + 12;
  std::string out = begin(height, title);
  double y = kTop;
  for (const Bar& bar : bars) {
    const double width = largest == 0 ? 0 : bar.value / largest * (kWidth - kNames - kNotes);
    out += text_at(kNames - 6, y + 13, bar.name, "end");
    out += fmt::format("<rect x=\"{:.0f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"14\" fill=\"{}\"/>\n", kNames, y + 2,
                       width, kColours[0]);
    out += text_at(kNames + width + 5, y + 13, fmt::format("{:.0f} {} {}", bar.value, unit, bar.note), "start");
    y += kBar;
  }
  return out + "</svg>\n";
}

}  // namespace tcnum::bench
