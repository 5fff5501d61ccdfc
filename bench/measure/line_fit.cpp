#include "line_fit.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tcnum::bench {

LineFit fit_line(const std::vector<std::pair<double, double>>& points) {
  // With weights w = 1 / y², around the weighted means: the usual solution without its cancellation.
  double weights = 0, sum_x = 0, sum_y = 0;
  for (const auto& [x, y] : points) {
    if (!(y > 0)) throw std::logic_error("a line through times that are not above zero");
    const double w = 1 / (y * y);
    weights += w;
    sum_x += w * x;
    sum_y += w * y;
  }
  const double mean_x = sum_x / weights, mean_y = sum_y / weights;
  double xx = 0, xy = 0;
  for (const auto& [x, y] : points) {
    const double w = 1 / (y * y);
    xx += w * (x - mean_x) * (x - mean_x);
    xy += w * (x - mean_x) * (y - mean_y);
  }
  if (!(xx > 0)) throw std::logic_error("a line through fewer than two different points");
  LineFit fit{mean_y - xy / xx * mean_x, xy / xx, 0};
  for (const auto& [x, y] : points) {
    const double off = std::abs(fit.start + fit.slope * x - y) / y * 100;
    fit.largest_residual_percent = std::max(fit.largest_residual_percent, off);
  }
  return fit;
}

}  // namespace tcnum::bench
