// The levels of a memory hierarchy, found in latencies; and what the measurements of memories share.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/measure/measurements.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/measure/steady.hpp"
#include "memory.hpp"

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

std::vector<std::size_t> quarter_octaves(std::size_t least, std::size_t most, std::size_t piece) {
  constexpr std::size_t kParts = 4;
  std::vector<std::size_t> sizes;
  for (std::size_t octave = least; octave <= most; octave *= 2) {
    for (std::size_t part = 0; part < kParts; ++part) {
      const std::size_t size = octave / kParts * (kParts + part) / piece * piece;
      if (size <= most && (sizes.empty() || size > sizes.back())) sizes.push_back(size);
    }
  }
  return sizes;
}

void settle_clock(const Row& row) {
  if (row.settings.warm_up_seconds <= 0) return;
  const ReadWork work{.bytes = kReadPiece, .rounds = 10'000};
  row.device.fill(work.buffer_bytes(static_cast<std::size_t>(row.device.facts().sms)), row.settings.fill_seed());
  settle_clock(row.settings, [&] { row.device.read(work); });
}

std::vector<Measurement> memory_measurements() {
  std::vector<Measurement> all = {latency_measurement(), bandwidth_measurement(), streams_measurement()};
  for (Measurement& each : all) {
    each.measure_row = [measure = std::move(each.measure_row)](const Row& row) {
      settle_clock(row);
      measure(row);
    };
  }
  return all;
}

void require_room(const Row& row, std::size_t bytes) {
  if (2 * bytes <= row.device.memory_facts().global_bytes) return;
  throw UnavailableError("its buffer does not fit in the device's memory");
}

void put_share_of_pins(const Row& row, double bytes_per_second) {
  const auto pins = row.device.memory_facts().dram_bytes_per_second;
  if (pins) row.record.set("percent_of_pins", bytes_per_second / *pins * 100);
}

void put_shares(Document& document) {
  constexpr const char* kRate = "giga_bytes_per_second";
  double highest = 0;
  const auto is_stream = [](const Record& r) { return r.measurement == "streams"; };
  for (const Record& r : document.records) {
    if (is_stream(r)) highest = std::max(highest, r.number(kRate).value_or(0));
  }
  for (Record& r : document.records) {
    const auto rate = r.number(kRate);
    if (rate && is_stream(r) && highest > 0) r.set("percent_of_highest", *rate / highest * 100);
  }
}

}  // namespace tcnum::bench
