#include "statistics.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace tcnum::bench {

Summary summarise(std::vector<double> samples) {
  if (samples.empty()) throw std::logic_error("statistics of no samples");
  std::ranges::sort(samples);
  const auto at = [&](double fraction) {
    const double place = fraction * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, samples.size() - 1);
    return std::lerp(samples[below], samples[above], place - static_cast<double>(below));
  };
  const auto count = static_cast<double>(samples.size());
  Summary s{samples.size(), samples.front(), at(0.05), at(0.5), at(0.95), samples.back(), 0, 0};
  s.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double squares = 0;
  for (double x : samples) squares += (x - s.mean) * (x - s.mean);
  if (samples.size() > 1 && s.mean != 0) s.relative_deviation = std::sqrt(squares / (count - 1)) / std::abs(s.mean);
  return s;
}

bool StopRule::enough(const std::vector<double>& samples, double seconds) const {
  if (samples.size() < least_samples || seconds < least_seconds) return false;
  if (seconds >= most_seconds) return true;
  const double all = summarise(samples).relative_deviation;
  if (all < relative_deviation) return true;
  // More samples do not help where half of them agree as well.
  const std::vector<double> half(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2));
  return half.size() > 1 && summarise(half).relative_deviation <= all;
}

std::vector<double> sample_until(const StopRule& stop, const std::function<double()>& take) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  std::vector<double> samples;
  do {
    samples.push_back(take());
  } while (!stop.enough(samples, std::chrono::duration<double>(Clock::now() - begin).count()));
  return samples;
}

}  // namespace tcnum::bench
