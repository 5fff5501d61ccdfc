// Parameters that fit measurements best.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace tcnum::bench {

/// Fills in the residuals, as many each time, that those parameters leave.
using Residuals = std::function<void(std::span<const double> parameters, std::vector<double>& residuals)>;

/// Levenberg's and Marquardt's method on the parameters' logarithms, so that they stay above zero, from `start`, which
/// is. A residual far beyond `outlier` counts as its absolute value does, not as its square. Throws std::logic_error
/// unless all of `start` and `outlier` are above zero.
std::vector<double> fit_least_squares(std::vector<double> start, const Residuals& residuals, double outlier);

}  // namespace tcnum::bench
