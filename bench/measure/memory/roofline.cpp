// The roofline: how fast each unit multiplies and adds while what it needs comes from DRAM, by operations for each
// byte.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>

#include "bench/measure/peaks.hpp"
#include "memory.hpp"
#include "roofline_words.hpp"

namespace tcnum::bench {
namespace {

constexpr double kGiga = 1e9, kTera = 1e12;

struct Unit {
  const char* name;
  RooflineUnit unit;
  ArchId first;
  const char* arithmetic;  ///< whose operations are the unit's; null: the tensor cores'
};
constexpr Unit kUnits[] = {{"roofline.fp16", RooflineUnit::fp16, ArchId::sm_70, "fma.rn.f16x2"},
                           {"roofline.fp32", RooflineUnit::fp32, ArchId::sm_70, "fma.rn.f32"},
                           {"roofline.fp64", RooflineUnit::fp64, ArchId::sm_70, "fma.rn.f64"},
                           {"roofline.mma", RooflineUnit::tensor, ArchId::sm_80, nullptr}};

/// Operations of an SM in a clock, at most; none: no source says.
std::optional<double> peak_of(const Unit& unit, ArchId arch) {
  if (unit.arithmetic == nullptr) return peak_operations_per_clock(arch, FormatId::fp16, false);
  const auto results = arithmetic_per_clock(arch, unit.arithmetic);
  return results ? std::optional(2 * *results) : std::nullopt;
}

/// A turn for so many reads, or so many turns for a read.
RooflineWork work_of(RooflineUnit unit, std::size_t bytes, double intensity) {
  RooflineWork work{.unit = unit, .bytes = bytes};
  const double turns = intensity / roofline_intensity(work);
  work.turns = static_cast<unsigned>(std::max(1.0, turns));
  work.reads = static_cast<unsigned>(std::max(1.0, 1 / turns));
  return work;
}

struct Point {
  double intensity, flops, bytes;  ///< a second, both of the whole device
  double clock_mhz, spread_percent;
  std::optional<double> watts, celsius;
};

/// A row has many points: of each as much steady load as settings.stop wants at least, or the energy counter needs,
/// which steps every 0.1 s.
StopRule stop_of_point(const Row& row) {
  constexpr double kEnoughSteps = 0.3;
  StopRule stop = row.settings.stop;
  if (row.device.energy_joules()) stop.least_seconds = std::max(stop.least_seconds, kEnoughSteps);
  stop.most_seconds = stop.least_seconds;
  return stop;
}

Point measure_point(const Row& row, const RooflineWork& work, const RooflineWords& words) {
  constexpr double kBatchSeconds = 0.02;
  constexpr unsigned kMostLaunches = 64;
  const std::uint64_t expected = words.checksum(work, row.settings.threads);
  const auto run = [&](unsigned launches) {
    RooflineTimes times = row.device.roofline(work, launches);
    if (times.checksum != expected) {
      throw WrongResult(
          fmt::format("{} with {} turns for {} reads: the sum of its results is 0x{:x}, and 0x{:x} on the "
                      "CPU",
                      row.record.subject, work.turns, work.reads, times.checksum, expected));
    }
    return times.batch;
  };
  const double once = run(2).seconds.back();
  const auto launches =
      static_cast<unsigned>(std::clamp(kBatchSeconds / std::max(once, 1e-6), 1.0, static_cast<double>(kMostLaunches)));
  Settings settings = row.settings;
  settings.stop = stop_of_point(row);
  std::vector<double> rates;
  // The rate stands for the cycles of a sample.
  const Steady steady = sample_steadily(
      row.device,
      [&] {
        const TimedBatch batch = run(launches);
        rates.push_back(static_cast<double>(work.bytes) / summarise(batch.seconds).median);
        return TimedSample{rates.back(), batch.clock_mhz};
      },
      settings);
  const Summary s = summarise(rates);
  const double intensity = roofline_intensity(work);
  const double clock = steady.clock_mhz.empty() ? 0 : summarise(steady.clock_mhz).median;
  return {intensity,
          s.median * intensity,
          s.median,
          clock,
          s.spread_percent(),
          steady.power_watts,
          row.device.temperature_celsius()};
}

template <class Value>
double highest(const std::vector<Point>& points, Value Point::*value) {
  double most = 0;
  for (const Point& p : points) {
    if constexpr (std::is_same_v<Value, double>) {
      most = std::max(most, p.*value);
    } else {
      most = std::max(most, (p.*value).value_or(0));
    }
  }
  return most;
}

void put_roofs(const Row& row, const std::vector<Point>& points, std::optional<double> peak_per_clock) {
  Record& record = row.record;
  const Point& fastest = *std::ranges::max_element(points, {}, &Point::flops);
  const double flops = fastest.flops, bytes = highest(points, &Point::bytes);
  record.set("tera_flops", flops / kTera);
  record.set("giga_bytes_per_second", bytes / kGiga);
  record.set("ridge_flops_per_byte", flops / bytes);
  record.set("spread_percent", highest(points, &Point::spread_percent));
  if (const double watts = highest(points, &Point::watts); watts > 0) record.set("power_watts", watts);
  if (const double celsius = highest(points, &Point::celsius); celsius > 0) record.set("temperature_celsius", celsius);
  if (peak_per_clock && fastest.clock_mhz > 0) {
    record.set("percent_of_peak", flops / (*peak_per_clock * row.device.facts().sms * fastest.clock_mhz * 1e6) * 100);
  }
  put_share_of_pins(row, bytes);
  if (fastest.clock_mhz > 0) record.set("clock_mhz", fastest.clock_mhz);
}

/// A series of what each point has; none if one has it not.
void put_series(Record& record, const std::string& name, const std::vector<Point>& points,
                const std::function<std::optional<double>(const Point&)>& value) {
  Record::Series series{name, {}};
  for (const Point& p : points) {
    const auto number = value(p);
    if (!number) return;
    series.numbers.push_back(*number);
  }
  record.series.push_back(std::move(series));
}

void put_points(Record& record, const std::vector<Point>& points) {
  const double flops = highest(points, &Point::flops), bytes = highest(points, &Point::bytes);
  const auto put = [&](const char* name, const std::function<std::optional<double>(const Point&)>& value) {
    put_series(record, name, points, value);
  };
  put("sweep_intensity", [](const Point& p) { return p.intensity; });
  put("sweep_tera_flops", [](const Point& p) { return p.flops / kTera; });
  put("sweep_giga_bytes_per_second", [](const Point& p) { return p.bytes / kGiga; });
  put("sweep_percent_of_roof", [&](const Point& p) { return p.flops / std::min(flops, p.intensity * bytes) * 100; });
  put("sweep_clock_mhz", [](const Point& p) { return p.clock_mhz > 0 ? std::optional(p.clock_mhz) : std::nullopt; });
  put("sweep_power_watts", [](const Point& p) { return p.watts; });
  put("sweep_temperature_celsius", [](const Point& p) { return p.celsius; });
}

void measure_unit(const Row& row) {
  constexpr std::size_t kTimesL2 = 16, kMostReads = 16, kPiece = kMostReads * kRooflineTileBytes;
  const Unit& unit = named(kUnits, row.record.subject);
  if (row.arch < unit.first) throw UnavailableError("its instruction is sm_80's and later ones'");
  const std::size_t bytes = kTimesL2 * row.device.memory_facts().l2_bytes / kPiece * kPiece;
  require_room(row, bytes);
  row.device.fill(bytes, row.settings.fill_seed());
  const RooflineWords words(bytes, row.settings.fill_seed(), row.settings.threads);
  std::vector<Point> points;
  const std::vector<std::string>& intensities = row.chosen("intensity");
  for (const std::string& intensity : intensities) {
    if (!row.go_on(fmt::format("{} a byte", intensity))) break;
    points.push_back(measure_point(row, work_of(unit.unit, bytes, std::stod(intensity)), words));
  }
  if (points.empty()) throw UnavailableError("interrupted");
  std::ranges::sort(points, {}, &Point::intensity);
  put_roofs(row, points, peak_of(unit, row.arch));
  put_points(row.record, points);
}

}  // namespace

Measurement roofline_measurement() {
  return {.name = "roofline",
          .meaning = "operations a second of arithmetic whose operands come from DRAM, by operations for each byte",
          .axes = {swept({"intensity",
                          "operations for each byte of DRAM; a row has them all",
                          {"0.125", "0.25", "0.5", "1", "2", "4", "8", "16", "32", "64", "128", "256"}})},
          .subjects = of_nvidia(names_in(kUnits)),
          .measure_row = measure_unit};
}

}  // namespace tcnum::bench
