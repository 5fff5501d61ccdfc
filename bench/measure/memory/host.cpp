// Copies between the host's memory and the device's, and memory that both see.
#include <fmt/format.h>

#include <algorithm>

#include "bench/measure/line_fit.hpp"
#include "buffers.hpp"
#include "memory.hpp"

namespace tcnum::bench {
namespace {

/// One row a subject that copies.
struct Copies {
  const char* name;
  bool pinned, to_device, from_device;
};
constexpr Copies kCopies[] = {
    {"host.pinned.to_device", true, true, false},      {"host.pinned.from_device", true, false, true},
    {"host.pinned.both_ways", true, true, true},       {"host.pageable.to_device", false, true, false},
    {"host.pageable.from_device", false, false, true}, {"host.pageable.both_ways", false, true, true}};
constexpr const char* kManaged = "host.managed.triad";

std::uint64_t sum_of_words(std::uint32_t seed, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < bytes / sizeof(std::uint64_t); ++i) {
    const std::uint64_t word = memory_word(seed, 2 * i) | std::uint64_t{memory_word(seed, 2 * i + 1)} << 32;
    sum += word * (2 * i + 1);
  }
  return sum;
}

/// Seconds of a copy, of each sample; what arrived is checked.
std::vector<double> seconds_of(const Row& row, const HostCopy& work) {
  HostCopyTimes times = row.device.copy_host(work);
  const bool right = (!work.to_device || times.to_sum == sum_of_words(kToDeviceSeed, work.bytes)) &&
                     (!work.from_device || times.from_sum == sum_of_words(kFromDeviceSeed, work.bytes));
  if (!right) {
    throw WrongResult(
        fmt::format("{}: other bytes arrived than were copied ({} of them)", row.record.subject, work.bytes));
  }
  for (double& seconds : times.seconds) seconds /= work.copies;
  return times.seconds;
}

void measure_copies(const Row& row, const Copies& way) {
  constexpr std::size_t kLeast = 1024, kMost = std::size_t{1} << 30;
  constexpr double kBytesOfASample = 64e6, kMostCopies = 100;
  const MemoryFacts& facts = row.device.memory_facts();
  const std::size_t room = std::min(facts.global_bytes, facts.host_bytes) / 4;
  Points sweep{"sweep_bytes", "sweep_seconds", "sweep_min_seconds", "sweep_max_seconds", "sweep_giga_bytes_per_second"};
  std::vector<std::pair<double, double>> line;
  const double directions = way.to_device && way.from_device ? 2 : 1;
  double spread = 0;
  for (std::size_t bytes = kLeast; bytes <= std::min(kMost, room); bytes *= 4) {
    if (!row.go_on(fmt::format("{} bytes", bytes))) break;
    const auto size = static_cast<double>(bytes);
    const auto copies = static_cast<unsigned>(std::clamp(kBytesOfASample / size, 1.0, kMostCopies));
    const auto samples = static_cast<unsigned>(row.settings.stop.least_samples);
    const Summary s = summarise(seconds_of(row, {way.pinned, way.to_device, way.from_device, bytes, copies, samples}));
    sweep.add(bytes, s.median, s.min, s.max, directions * size / s.median * 1e-9);
    line.emplace_back(size, s.median);
    spread = std::max(spread, s.spread_percent());
  }
  sweep.put(row.record);
  row.record.set("giga_bytes_per_second", std::ranges::max(sweep[4]));
  row.record.set("least_us", sweep[1].front() * 1e6);
  row.record.set("spread_percent", spread);
  if (line.size() < 2) return;
  const LineFit fit = fit_line(line);
  row.record.set("fit_start_us", fit.start * 1e6);
  if (fit.slope > 0) row.record.set("fit_giga_bytes_per_second", directions / fit.slope * 1e-9);
}

void put_managed(const Row& row, const std::string& prefix, std::size_t bytes) {
  constexpr unsigned kTimes = 4;
  const std::size_t elements = bytes / (3 * sizeof(double) * kStreamElements) * kStreamElements;
  const StreamWork work{"triad", elements, 1};
  const ManagedTimes times = row.device.managed_triad(elements, kTimes);
  if (times.checksum != expected_checksum(work, row.settings.threads)) {
    throw WrongResult("the triad over managed memory has other results than the CPU's");
  }
  const double giga_bytes = stream_bytes(work.kernel) * static_cast<double>(elements) * 1e-9;
  row.record.set(prefix + "bytes", static_cast<std::int64_t>(3 * sizeof(double) * elements));
  row.record.set(prefix + "first_giga_bytes_per_second", giga_bytes / times.seconds.front());
  row.record.set(prefix + "giga_bytes_per_second",
                 giga_bytes / median_of({times.seconds.begin() + 1, times.seconds.end()}));
}

/// With --oversubscribe, also over so much more than the device's memory that a quarter of it must move to and fro.
void measure_managed(const Row& row) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  const MemoryFacts& facts = row.device.memory_facts();
  const std::size_t beyond = facts.global_bytes + facts.global_bytes / 4, needed = beyond + beyond / 4;
  if (row.settings.oversubscribe && facts.host_bytes < needed) {
    throw UnavailableError(
        fmt::format("--oversubscribe: {} bytes of the host's memory are available; expected {}, or no --oversubscribe",
                    facts.host_bytes, needed));
  }
  put_managed(row, "", std::min({kMost, facts.global_bytes / 4, facts.host_bytes / 4}));
  if (row.settings.oversubscribe) put_managed(row, "oversubscribed_", beyond);
}

}  // namespace

Measurement host_measurement() {
  std::vector<std::string> subjects = names_in(kCopies);
  subjects.emplace_back(kManaged);
  return {.name = "host",
          .meaning = "copies between the host's memory and the device's, by their size",
          .axes = {},
          .subjects = of_nvidia(std::move(subjects)),
          .measure_row = [](const Row& row) {
            if (row.record.subject == kManaged) {
              measure_managed(row);
            } else {
              measure_copies(row, named(kCopies, row.record.subject));
            }
          }};
}

}  // namespace tcnum::bench
