// Bandwidth: how fast all SMs read at once, from each level of the memory, by the size of what they read.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

#include "buffers.hpp"
#include "gathers.hpp"
#include "memory.hpp"
#include "reads.hpp"
#include "sizes.hpp"

namespace tcnum::bench {
namespace {

constexpr double kTera = 1e12;

/// Sizes of a level's buffers, in whole pieces or smaller powers of two, and the largest that it surely answers alone.
struct Sizes {
  std::vector<std::size_t> bytes;
  std::size_t most_of_level;
};

/// From `least` to `most` with four to an octave, in whole pieces; below one, powers of two.
std::vector<std::size_t> sizes_between(std::size_t least, std::size_t most) {
  std::vector<std::size_t> sizes;
  append_octaves(sizes, least, std::min(most, kReadPiece - 1));
  const std::size_t first_whole = sizes.empty() ? least : 2 * sizes.back();
  std::ranges::copy(quarter_octaves(first_whole, most, kReadPiece), std::back_inserter(sizes));
  return sizes;
}

std::size_t whole_pieces(std::size_t bytes) { return (bytes + kReadPiece - 1) / kReadPiece * kReadPiece; }

constexpr std::size_t kTimesL2 = 4;

Sizes of_shared(const MemoryFacts& facts, std::size_t) {
  return {sizes_between(kLeastRead, facts.shared_bytes), facts.shared_bytes};
}
/// The L1 and shared memory are one storage. A block can have nearly all of it, so that half as much is surely in the
/// L1 where no block has any shared memory.
Sizes of_l1(const MemoryFacts& facts, std::size_t sms) {
  return {sizes_between(kLeastRead, kTimesL2 * facts.l2_bytes / sms), facts.shared_bytes / 2};
}
/// No SM finds in its L1 what it read before, however loads are cached: it has read more than twice what an L1 has in
/// between. There is a piece for each SM at least, so that all are at other places.
Sizes of_l2(const MemoryFacts& facts, std::size_t sms) {
  const std::size_t least = std::max(whole_pieces(3 * facts.shared_bytes), sms * kReadPiece);
  return {sizes_between(least, kTimesL2 * facts.l2_bytes), facts.l2_bytes / 2};
}
/// Of what a cyclic order goes over, a cache of an eighth of the size keeps little, whatever it replaces.
Sizes of_dram(const MemoryFacts& facts, std::size_t) {
  const std::size_t least = whole_pieces(2 * kTimesL2 * facts.l2_bytes);
  return {{least, 2 * least}, 2 * least};
}

struct Subject {
  std::string name;
  Memory memory;
  Sizes (*sizes)(const MemoryFacts& facts, std::size_t sms);
  bool common = false;    ///< all SMs read the same buffer
  bool alone = false;     ///< one SM reads, and the others are idle
  bool off_chip = false;  ///< what is read comes over the memory's pins
  /// SMs that follow each other closely get what another one has just asked for; those of the largest buffer do not.
  bool coalesced = false;
};
const std::vector<Subject>& subject_table() {
  static const std::vector<Subject> table = {{"bandwidth.shared", Memory::shared, of_shared},
                                             {"bandwidth.l1", Memory::l1, of_l1},
                                             {"bandwidth.l2", Memory::l2, of_l2, true, false, false, true},
                                             {"bandwidth.l2.one_sm", Memory::l2, of_l2, true, true},
                                             {"bandwidth.dram", Memory::l2, of_dram, true, false, true}};
  return table;
}

/// What a launch says of the rate.
struct Rate {
  double bytes_per_clock;   ///< of an SM: the mean over the SMs, each of its own bytes by its own clocks
  double slowest, fastest;  ///< SM
  double clock_mhz;         ///< 0: the launch was too short to say
  double bytes_per_second;  ///< of all SMs: the sum of their own rates; 0 without a clock
  double of_launch;         ///< all bytes a second, from the first block's begin to the last one's end
};

double bytes_of_block(const ReadWork& work) { return static_cast<double>(kReadPiece) * work.rounds; }

Rate rate_of(const ReadWork& work, const ReadTimes& times) {
  std::vector<double> rates;
  for (std::size_t block = 0; block < times.cycles.size(); ++block) {
    if (work.timed_rounds(block) > 0) rates.push_back(bytes_of_block(work) / times.cycles[block]);
  }
  const auto blocks = static_cast<double>(rates.size());
  const double sum = std::accumulate(rates.begin(), rates.end(), 0.0), clock = times.batch.clock_mhz;
  const auto [slowest, fastest] = std::ranges::minmax(rates);
  return {sum / blocks, slowest,           fastest,
          clock,        sum * clock * 1e6, bytes_of_block(work) * blocks / times.batch.seconds.front()};
}

/// What one subject with one width is measured with: the buffer is filled, and what is in it is known.
class Reader {
 public:
  Reader(const MemoryRow& row, const Subject& subject, unsigned width, std::size_t most_bytes)
      : row_(row), sms_(static_cast<std::size_t>(row.device.facts().sms)) {
    work_.memory = subject.memory;
    work_.width = width;
    work_.common = subject.common;
    work_.alone = subject.alone;
    work_.bytes = most_bytes;
    row.memory.fill(work_.buffer_bytes(sms_), fill_seed(row.settings));
    whole_.emplace(work_, work_.buffer_bytes(sms_) / kReadPiece, fill_seed(row.settings), row.settings.threads);
  }

