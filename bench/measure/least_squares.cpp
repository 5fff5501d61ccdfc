#include "least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace tcnum::bench {
namespace {

/// A symmetric matrix and a right side, by Gaussian elimination with pivots; empty if the matrix is singular.
std::vector<double> solved(std::vector<std::vector<double>> a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t j = i + 1; j < n; ++j) {
      if (std::abs(a[j][i]) > std::abs(a[pivot][i])) pivot = j;
    }
    if (!(std::abs(a[pivot][i]) > 0)) return {};
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    for (std::size_t j = i + 1; j < n; ++j) {
      const double factor = a[j][i] / a[i][i];
      for (std::size_t k = i; k < n; ++k) a[j][k] -= factor * a[i][k];
      b[j] -= factor * b[i];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

/// Of residuals r in units of s: Σ 2 s² (√(1 + (r/s)²) − 1), r² where r is small, and the weights that a step of least
/// squares gives them.
double cost_of(const std::vector<double>& residuals, double s) {
  double cost = 0;
  for (double r : residuals) cost += 2 * s * s * (std::sqrt(1 + r * r / (s * s)) - 1);
  return cost;
}
double weight_of(double r, double s) { return 1 / std::sqrt(1 + r * r / (s * s)); }

std::vector<double> moved(const std::vector<double>& parameters, std::size_t which, double by) {
  std::vector<double> other = parameters;
  other[which] *= std::exp(by);
  return other;
}

}  // namespace

std::vector<double> fit_least_squares(std::vector<double> start, const Residuals& residuals, double outlier) {
  if (!(outlier > 0) || !std::ranges::all_of(start, [](double p) { return p > 0; })) {
    throw std::logic_error("a fit from parameters that are not above zero");
  }
  constexpr int kMostSteps = 100;
  constexpr double kDifference = 1e-4, kEnough = 1e-7, kMostDamping = 1e10, kLongestStep = 1;
  const std::size_t n = start.size();
  std::vector<double> at = std::move(start), r, r2;
  residuals(at, r);
  double cost = cost_of(r, outlier), damping = 1e-2;
  for (int step = 0; step < kMostSteps; ++step) {
    std::vector<std::vector<double>> slopes(n);  // of each parameter's logarithm
    for (std::size_t i = 0; i < n; ++i) {
      residuals(moved(at, i, kDifference), slopes[i]);
      for (std::size_t k = 0; k < r.size(); ++k) slopes[i][k] = (slopes[i][k] - r[k]) / kDifference;
    }
    std::vector<std::vector<double>> normal(n, std::vector<double>(n, 0));
    std::vector<double> right(n, 0);
    for (std::size_t k = 0; k < r.size(); ++k) {
      const double w = weight_of(r[k], outlier);
      for (std::size_t i = 0; i < n; ++i) {
        right[i] -= w * slopes[i][k] * r[k];
        for (std::size_t j = 0; j < n; ++j) normal[i][j] += w * slopes[i][k] * slopes[j][k];
      }
    }
    double better = 0;
    while (damping < kMostDamping) {
      auto damped = normal;
      for (std::size_t i = 0; i < n; ++i) damped[i][i] += damping * (normal[i][i] + 1e-9);
      const std::vector<double> by = solved(std::move(damped), right);
      std::vector<double> next = at;
      for (std::size_t i = 0; i < by.size(); ++i) next[i] *= std::exp(std::clamp(by[i], -kLongestStep, kLongestStep));
      residuals(next, r2);
      const double next_cost = cost_of(r2, outlier);
      if (next_cost < cost) {
        better = (cost - next_cost) / cost;
        at = std::move(next);
        std::swap(r, r2);
        cost = next_cost;
        damping = std::max(damping / 10, 1e-9);
        break;
      }
      damping *= 10;
    }
    if (better < kEnough) break;
  }
  return at;
}

}  // namespace tcnum::bench
