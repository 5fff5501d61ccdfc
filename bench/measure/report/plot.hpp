// Plots as SVG.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tcnum::bench {

struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool dashed = false;  ///< of a model, or of what others published
  bool only_points = false;
};

struct Plot {
  std::string title, x_name, y_name;
  std::vector<Line> lines;
  bool logarithmic_x = false;  ///< with a tick at each x that a line has
  bool logarithmic_y = false;
  bool round_x = false;  ///< of a logarithmic x: ticks at round numbers instead, if there are two
};

/// Leaves out points that the axes have no place for, such as zero where they are logarithmic, and lines without
/// points. Empty if no line is left.
std::string svg(Plot plot);

struct Bar {
  std::string name;
  double value;
  std::string note;  ///< behind the bar
};
std::string svg_bars(const std::string& title, const std::string& unit, const std::vector<Bar>& bars);

/// As HTML shows it, whatever it is: "<" and the like escaped, and printable().
std::string escaped(std::string_view text);

}  // namespace tcnum::bench
