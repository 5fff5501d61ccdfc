// The line through measured times: what a start takes, and what each byte adds.
#pragma once

#include <utility>
#include <vector>

namespace tcnum::bench {

struct LineFit {
  double start = 0, slope = 0;          ///< y = start + slope · x
  double largest_residual_percent = 0;  ///< of all points, |y − line| / y
};

/// Least squares of relative residuals: Σ ((start + slope · x − y) / y)² is least, so that short times count as much as
/// long ones. Throws std::logic_error unless there are two different x and every y is above zero.
LineFit fit_line(const std::vector<std::pair<double, double>>& points);

}  // namespace tcnum::bench
