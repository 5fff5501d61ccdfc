// Copies between the host's memory and the device's, and memory that both see.
#include <fmt/format.h>

#include <algorithm>

#include "buffers.hpp"
#include "memory.hpp"
#include "tcnum/error.hpp"

namespace tcnum::bench {
namespace {

/// One row a subject that copies.
struct Copies {
  std::string name;
  bool pinned, to_device, from_device;
};
const std::vector<Copies>& copy_table() {
  static const std::vector<Copies> table = {
      {"host.pinned.to_device", true, true, false},      {"host.pinned.from_device", true, false, true},
      {"host.pinned.both_ways", true, true, true},       {"host.pageable.to_device", false, true, false},
      {"host.pageable.from_device", false, false, true}, {"host.pageable.both_ways", false, true, true}};
  return table;
}
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
std::vector<double> seconds_of(const MemoryRow& row, const HostCopy& work) {
  const HostCopyTimes times = row.memory.copy(work);
  const bool right = (!work.to_device || times.to_sum == sum_of_words(kToDeviceSeed, work.bytes)) &&
                     (!work.from_device || times.from_sum == sum_of_words(kFromDeviceSeed, work.bytes));
  if (!right) {
    throw WrongResult(
        fmt::format("{}: other bytes arrived than were copied ({} of them)", row.record.subject, work.bytes));
  }
  std::vector<double> seconds;
  for (double all : times.seconds) seconds.push_back(all / work.copies);
  return seconds;
}

/// Time is start + bytes / rate: a least-squares line through the times, each weighed by its own size, as errors are.
struct Fit {
  double start_seconds, bytes_per_second;
};
std::optional<Fit> fit_line(const std::vector<double>& bytes, const std::vector<double>& seconds) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const double weight = 1 / (seconds[i] * seconds[i]);
    w += weight;
    wx += weight * bytes[i];
    wy += weight * seconds[i];
    wxx += weight * bytes[i] * bytes[i];
    wxy += weight * bytes[i] * seconds[i];
  }
  const double determinant = w * wxx - wx * wx;
  if (!(determinant > 0)) return std::nullopt;
  const double slope = (w * wxy - wx * wy) / determinant;
  if (!(slope > 0)) return std::nullopt;
  return Fit{(wy - slope * wx) / w, 1 / slope};
}

std::string measure_copies(const MemoryRow& row, const Copies& way) {
  constexpr std::size_t kLeast = 1024, kMost = std::size_t{1} << 30;
  constexpr double kBytesOfASample = 64e6;
  constexpr unsigned kMostCopies = 100;
  const std::size_t room = std::min(row.memory.memory_facts().global_bytes, row.memory.memory_facts().host_bytes) / 4;
  Record::Series sizes{"sweep_bytes", {}}, median{"sweep_seconds", {}}, least{"sweep_min_seconds", {}},
      most{"sweep_max_seconds", {}}, rates{"sweep_giga_bytes_per_second", {}};
  const double directions = way.to_device && way.from_device ? 2 : 1;
  double spread = 0;
  for (std::size_t bytes = kLeast; bytes <= std::min(kMost, room); bytes *= 4) {
    if (!row.settings.go_on(fmt::format("{} {} bytes", row.record.subject, bytes))) break;
    const auto copies = static_cast<unsigned>(
        std::clamp(kBytesOfASample / static_cast<double>(bytes), 1.0, static_cast<double>(kMostCopies)));
    const auto samples = static_cast<unsigned>(row.settings.stop.least_samples);
    const Summary s = summarise(seconds_of(row, {way.pinned, way.to_device, way.from_device, bytes, copies, samples}));
    sizes.numbers.push_back(static_cast<double>(bytes));
    median.numbers.push_back(s.median);
    least.numbers.push_back(s.min);
    most.numbers.push_back(s.max);
    rates.numbers.push_back(directions * static_cast<double>(bytes) / s.median * 1e-9);
    spread = std::max(spread, s.spread_percent());
  }
  if (rates.numbers.empty()) return "interrupted, or less memory than the smallest copy takes";
  row.record.set("giga_bytes_per_second", std::ranges::max(rates.numbers));
  row.record.set("least_us", median.numbers.front() * 1e6);
  row.record.set("spread_percent", spread);
  if (const auto fit = fit_line(sizes.numbers, median.numbers)) {
    row.record.set("fit_start_us", fit->start_seconds * 1e6);
    row.record.set("fit_giga_bytes_per_second", directions * fit->bytes_per_second * 1e-9);
  }
  for (Record::Series* series : {&sizes, &median, &least, &most, &rates})
    row.record.series.push_back(std::move(*series));
  return "";
}

