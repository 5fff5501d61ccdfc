// Plots as SVG.
#pragma once

#include <string>
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
};

/// Throws std::logic_error if no line has a point.
std::string svg(const Plot& plot);

struct Bar {
  std::string name;
  double value;
  std::string note;  ///< behind the bar
};
std::string svg_bars(const std::string& title, const std::string& unit, const std::vector<Bar>& bars);

/// "<" and the like as HTML has them.
std::string escaped(const std::string& text);

}  // namespace tcnum::bench
