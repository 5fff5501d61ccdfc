#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/fma_rate.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which compiles this file anew for each target.
#include <hwy/highway.h>

#include <algorithm>
#include <ctime>

#include "fma_rate.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Twelve chains that do not wait for each other hide the latency of two ports. Adds to `sum`, so that all is used.
double multiply_adds(int rounds, float seed, float& sum) {
  const hn::ScalableTag<float> d;
  const auto x = hn::Set(d, 0.999f - seed), y = hn::Set(d, 1e-3f);
  // Each begins elsewhere: a compiler computes equal chains once.
  const auto begin = [&](float i) HWY_ATTR { return hn::Set(d, seed + i); };
  auto c0 = begin(0), c1 = begin(1), c2 = begin(2), c3 = begin(3), c4 = begin(4), c5 = begin(5);
  auto c6 = begin(6), c7 = begin(7), c8 = begin(8), c9 = begin(9), c10 = begin(10), c11 = begin(11);
  for (int i = 0; i < rounds; ++i) {
    c0 = hn::MulAdd(c0, x, y), c1 = hn::MulAdd(c1, x, y), c2 = hn::MulAdd(c2, x, y), c3 = hn::MulAdd(c3, x, y);
    c4 = hn::MulAdd(c4, x, y), c5 = hn::MulAdd(c5, x, y), c6 = hn::MulAdd(c6, x, y), c7 = hn::MulAdd(c7, x, y);
    c8 = hn::MulAdd(c8, x, y), c9 = hn::MulAdd(c9, x, y), c10 = hn::MulAdd(c10, x, y), c11 = hn::MulAdd(c11, x, y);
  }
  const auto low = hn::Add(hn::Add(hn::Add(c0, c1), hn::Add(c2, c3)), hn::Add(c4, c5));
  const auto high = hn::Add(hn::Add(hn::Add(c6, c7), hn::Add(c8, c9)), hn::Add(c10, c11));
  sum += hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
  return 12.0 * static_cast<double>(hn::Lanes(d)) * rounds;
}

}  // namespace HWY_NAMESPACE
}  // namespace tcnum
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcnum {

HWY_EXPORT(multiply_adds);

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double fma_rate() {
  constexpr int kRuns = 20, kRounds = 100'000;
  double best = 0;
  float sum = 0;
  for (int run = 0; run < kRuns; ++run) {
    const double start = cpu_seconds();
    const double done = HWY_DYNAMIC_DISPATCH(multiply_adds)(kRounds, 1e-9f * static_cast<float>(run), sum);
    best = std::max(best, done / (cpu_seconds() - start));
  }
  [[maybe_unused]] static volatile float used = 0;
  used = sum;
  return best;
}

}  // namespace tcnum
#endif