void put_managed(const MemoryRow& row, const std::string& prefix, std::size_t bytes) {
  constexpr unsigned kTimes = 4;
  const std::size_t elements = bytes / (3 * sizeof(double) * kStreamElements) * kStreamElements;
  const StreamWork work{"triad", elements, 1};
  const ManagedTimes times = row.memory.managed_triad(elements, kTimes);
  if (times.checksum != expected_checksum(work, row.settings.threads)) {
    throw WrongResult("the triad over managed memory has other results than the CPU's");
  }
  const double giga_bytes = stream_bytes(work.kernel) * static_cast<double>(elements) * 1e-9;
  const std::vector<double> later(times.seconds.begin() + 1, times.seconds.end());
  row.record.set(prefix + "bytes", static_cast<std::int64_t>(3 * sizeof(double) * elements));
  row.record.set(prefix + "first_giga_bytes_per_second", giga_bytes / times.seconds.front());
  row.record.set(prefix + "giga_bytes_per_second", giga_bytes / summarise(later).median);
}

/// So much more than the device's memory that a quarter of it must move to and fro.
std::size_t oversubscribed_bytes(const MemoryFacts& facts) { return facts.global_bytes + facts.global_bytes / 4; }

/// Throws UnavailableError if the host has less memory than that, and some to spare.
void require_room(const MemoryFacts& facts) {
  const std::size_t bytes = oversubscribed_bytes(facts), needed = bytes + bytes / 4;
  if (facts.host_bytes >= needed) return;
  throw UnavailableError(
      fmt::format("--oversubscribe: {} bytes of the host's memory are available; right would be a "
                  "machine with {}, or no --oversubscribe",
                  facts.host_bytes, needed));
}

void measure_managed(const MemoryRow& row) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  const MemoryFacts& facts = row.memory.memory_facts();
  put_managed(row, "", std::min({kMost, facts.global_bytes / 4, facts.host_bytes / 4}));
  if (row.settings.oversubscribe) put_managed(row, "oversubscribed_", oversubscribed_bytes(facts));
}

class HostMeasurement final : public Measurement {
 public:
  std::string name() const override { return "host"; }
  std::string meaning() const override { return "copies between the host's memory and the device's, by their size"; }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes;
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override {
    std::vector<std::string> names;
    for (const Copies& copies : copy_table()) names.push_back(copies.name);
    names.emplace_back(kManaged);
    return if_nvidia(arch, std::move(names));
  }
  void measure(TimingDevice& device, ArchId, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    const bool managed = std::ranges::find(subjects, kManaged) != subjects.end();
    if (settings.oversubscribe && managed && device.memory() != nullptr) require_room(device.memory()->memory_facts());
    measure_rows(name(), axes(), device, subjects, selection, settings, add, [](const MemoryRow& row) {
      const auto copies = std::ranges::find(copy_table(), row.record.subject, &Copies::name);
      if (copies != copy_table().end()) return measure_copies(row, *copies);
      measure_managed(row);
      return std::string();
    });
  }
};

}  // namespace

const Measurement& host_measurement() {
  static const HostMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
