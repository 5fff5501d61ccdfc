// Statistics of samples, and when there are enough of them.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace tcnum::bench {

/// Of samples that are all kept: none is dropped as an outlier.
struct Summary {
  std::size_t count = 0;
  double min = 0, p5 = 0, median = 0, p95 = 0, max = 0, mean = 0;
  double relative_deviation = 0;  ///< standard deviation over the mean

  /// (max − min) / median, in percent.
  double spread_percent() const { return median == 0 ? 0 : (max - min) / median * 100; }
};
/// Percentiles lie between samples, linearly. Throws std::logic_error if there are no samples.
Summary summarise(std::vector<double> samples);
inline double median_of(std::vector<double> samples) { return summarise(std::move(samples)).median; }

/// When to stop taking samples: after so many and so long, once they agree or agree no better than before.
struct StopRule {
  std::size_t least_samples = 10;
  double least_seconds = 0.5;
  double most_seconds = 4;
  double relative_deviation = 0.005;

  bool enough(const std::vector<double>& samples, double seconds) const;
};

/// Takes samples until the rule has enough.
std::vector<double> sample_until(const StopRule& stop, const std::function<double()>& take);

}  // namespace tcnum::bench
