// Copies from global to shared memory: latency of one, and bytes a second of rings of them on all SMs at once.
#include "copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/measure/memory/memory.hpp"
#include "measurements.hpp"
#include "steady.hpp"

namespace tcnum::bench {
namespace {

/// A buffer of which the L2 keeps all, and one that is many times larger.
std::size_t copy_buffer_bytes(const Row& row, bool from_l2) {
  const std::size_t l2 = row.device.memory_facts().l2_bytes;
  // A quarter: what the L2 keeps twice, once for either half of the SMs, fits, too.
  const std::size_t bytes = from_l2 ? l2 / 4 : 32 * l2;
  return std::max<std::size_t>(1, bytes / kCopyBufferPiece) * kCopyBufferPiece;
}

[[noreturn]] void no_such_size() { throw UnavailableError("none of these sizes is one that such a copy can have"); }

/// Latency by size: nothing else goes on on the device.
void measure_latency(const Row& row, const CopyMethod& method) {
  CopyLatencyWork work{.method = method, .from_l2 = row.record.text("from") == "l2"};
  // Whether from DRAM or not: more would only cost page walks, which are the measurement of memories' business.
  work.buffer_bytes = copy_buffer_bytes(row, true);
  row.device.fill(work.buffer_bytes, row.settings.fill_seed());
  Points sweep{"latency_bytes", "latency_cycles", "latency_min_cycles", "latency_max_cycles"};
  double spread = 0;
  std::size_t samples = 0;
  for (const unsigned bytes : row.numbers("latency_bytes")) {
    work.copy_bytes = bytes;
    if (bytes < least_copy_bytes(method) || bytes > most_copy_bytes(method)) continue;
    if (bytes > row.device.ring_bytes()) continue;
    std::vector<double> cycles, of_launches;
    while (of_launches.size() < row.settings.stop.least_samples) {
      const CopyLatencies found = row.device.copy_latencies(work);
      check_latencies(work, found, row.settings.fill_seed());
      cycles.insert(cycles.end(), found.cycles.begin(), found.cycles.end());
      of_launches.push_back(median_of(found.cycles));
    }
    const Summary all = summarise(std::move(cycles));
    sweep.add(bytes, all.median, all.min, all.max);
    spread = std::max(spread, summarise(of_launches).spread_percent());
    samples = all.count;
  }
  if (sweep.empty()) no_such_size();
  Record& record = row.record;
  record.set("least_bytes", static_cast<std::int64_t>(sweep[0].front()));
  record.set("least_cycles", sweep[1].front());
  record.set("most_bytes", static_cast<std::int64_t>(sweep[0].back()));
  record.set("most_cycles", sweep[1].back());
  record.set("spread_percent", spread);
  record.set("samples_of_a_size", static_cast<std::int64_t>(samples));
  record.set("checked", std::string("the sum by place of every copy"));
  sweep.put(record);
}

constexpr double kGiga = 1e9, kTera = 1e12;
constexpr unsigned kLaunches = 3;

/// What a warp's loads have under way at most.
constexpr std::size_t kWarpLoadBytes = std::size_t{kLoadsInFlight} * 32 * 16;

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

double rate_of(const CopyWork& work, const CheckedTimes& times) {
  return bytes_of(work, times.blocks) / summarise(times.batch.seconds).median;
}

/// So many copies that a launch lasts long enough for the device's timer; out of DRAM no more than there are boxes.
std::uint32_t copies_that_last(TimingDevice& device, CopyWork work, std::uint32_t boxes) {
  constexpr double kSeconds = 5e-4, kTimerStep = 1e-6, kMostGrowth = 64, kMostCopies = 1 << 24;
  work.copies = 4 * work.stages;
  for (;;) {
    const CheckedTimes times = device.copy(work, 1);
    const std::uint32_t rings = times.blocks / work.method.cluster * work.warps;
    const double most = work.from_l2 ? kMostCopies : std::floor(static_cast<double>(boxes) / rings);
    const double growth = std::clamp(kSeconds / std::max(times.batch.seconds.front(), kTimerStep), 1.0, kMostGrowth);
    const double next = std::clamp(std::ceil(work.copies * growth), 1.0, std::max(1.0, most));
    const bool enough = growth < 2 || next <= work.copies;
    work.copies = static_cast<std::uint32_t>(next);
    if (enough) return work.copies;
  }
}

struct Best {
  CopyWork work;
  double bytes_per_second = 0;
};

/// All sizes, stages and warps that fit. Every copy of a point is read and checked in a launch that is not timed; of
/// the timed ones, what they leave in the rings.
Best sweep(const Row& row, CopyWork work, Points& points) {
  Best best;
  const bool synchronous = work.method.way == CopyWay::load_store;
  for (const unsigned bytes : row.numbers("copy_bytes")) {
    work.copy_bytes = bytes;
    if (bytes < least_copy_bytes(work.method) || bytes > most_copy_bytes(work.method)) continue;
    // More than what a warp loads at once is only the same again.
    if (synchronous && bytes > kWarpLoadBytes) continue;
    const BoxLayout layout = box_layout(work.method.dimensions, bytes, work.buffer_bytes);
    const auto sums = box_sums(layout, row.settings.fill_seed(), row.settings.threads);
    for (const unsigned stages : row.numbers("stages")) {
      work.stages = synchronous ? 1 : stages;
      for (const unsigned warps : row.numbers("copy_warps")) {
        work.warps = warps;
        if (work.copy_bytes * work.stages * work.warps > row.device.ring_bytes()) continue;
        work.copies = copies_that_last(row.device, work, layout.count());
        work.read_all = true;
        check_copies(work, row.device.copy(work, 1), sums, row.settings.threads);
        work.read_all = false;
        const CheckedTimes times = row.device.copy(work, kLaunches);
        check_copies(work, times, sums, row.settings.threads);
        const double rate = rate_of(work, times);
        points.add(bytes, work.stages, warps, in_flight(work), rate / kGiga);
        if (rate > best.bytes_per_second) best = {work, rate};
      }
      if (synchronous) break;  // stages are only the same again
    }
  }
  return best;
}

void put_best(const Row& row, const CopyWork& work) {
  const BoxLayout layout = box_layout(work.method.dimensions, work.copy_bytes, work.buffer_bytes);
  const auto sums = box_sums(layout, row.settings.fill_seed(), row.settings.threads);
  std::uint32_t blocks = 0;
  const Steady steady = sample_steadily(
      row.device,
      [&] {
        const CheckedTimes times = row.device.copy(work, kLaunches);
        check_copies(work, times, sums, row.settings.threads);
        blocks = times.blocks;
        return TimedSample{rate_of(work, times), times.batch.clock_mhz};
      },
      row.settings);
  const Summary s = summarise(steady.samples);
  Record& record = row.record;
  put_rates(record, "tera_bytes_per_second", steady, kTera);
  if (const auto clock = record.number("clock_mhz")) {
    record.set("bytes_per_clock", s.median / (blocks * *clock * 1e6));
  }
  const double fetched = s.median / work.method.cluster;
  record.set("fetched_tera_bytes_per_second", fetched / kTera);
  if (!work.from_l2) put_share_of_pins(row, fetched);
  record.set("device_blocks", std::int64_t{blocks});
  record.set("buffer_bytes", static_cast<std::int64_t>(work.buffer_bytes));
  record.set("best_copy_bytes", static_cast<std::int64_t>(work.copy_bytes));
  record.set("best_stages", std::int64_t{work.stages});
  record.set("best_warps", std::int64_t{work.warps});
  record.set("best_in_flight_bytes", in_flight(work));
  record.set("checked", std::string("the sum by place of every copy, beside the timed launches and at their ends"));
}

void measure_rates(const Row& row, const CopyMethod& method) {
  CopyWork work{.method = method, .from_l2 = row.record.text("from") == "l2"};
  work.buffer_bytes = copy_buffer_bytes(row, work.from_l2);
  require_room(row, work.buffer_bytes);
  row.device.fill(work.buffer_bytes, row.settings.fill_seed());
  Points points{"sweep_copy_bytes", "sweep_stages", "sweep_warps", "sweep_in_flight_bytes",
                "sweep_giga_bytes_per_second"};
  const Best best = sweep(row, work, points);
  if (points.empty()) no_such_size();
  put_best(row, best.work);
  row.record.set("saturated_in_flight_bytes", saturated_from(points[3], points[4]));
  points.put(row.record);
}

/// A measurement of methods, from the L2 and from DRAM, that also goes over these axes.
Measurement measurement_of_methods(std::string name, const char* meaning, std::string_view prefix,
                                   std::vector<Axis> axes, void (*measure)(const Row& row, const CopyMethod& method)) {
  std::vector<std::string> subjects = names_in(kCopyMethods);
  for (std::string& subject : subjects) subject.insert(0, prefix);
  axes.insert(axes.begin(), Axis{"from", "where the bytes are", {"l2", "dram"}});
  return {.name = std::move(name),
          .meaning = meaning,
          .axes = std::move(axes),
          .subjects = of_nvidia(std::move(subjects)),
          .measure_row = [prefix, measure](const Row& row) {
            const NamedMethod& way = named(kCopyMethods, row.record.subject.substr(prefix.size()));
            if (row.arch < way.first) {
              throw UnavailableError(fmt::format("{} needs {}", way.name, arch(way.first).name));
            }
            if (row.arch > way.last) {
              throw UnavailableError(fmt::format("{} is not built for {}", way.name, arch(row.arch).name));
            }
            settle_clock(row);
            measure(row, way.method);
          }};
}

}  // namespace

std::vector<Measurement> copy_measurements() {
  return {
      measurement_of_methods(
          "copy latency",
          "one copy from global to shared memory, from its first instruction until its last word is read", kLatencyOf,
          {swept({"latency_bytes", "bytes of the copy; a row has them all", doubled(128, 65536)})}, measure_latency),
      measurement_of_methods(
          "copies",
          "rings of copies from global to shared memory, on all SMs, by the bytes of a copy and those under way", "",
          {swept({"copy_bytes", "bytes of a copy; a row has them all", doubled(128, 32768),
                  numbers({128, 512, 2048, 8192, 32768})}),
           swept({"stages", "copies of a warp under way", numbers({2, 3, 4})}),
           swept({"copy_warps", "warps of an SM, each with a ring of its own", doubled(1, 32)})},
          measure_rates)};
}

}  // namespace tcnum::bench
