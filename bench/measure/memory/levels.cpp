#include "levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/measure/statistics.hpp"

namespace tcnum::bench {
namespace {

/// Neighbouring points from one to before another.
struct Run {
  std::size_t begin, end;
};

std::vector<double> cycles_of(const std::vector<LatencyPoint>& points, Run run) {
  std::vector<double> cycles;
  for (std::size_t i = run.begin; i < run.end; ++i) cycles.push_back(points[i].cycles);
  return cycles;
}

bool is_flat(const std::vector<LatencyPoint>& points, Run run) {
  constexpr double kFlat = 1.04;
  const Summary s = summarise(cycles_of(points, run));
  return s.min > 0 && s.max <= s.median * kFlat && s.min * kFlat >= s.median;
}

/// The longest flat run among those points, the first of several; none of at least so many.
std::optional<Run> longest_flat(const std::vector<LatencyPoint>& points, Run among) {
  constexpr std::size_t kLeastPoints = 3;
  for (std::size_t length = among.end - among.begin; length >= kLeastPoints; --length) {
    for (std::size_t begin = among.begin; begin + length <= among.end; ++begin) {
      if (is_flat(points, {begin, begin + length})) return Run{begin, begin + length};
    }
  }
  return std::nullopt;
}

void find_runs(const std::vector<LatencyPoint>& points, Run among, std::vector<Run>& found) {
  const auto longest = longest_flat(points, among);
  if (!longest) return;
  find_runs(points, {among.begin, longest->begin}, found);
  found.push_back(*longest);
  find_runs(points, {longest->end, among.end}, found);
}

double median(const std::vector<LatencyPoint>& points, Run run) { return summarise(cycles_of(points, run)).median; }

}  // namespace

std::vector<Level> find_levels(const std::vector<LatencyPoint>& points) {
  constexpr double kSame = 1.12;
  std::vector<Run> runs, merged;
  find_runs(points, {0, points.size()}, runs);
  for (const Run& run : runs) {
    if (!merged.empty() && median(points, run) < kSame * median(points, merged.back())) {
      merged.back().end = run.end;
    } else {
      merged.push_back(run);
    }
  }
  std::vector<Level> levels;
  for (const Run& run : merged) {
    levels.push_back({median(points, run), points[run.end - 1].bytes, points[run.begin].bytes});
  }
  return levels;
}

std::vector<std::string> names_of(const std::vector<Level>& levels, double l2_bytes) {
  constexpr double kSmallPart = 0.1, kBeyond = 2;
  std::vector<std::string> names;
  int in_l2 = 0, in_dram = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (i == 0 && levels[i].fits_bytes < kSmallPart * l2_bytes) {
      names.emplace_back("l1");
    } else if (levels[i].fits_bytes <= kBeyond * l2_bytes) {
      ++in_l2;
      names.push_back(in_l2 == 1 ? "l2" : in_l2 == 2 ? "l2_far" : fmt::format("l2_{}", in_l2));
    } else {
      ++in_dram;
      names.push_back(in_dram == 1 ? "dram" : fmt::format("dram_{}", in_dram));
    }
  }
  return names;
}

}  // namespace tcnum::bench
