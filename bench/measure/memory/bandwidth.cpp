// Bandwidth: how fast all SMs read at once, from each level of the memory, by the size of what they read.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "bench/measure/steady.hpp"
#include "emu/parallel.hpp"
#include "memory.hpp"

namespace tcnum::bench {
namespace {

constexpr double kTera = 1e12;

/// Sizes of a level's buffers, in whole pieces, and the largest that it surely answers alone.
struct Sizes {
  std::vector<std::size_t> bytes;
  std::size_t most_of_level;
};

std::size_t whole_pieces(std::size_t bytes) { return (bytes + kReadPiece - 1) / kReadPiece * kReadPiece; }

constexpr std::size_t kTimesL2 = 4;

Sizes of_shared(const MemoryFacts& facts, std::size_t) {
  return {quarter_octaves(kReadPiece, facts.shared_bytes, kReadPiece), facts.shared_bytes};
}
/// The L1 and shared memory are one storage. A block can have nearly all of it, so that half as much is surely in the
/// L1 where no block has any shared memory.
Sizes of_l1(const MemoryFacts& facts, std::size_t sms) {
  return {quarter_octaves(kReadPiece, kTimesL2 * facts.l2_bytes / sms, kReadPiece), facts.shared_bytes / 2};
}
/// No SM finds in its L1 what it read before, however loads are cached: it has read more than twice what an L1 has in
/// between. There is a piece for each SM at least, so that all are at other places.
Sizes of_l2(const MemoryFacts& facts, std::size_t sms) {
  const std::size_t least = std::max(whole_pieces(3 * facts.shared_bytes), sms * kReadPiece);
  return {quarter_octaves(least, kTimesL2 * facts.l2_bytes, kReadPiece), facts.l2_bytes / 2};
}
/// Of what a cyclic order goes over, a cache of an eighth of the size keeps little, whatever it replaces.
Sizes of_dram(const MemoryFacts& facts, std::size_t) {
  const std::size_t least = whole_pieces(2 * kTimesL2 * facts.l2_bytes);
  return {{least, 2 * least}, 2 * least};
}

struct Subject {
  const char* name;
  Memory memory;
  Sizes (*sizes)(const MemoryFacts& facts, std::size_t sms);
  bool common = false;    ///< all SMs read the same buffer
  bool alone = false;     ///< one SM reads, and the others are idle
  bool off_chip = false;  ///< what is read comes over the memory's pins
  /// SMs that follow each other closely get what another one has just asked for; those of the largest buffer do not.
  bool coalesced = false;
};
constexpr Subject kSubjects[] = {
    {.name = "bandwidth.shared", .memory = Memory::shared, .sizes = of_shared},
    {.name = "bandwidth.l1", .memory = Memory::l1, .sizes = of_l1},
    {.name = "bandwidth.l2", .memory = Memory::l2, .sizes = of_l2, .common = true, .coalesced = true},
    {.name = "bandwidth.l2.one_sm", .memory = Memory::l2, .sizes = of_l2, .common = true, .alone = true},
    {.name = "bandwidth.dram", .memory = Memory::l2, .sizes = of_dram, .common = true, .off_chip = true}};

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
  Reader(const Row& row, const Subject& subject, unsigned width, std::size_t most_bytes)
      : row_(row), sms_(static_cast<std::size_t>(row.device.facts().sms)) {
    work_.memory = subject.memory;
    work_.width = width;
    work_.common = subject.common;
    work_.alone = subject.alone;
    work_.bytes = most_bytes;
    row.device.fill(work_.buffer_bytes(sms_), row.settings.fill_seed());
    xor_words();
  }

  /// So many rounds that a launch lasts long enough for clock and timer. Before them the region is read once.
  void set_size(std::size_t bytes) {
    constexpr double kLaunchCycles = 5e5;
    constexpr unsigned kTryRounds = 64, kMostRounds = 1 << 16;
    work_.bytes = bytes;
    const std::size_t once = work_.common ? (work_.pieces() + sms_ - 1) / sms_ : work_.pieces();
    work_.warm_rounds = static_cast<unsigned>(once);
    work_.rounds = kTryRounds;
    expected_ = checksums();
    const double round = kReadPiece / read().slowest;
    work_.rounds = static_cast<unsigned>(
        std::clamp(kLaunchCycles / round, static_cast<double>(kTryRounds), static_cast<double>(kMostRounds)));
    expected_ = checksums();
  }
  Rate read() const {
    const ReadTimes times = row_.device.read(work_);
    if (times.checksums != expected_) {
      throw WrongResult(fmt::format("{}: with regions of {} bytes, threads have other checksums than the CPU",
                                    row_.record.subject, work_.bytes));
    }
    return rate_of(work_, times);
  }

