// Bytes a second that rings of copies bring to shared memory, on all SMs at once.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/measure/steady.hpp"
#include "copies.hpp"
#include "sums.hpp"

namespace tcnum::bench {
namespace {

constexpr double kGiga = 1e9, kTera = 1e12;
constexpr unsigned kLaunches = 3;

/// What a warp's loads have under way at most.
constexpr std::size_t kWarpLoadBytes = std::size_t{kLoadsInFlight} * 32 * 16;

struct Point {
  CopyWork work;
  double bytes_per_second;
};

/// Bytes under way in an SM.
double in_flight(const CopyWork& work) {
  const double ring = static_cast<double>(work.copy_bytes) * work.stages * work.warps;
  if (work.method.way != CopyWay::load_store) return ring;
  return std::min(ring, static_cast<double>(kWarpLoadBytes) * work.warps);
}

/// All bytes that arrive in shared memory in a launch.
double bytes_of(const CopyWork& work, std::uint32_t blocks) {
  return static_cast<double>(work.copy_bytes) * work.copies * work.warps * blocks;
}

double rate_of(const CopyWork& work, const CopyTimes& times) {
  return bytes_of(work, times.blocks) / summarise(times.seconds).median;
}

/// So many copies that a launch lasts long enough for the device's timer; out of DRAM no more than there are boxes.
std::uint32_t copies_that_last(CopyDevice& device, CopyWork work, std::uint32_t boxes) {
  constexpr double kSeconds = 5e-4, kTimerStep = 1e-6, kMostGrowth = 64, kMostCopies = 1 << 24;
  work.copies = 4 * work.stages;
  for (;;) {
    const CopyTimes times = device.copy(work, 1);
    const std::uint32_t rings = times.blocks / work.method.cluster * work.warps;
    const double most = work.from_l2 ? kMostCopies : std::floor(static_cast<double>(boxes) / rings);
    const double growth = std::clamp(kSeconds / std::max(times.seconds.front(), kTimerStep), 1.0, kMostGrowth);
    const double next = std::clamp(std::ceil(work.copies * growth), 1.0, std::max(1.0, most));
    const bool enough = growth < 2 || next <= work.copies;
    work.copies = static_cast<std::uint32_t>(next);
    if (enough) return work.copies;
  }
}

/// All sizes, stages and warps that fit. Every copy of a point is read and checked in a launch that is not timed; of
/// the timed ones, what they leave in the rings.
std::vector<Point> sweep(const CopyRow& row, CopyWork work, const Selection& selection) {
  std::vector<Point> points;
  for (const std::string& bytes : selection.at("copy_bytes")) {
    work.copy_bytes = static_cast<std::size_t>(std::stoul(bytes));
    if (work.copy_bytes < least_copy_bytes(work.method) || work.copy_bytes > most_copy_bytes(work.method)) continue;
    const bool synchronous = work.method.way == CopyWay::load_store;
    // More than what a warp loads at once is only the same again.
    if (synchronous && work.copy_bytes > kWarpLoadBytes) continue;
    const BoxLayout layout = box_layout(work.method.dimensions, work.copy_bytes, work.buffer_bytes);
    const auto sums = box_sums(layout, copy_seed(row.settings), row.settings.threads);
    for (const std::string& stages : selection.at("stages")) {
      work.stages = synchronous ? 1 : static_cast<unsigned>(std::stoul(stages));
      for (const std::string& warps : selection.at("copy_warps")) {
        work.warps = static_cast<unsigned>(std::stoul(warps));
        if (work.copy_bytes * work.stages * work.warps > row.device.ring_bytes()) continue;
        work.copies = copies_that_last(row.device, work, layout.count());
        work.read_all = true;
        check_copies(work, row.device.copy(work, 1), sums, row.settings.threads);
        work.read_all = false;
        const CopyTimes times = row.device.copy(work, kLaunches);
        check_copies(work, times, sums, row.settings.threads);
        points.push_back({work, rate_of(work, times)});
      }
      if (synchronous) break;  // stages are only the same again
    }
  }
  return points;
}

void put_best(const CopyRow& row, const Point& best) {
  const CopyWork& work = best.work;
  const BoxLayout layout = box_layout(work.method.dimensions, work.copy_bytes, work.buffer_bytes);
  const auto sums = box_sums(layout, copy_seed(row.settings), row.settings.threads);
  std::vector<double> rates;
  std::uint32_t blocks = 0;
  // The rate stands for the cycles of a sample.
  const Steady steady = sample_steadily(
      row.timing,
      [&] {
        const CopyTimes times = row.device.copy(work, kLaunches);
        check_copies(work, times, sums, row.settings.threads);
        blocks = times.blocks;
        rates.push_back(rate_of(work, times));
        return TimedSample{rates.back(), times.clock_mhz};
      },
      row.settings);
  const Summary s = summarise(rates);
  Record& record = row.record;
  record.set("tera_bytes_per_second", s.median / kTera);
  record.set("tera_bytes_per_second_min", s.min / kTera);
  record.set("tera_bytes_per_second_p5", s.p5 / kTera);
  record.set("tera_bytes_per_second_p95", s.p95 / kTera);
  record.set("tera_bytes_per_second_max", s.max / kTera);
  put_conditions(record, s, steady);
  if (const auto clock = record.number("clock_mhz")) {
    record.set("bytes_per_clock", s.median / (blocks * *clock * 1e6));
  }
  const double fetched = s.median / work.method.cluster;
  record.set("fetched_tera_bytes_per_second", fetched / kTera);
  if (const auto pins = row.device.memory_facts().dram_bytes_per_second; pins && !work.from_l2) {
    record.set("percent_of_pins", fetched / *pins * 100);
  }
  record.set("device_blocks", std::int64_t{blocks});
  record.set("buffer_bytes", static_cast<std::int64_t>(work.buffer_bytes));
  record.set("best_copy_bytes", static_cast<std::int64_t>(work.copy_bytes));
  record.set("best_stages", std::int64_t{work.stages});
  record.set("best_warps", std::int64_t{work.warps});
  record.set("best_in_flight_bytes", in_flight(work));
  record.set("checked", std::string("the sum by place of every copy, beside the timed launches and at their ends"));
}

void put_sweep(Record& record, const std::vector<Point>& points, double best) {
  constexpr double kSaturated = 0.97;
  Record::Series bytes{"sweep_copy_bytes", {}}, stages{"sweep_stages", {}}, warps{"sweep_warps", {}},
      flying{"sweep_in_flight_bytes", {}}, rates{"sweep_giga_bytes_per_second", {}};
  double saturated = INFINITY;
  for (const Point& p : points) {
    bytes.numbers.push_back(static_cast<double>(p.work.copy_bytes));
    stages.numbers.push_back(p.work.stages);
    warps.numbers.push_back(p.work.warps);
    flying.numbers.push_back(in_flight(p.work));
    rates.numbers.push_back(p.bytes_per_second / kGiga);
    if (p.bytes_per_second >= kSaturated * best) saturated = std::min(saturated, in_flight(p.work));
  }
  record.set("saturated_in_flight_bytes", saturated);
  for (Record::Series* series : {&bytes, &stages, &warps, &flying, &rates}) record.series.push_back(std::move(*series));
}

class CopiesMeasurement final : public Measurement {
 public:
  std::string name() const override { return "copies"; }
  std::string meaning() const override {
    return "rings of copies from global to shared memory, on all SMs, by the bytes of a copy and those under way";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<std::string> stages = {"2", "3", "4"}, warps = {"1", "2", "4", "8", "16", "32"};
    static const std::vector<Axis> axes = {from_axis(),
                                           {"copy_bytes",
                                            "bytes of a copy; a row has them all",
                                            {"128", "256", "512", "1024", "2048", "4096", "8192", "16384", "32768"},
                                            {"128", "512", "2048", "8192", "32768"}},
                                           {"stages", "copies of a warp under way", stages, stages},
                                           {"copy_warps", "warps of an SM, each with a ring of its own", warps, warps}};
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override { return copy_subjects(arch, ""); }

  void measure(TimingDevice& device, ArchId arch, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    measure_methods(name(), "", device, arch, subjects, selection, settings, add,
                    [&](const CopyRow& row) { return measure_row(row, selection); });
  }

 private:
  /// Why there is nothing to measure; empty: it was measured.
  static std::string measure_row(const CopyRow& row, const Selection& selection) {
    CopyWork work{.method = row.method, .from_l2 = row.from_l2()};
    work.buffer_bytes = copy_buffer_bytes(row.device, work.from_l2);
    if (2 * work.buffer_bytes > row.device.memory_facts().global_bytes) {
      return "its buffer does not fit in the device's memory";
    }
    row.device.fill(work.buffer_bytes, copy_seed(row.settings));
    const std::vector<Point> points = sweep(row, work, selection);
    if (points.empty()) return kNoSuchSize;
    const Point best = *std::ranges::max_element(points, {}, &Point::bytes_per_second);
    put_best(row, best);
    put_sweep(row.record, points, best.bytes_per_second);
    return "";
  }
};

}  // namespace

const Measurement& copies_measurement() {
  static const CopiesMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