  /// So many rounds that a launch lasts long enough for clock and timer. Before them the region is read once.
  void set_size(std::size_t bytes) {
    constexpr double kLaunchCycles = 5e5;
    constexpr unsigned kTryRounds = 64, kMostRounds = 1 << 16;
    work_.bytes = bytes;
    const std::size_t once = work_.common ? (work_.pieces() + sms_ - 1) / sms_ : work_.pieces();
    work_.warm_rounds = static_cast<unsigned>(once);
    if (bytes < kReadPiece) {
      small_.emplace(work_, sms_, fill_seed(row_.settings), row_.settings.threads);
    } else {
      small_.reset();
    }
    work_.rounds = kTryRounds;
    const double round = kReadPiece / read_checked(words().checksums(work_, sms_, row_.settings.threads)).slowest;
    work_.rounds = static_cast<unsigned>(
        std::clamp(kLaunchCycles / round, static_cast<double>(kTryRounds), static_cast<double>(kMostRounds)));
    expected_ = words().checksums(work_, sms_, row_.settings.threads);
  }
  Rate read() const { return read_checked(expected_); }

 private:
  const ReadWords& words() const { return small_ ? *small_ : *whole_; }

  Rate read_checked(const std::vector<std::uint32_t>& expected) const {
    const ReadTimes times = row_.memory.read(work_);
    std::size_t wrong = times.checksums.size() == expected.size() ? 0 : expected.size();
    for (std::size_t i = 0; wrong == 0 && i < expected.size(); ++i) wrong += times.checksums[i] == expected[i] ? 0 : 1;
    if (wrong != 0) {
      throw WrongResult(fmt::format("{}: with regions of {} bytes, threads have other checksums than the CPU",
                                    row_.record.subject, work_.bytes));
    }
    return rate_of(work_, times);
  }