 private:
  /// The buffer's words, as the threads of a block xor them.
  void xor_words() {
    constexpr std::size_t kWord = sizeof(std::uint32_t);
    const std::size_t pieces = work_.buffer_bytes(sms_) / kReadPiece;
    xored_.resize(pieces * kReadThreads);
    in_parallel(pieces, row_.settings.threads, [&](std::size_t piece) {
      for (std::size_t at = 0; at < kReadPiece; at += kWord) {
        xored_[piece * kReadThreads + at / work_.width % kReadThreads] ^=
            memory_word(row_.settings.fill_seed(), (piece * kReadPiece + at) / kWord);
      }
    });
  }
  /// [block][thread].
  std::vector<std::uint32_t> checksums() const {
    std::vector<std::uint32_t> all(sms_ * kReadThreads);
    in_parallel(sms_, row_.settings.threads, [&](std::size_t block) {
      std::uint32_t* const mine = all.data() + block * kReadThreads;
      const std::size_t first = work_.first_piece(block), start = work_.start(block, sms_);
      for (std::size_t round = 0; round < std::size_t{work_.warm_rounds} + work_.timed_rounds(block); ++round) {
        const std::uint32_t* const words = xored_.data() + (first + (start + round) % work_.pieces()) * kReadThreads;
        for (unsigned thread = 0; thread < kReadThreads; ++thread) {
          mine[thread] = next_checksum(mine[thread], words[thread]);
        }
      }
    });
    return all;
  }

  const Row& row_;
  std::size_t sms_;
  ReadWork work_;
  std::vector<std::uint32_t> xored_;  ///< [piece][thread]
  std::vector<std::uint32_t> expected_;
};

double median_rate(const std::vector<Rate>& rates, double Rate::*value) {
  std::vector<double> values;
  for (const Rate& rate : rates) values.push_back(rate.*value);
  return median_of(std::move(values));
}

/// The rate at each size: medians over some launches.
Points sweep(const Row& row, Reader& reader, const std::vector<std::size_t>& sizes) {
  constexpr std::size_t kFew = 3;
  Points points{"sweep_bytes", "sweep_bytes_per_clock", "sweep_tera_bytes_per_second",
                "sweep_launch_tera_bytes_per_second"};
  for (const std::size_t bytes : sizes) {
    if (!row.go_on(fmt::format("{} bytes", bytes))) break;
    reader.set_size(bytes);
    std::vector<Rate> rates;
    while (rates.size() < kFew) rates.push_back(reader.read());
    points.add(bytes, median_rate(rates, &Rate::bytes_per_clock), median_rate(rates, &Rate::bytes_per_second) / kTera,
               median_rate(rates, &Rate::of_launch) / kTera);
  }
  return points;
}

/// A size again, under steady load.
void put_steady(const Row& row, Reader& reader, std::size_t bytes) {
  reader.set_size(bytes);
  std::vector<Rate> rates;
  const Steady steady = sample_steadily(
      row.device,
      [&] {
        rates.push_back(reader.read());
        return TimedSample{rates.back().bytes_per_clock, rates.back().clock_mhz};
      },
      row.settings);
  Record& record = row.record;
  put_rates(record, "bytes_per_clock", steady);
  record.set("slowest_bytes_per_clock", median_rate(rates, &Rate::slowest));
  record.set("fastest_bytes_per_clock", median_rate(rates, &Rate::fastest));
  const double all = median_rate(rates, &Rate::bytes_per_second);
  if (all > 0) record.set("tera_bytes_per_second", all / kTera);
  record.set("launch_tera_bytes_per_second", median_rate(rates, &Rate::of_launch) / kTera);
  record.set("best_bytes", static_cast<std::int64_t>(bytes));
  record.series.push_back({"sample_bytes_per_clock", steady.samples});
}

void measure_level(const Row& row) {
  constexpr double kNearly = 0.97;
  const Subject& subject = named(kSubjects, row.record.subject);
  const auto sms = static_cast<std::size_t>(row.device.facts().sms);
  const Sizes sizes = subject.sizes(row.device.memory_facts(), sms);
  const UnavailableError none("no size of buffers is this level's alone");
  if (sizes.bytes.empty()) throw none;
  require_room(row, (subject.common ? 1 : sms) * sizes.bytes.back());
  Reader reader(row, subject, row.number("read_bytes"), sizes.bytes.back());
  const Points points = sweep(row, reader, sizes.bytes);
  points.put(row.record);
  // Sizes rise, and those of the level come first.
  const std::vector<double>&bytes = points[0], &rates = points[1];
  const auto of_level = std::ranges::upper_bound(bytes, static_cast<double>(sizes.most_of_level)) - bytes.begin();
  if (of_level == 0) throw none;
  const auto best = std::max_element(rates.begin(), rates.begin() + of_level);
  const std::ptrdiff_t at = subject.coalesced ? of_level - 1 : best - rates.begin();
  put_steady(row, reader, static_cast<std::size_t>(bytes[static_cast<std::size_t>(at)]));
  if (subject.coalesced) row.record.set("coalesced_bytes_per_clock", *best);
  if (subject.alone) {
    double most = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (rates[i] >= kNearly * *best) most = std::max(most, bytes[i]);
    }
    row.record.set("holds_bytes", static_cast<std::int64_t>(most));
  }
  const auto rate = row.record.number("tera_bytes_per_second");
  if (rate && subject.off_chip) put_share_of_pins(row, *rate * kTera);
}

}  // namespace

Measurement bandwidth_measurement() {
  return {.name = "bandwidth",
          .meaning = "how fast all SMs read at once, by the size of what they read",
          .axes = {{"read_bytes", "bytes of a load", numbers({4, 8, 16})}},
          .subjects = of_nvidia(names_in(kSubjects)),
          .measure_row = measure_level};
}

}  // namespace tcnum::bench