  const MemoryRow& row_;
  std::size_t sms_;
  ReadWork work_;
  std::optional<ReadWords> whole_, small_;  ///< of whole pieces, and of the region that is smaller
  std::vector<std::uint32_t> expected_;
};

/// A size's rate: medians over some launches.
struct Point {
  std::size_t bytes;
  double bytes_per_clock, bytes_per_second, of_launch;
};
double median_of(const std::vector<Rate>& rates, double Rate::*value) {
  std::vector<double> values;
  for (const Rate& rate : rates) values.push_back(rate.*value);
  return summarise(values).median;
}

std::vector<Point> sweep(const MemoryRow& row, Reader& reader, const std::vector<std::size_t>& sizes) {
  constexpr std::size_t kFew = 3;
  std::vector<Point> points;
  for (const std::size_t bytes : sizes) {
    if (!row.settings.go_on(fmt::format("{} {} bytes", row.record.subject, bytes))) break;
    reader.set_size(bytes);
    std::vector<Rate> rates;
    while (rates.size() < kFew) rates.push_back(reader.read());
    points.push_back({bytes, median_of(rates, &Rate::bytes_per_clock), median_of(rates, &Rate::bytes_per_second),
                      median_of(rates, &Rate::of_launch)});
  }
  return points;
}

/// The largest of these buffers with nearly that rate.
std::size_t held(const std::vector<Point>& points, double bytes_per_clock) {
  constexpr double kNearly = 0.97;
  std::size_t most = 0;
  for (const Point& p : points) {
    if (p.bytes_per_clock >= kNearly * bytes_per_clock) most = std::max(most, p.bytes);
  }
  return most;
}

/// The level's size again, under steady load.
void put_steady(const MemoryRow& row, Reader& reader, std::size_t bytes) {
  reader.set_size(bytes);
  std::vector<Rate> rates;
  std::vector<double> per_clock;
  // The rate stands for the cycles of a sample.
  const Steady steady = sample_steadily(
      row.device,
      [&] {
        rates.push_back(reader.read());
        per_clock.push_back(rates.back().bytes_per_clock);
        return TimedSample{per_clock.back(), rates.back().clock_mhz};
      },
      row.settings);
  const Summary s = summarise(per_clock);
  Record& record = row.record;
  record.set("bytes_per_clock", s.median);
  record.set("bytes_per_clock_min", s.min);
  record.set("bytes_per_clock_p5", s.p5);
  record.set("bytes_per_clock_p95", s.p95);
  record.set("bytes_per_clock_max", s.max);
  record.set("slowest_bytes_per_clock", median_of(rates, &Rate::slowest));
  record.set("fastest_bytes_per_clock", median_of(rates, &Rate::fastest));
  const double all = median_of(rates, &Rate::bytes_per_second);
  if (all > 0) record.set("tera_bytes_per_second", all / kTera);
  record.set("launch_tera_bytes_per_second", median_of(rates, &Rate::of_launch) / kTera);
  put_conditions(record, s, steady);
  record.set("best_bytes", static_cast<std::int64_t>(bytes));
  record.series.push_back({"sample_bytes_per_clock", std::move(per_clock)});
}

void put_sweep(Record& record, const std::vector<Point>& points) {
  Record::Series bytes{"sweep_bytes", {}}, per_clock{"sweep_bytes_per_clock", {}},
      per_second{"sweep_tera_bytes_per_second", {}}, launch{"sweep_launch_tera_bytes_per_second", {}};
  for (const Point& p : points) {
    bytes.numbers.push_back(static_cast<double>(p.bytes));
    per_clock.numbers.push_back(p.bytes_per_clock);
    per_second.numbers.push_back(p.bytes_per_second / kTera);
    launch.numbers.push_back(p.of_launch / kTera);
  }
  for (Record::Series* series : {&bytes, &per_clock, &per_second, &launch}) {
    record.series.push_back(std::move(*series));
  }
}

/// Why there is nothing to measure; empty: it was measured.
std::string measure_subject(const MemoryRow& row, const Subject& subject) {
  const MemoryFacts& facts = row.memory.memory_facts();
  const auto sms = static_cast<std::size_t>(row.device.facts().sms);
  const Sizes sizes = subject.sizes(facts, sms);
  if (sizes.bytes.empty()) return "no size of buffers is this level's alone";
  const std::size_t blocks = subject.common ? 1 : sms;
  if (2 * blocks * sizes.bytes.back() > facts.global_bytes) return "its buffer does not fit in the device's memory";
  Reader reader(row, subject, static_cast<unsigned>(*row.record.number("read_bytes")), sizes.bytes.back());
  const std::vector<Point> points = sweep(row, reader, sizes.bytes);
  const Point *best = nullptr, *largest = nullptr;
  for (const Point& p : points) {
    if (p.bytes > sizes.most_of_level) continue;
    if (best == nullptr || p.bytes_per_clock > best->bytes_per_clock) best = &p;
    largest = &p;
  }
  if (best == nullptr) return points.empty() ? "interrupted" : "no size of buffers is this level's alone";
  put_steady(row, reader, subject.coalesced ? largest->bytes : best->bytes);
  if (subject.coalesced) row.record.set("coalesced_bytes_per_clock", best->bytes_per_clock);
  if (subject.alone) row.record.set("holds_bytes", static_cast<std::int64_t>(held(points, best->bytes_per_clock)));
  if (const auto pins = facts.dram_bytes_per_second; pins && subject.off_chip) {
    if (const auto rate = row.record.number("tera_bytes_per_second")) {
      row.record.set("percent_of_pins", *rate * kTera / *pins * 100);
    }
  }
  put_sweep(row.record, points);
  return "";
}

class BandwidthMeasurement final : public Measurement {
 public:
  std::string name() const override { return "bandwidth"; }
  std::string meaning() const override { return "how fast all SMs read at once, by the size of what they read"; }
  const std::vector<Axis>& axes() const override {
    static const std::vector<std::string> widths = {"4", "8", "16"};
    static const std::vector<Axis> axes = {{"read_bytes", "bytes of a load", widths, widths}};
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override {
    std::vector<std::string> names;
    for (const Subject& subject : subject_table()) names.push_back(subject.name);
    return if_nvidia(arch, std::move(names));
  }
  void measure(TimingDevice& device, ArchId, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    measure_rows(name(), axes(), device, subjects, selection, settings, add, [](const MemoryRow& row) {
      return measure_subject(row, *std::ranges::find(subject_table(), row.record.subject, &Subject::name));
    });
  }
};

}  // namespace

const Measurement& bandwidth_measurement() {
  static const BandwidthMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
