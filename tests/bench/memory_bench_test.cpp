// Measurements of memories on a device that makes its answers up: what it is asked, what is checked, and what records,
// tables and pages say of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "bench/device/memory_timing.hpp"
#include "bench/measure/memory/memory.hpp"
#include "fake_device.hpp"
#include "src/questions/random_numbers.hpp"
#include "tcnum/error.hpp"

namespace tcnum::bench::memory_bench_test {
namespace {

constexpr double kKibi = 1024, kMebi = 1024 * kKibi;

// --- Levels

/// Latencies of a hierarchy: each level up to its size, then the next one's share grows with what does not fit.
double latency_of(const std::vector<std::pair<double, double>>& levels, double bytes) {
  double cycles = levels.front().second;
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    const double fits = levels[i].first;
    if (bytes > fits) cycles += (levels[i + 1].second - levels[i].second) * std::min(1.0, 2 * (1 - fits / bytes));
  }
  return cycles;
}

std::vector<LatencyPoint> curve(const std::vector<std::pair<double, double>>& levels, double least, double most,
                                double noise, std::uint64_t seed) {
  RandomNumbers random(seed, 0, 0);
  std::vector<LatencyPoint> points;
  for (double bytes = least; bytes <= most; bytes *= 1.189207115) {  // four to an octave
    const double off = noise * random.between(-1000, 1000) / 1000;
    points.push_back({bytes, latency_of(levels, bytes) * (1 + off)});
  }
  return points;
}

TEST(Levels, AreFoundUnderNoise) {
  const std::vector<std::pair<double, double>> hierarchy = {
      {200 * kKibi, 33}, {25 * kMebi, 210}, {50 * kMebi, 270}, {1e12, 600}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    // The second half of the L2 is too small a range of sizes to be a level of its own here.
    const auto levels = find_levels(curve(hierarchy, kKibi, 8192 * kMebi, seed == 0 ? 0 : 0.015, seed));
    ASSERT_EQ(levels.size(), 3u) << seed;
    EXPECT_NEAR(levels[0].cycles, 33, 0.7);
    EXPECT_NEAR(levels[1].cycles, 210, 5);
    EXPECT_NEAR(levels[2].cycles, 600, 25);
    EXPECT_NEAR(std::log2(levels[0].fits_bytes / (200 * kKibi)), 0, 0.5) << "within two sizes of the true one";
    EXPECT_NEAR(std::log2(levels[1].fits_bytes / (25 * kMebi)), 0, 0.5);
    EXPECT_EQ(names_of(levels, 50 * kMebi), (std::vector<std::string>{"l1", "l2", "dram"}));
  }
}

TEST(Levels, OfALongSecondHalfOfTheL2) {
  const auto levels = find_levels(
      curve({{200 * kKibi, 33}, {4 * kMebi, 210}, {64 * kMebi, 290}, {1e12, 600}}, kKibi, 4096 * kMebi, 0.01, 1));
  EXPECT_EQ(names_of(levels, 64 * kMebi), (std::vector<std::string>{"l1", "l2", "l2_far", "dram"}));
}

TEST(Levels, OfOneLatencyAndOfNone) {
  const auto one = find_levels(curve({{1e12, 23}}, kKibi, 228 * kKibi, 0.01, 1));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_NEAR(one[0].cycles, 23, 0.3);
  EXPECT_TRUE(find_levels({}).empty());
  EXPECT_TRUE(find_levels({{1, 10}, {2, 20}, {4, 40}, {8, 80}}).empty()) << "no three sizes are alike";
  EXPECT_TRUE(find_levels({{1, 0}, {2, 0}, {4, 0}}).empty()) << "no load takes no time";
}

// --- Buffers

TEST(Cycles, VisitEachPieceOnce) {
  for (const auto& [bytes, piece] : {std::pair<std::size_t, std::size_t>{64 * 128, 128}, {1 << 20, 4096}, {128, 128}}) {
    const auto order = random_cycle(bytes, piece, 7, 0);
    std::set<std::uint64_t> pieces;
    for (std::uint64_t offset : order) {
      EXPECT_EQ(offset % kLineBytes, 0u);
      EXPECT_LT(offset, bytes);
      EXPECT_TRUE(pieces.insert(offset / piece).second);
    }
    EXPECT_EQ(pieces.size(), bytes / piece);
  }
  EXPECT_EQ(random_cycle(1 << 16, 128, 7, 0), random_cycle(1 << 16, 128, 7, 0));
  EXPECT_NE(random_cycle(1 << 16, 128, 7, 0), random_cycle(1 << 16, 128, 7, 1));
  EXPECT_NE(random_cycle(1 << 16, 128, 7, 0), random_cycle(1 << 16, 128, 8, 0));
}

// --- The device

/// Does what the kernels do, in the order of their threads, and takes as many cycles as it is told.
class FakeDevice final : public BareDevice {
 public:
  FakeDevice() {
    facts_.device = "NVIDIA H200";
    facts_.sms = kSms;
    sizes.global_bytes = std::size_t{256} << 20;
    sizes.l2_bytes = std::size_t{1} << 20;
    sizes.shared_bytes = 96 << 10;
    sizes.dram_bytes_per_second = 1e12;
  }
  const MemoryFacts& memory_facts() override { return sizes; }

  void fill(std::size_t bytes, std::uint32_t seed) override {
    words_.resize(bytes / 4);
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = memory_word(seed, i);
  }

  ChaseTimes chase(const Chase& work) override {
    EXPECT_EQ(work.warm_hops % kChaseHops, 0u);
    EXPECT_EQ(work.hops % kChaseHops, 0u);
    EXPECT_LE(work.order.size() * 8, work.bytes);
    const std::size_t end = (work.warm_hops + work.hops) % work.order.size();
    return {{{cycles(work) * work.hops}, 1500}, work.order[end] + (spoil ? 8 : 0)};
  }

  ReadTimes read(const ReadWork& work) override {
    works.push_back(work);
    const std::size_t pieces = work.pieces();
    ReadTimes times{{{0}, 1500, {1}}, {}, {}};
    for (std::size_t block = 0; block < kSms; ++block) {
      // The last SM is slower by half.
      const unsigned rounds = work.alone && block != 0 ? 0 : work.rounds;
      times.cycles.push_back(read_cycles(work) * rounds * (block + 1 == kSms ? 1.5 : 1));
      const std::size_t region = work.common ? 0 : block * pieces * kReadPiece;
      for (std::size_t thread = 0; thread < kReadThreads; ++thread) {
        std::uint32_t checksum = 0;
        std::size_t piece = work.common ? block * pieces / kSms : 0;
        for (unsigned round = 0; round < work.warm_rounds + rounds; ++round) {
          std::uint32_t x = 0;
          for (std::size_t at = thread * work.width; at < kReadPiece; at += kReadThreads * work.width) {
            const std::size_t word = (region + piece * kReadPiece + at) / 4;
            for (std::size_t w = 0; w < work.width / 4; ++w) x ^= words_.at(word + w);
          }
          checksum = (checksum ^ x) * 0x9e3779b1U;
          piece = piece + 1 == pieces ? 0 : piece + 1;
        }
        times.checksums.push_back(checksum);
      }
    }
    times.batch.cycles = {times.cycles.front()};
    times.batch.seconds = {std::ranges::max(times.cycles) / 1500e6};
    if (spoil) times.checksums[77] ^= 1;
    return times;
  }

  StreamTimes stream(const StreamWork& work, unsigned launches) override {
    EXPECT_EQ(work.elements % kStreamElements, 0u);
    const auto [known, is_new] = sums_.try_emplace(work.kernel, 0);
    if (is_new) {
      const std::vector<double> result = results(work);
      for (std::size_t i = 0; i < result.size(); ++i) {
        known->second += std::bit_cast<std::uint64_t>(result[i]) * (2 * i + 1);
      }
    }
    return {std::vector<double>(launches, 1e-3 / std::min(work.blocks, 16u)), known->second + (spoil ? 1 : 0)};
  }

  std::vector<ReadWork> works;  ///< of reads

  static constexpr std::size_t kSms = 3;

  MemoryFacts sizes;
  bool spoil = false;
  std::function<double(const Chase&)> cycles = [](const Chase& work) {
    return work.memory == Memory::shared
               ? 23
               : latency_of({{64 * kKibi, 33}, {1 * kMebi, 250}, {1e12, 600}}, static_cast<double>(work.bytes));
  };
  /// Of a round. So many that few rounds are enough.
  std::function<double(const ReadWork&)> read_cycles = [](const ReadWork& work) {
    const double clock = work.memory == Memory::shared ? 4 : static_cast<double>(work.bytes) <= 48 * kKibi ? 2 : 1;
    const double share = work.common && static_cast<double>(work.bytes) > kMebi ? 0.25 : 1;
    return static_cast<double>(kReadPiece) / (clock * share * work.width / 16);
  };

 private:
  static std::vector<double> results(const StreamWork& work) {
    std::vector<double> x, y, result;
    for (std::size_t i = 0; i < work.elements + 4; ++i) {
      x.push_back(stream_element(0, i));
      y.push_back(stream_element(1, i));
    }
    for (std::size_t i = 0; i < work.elements; ++i) {
      if (work.kernel == "init") result.push_back(3);
      if (work.kernel == "scale") result.push_back(3 * x[i]);
      if (work.kernel == "triad") result.push_back(x[i] + 3 * y[i]);
      if (work.kernel == "3pt") result.push_back(x[i] + x[i + 1] + x[i + 2]);
      if (work.kernel == "5pt") result.push_back(x[i] + x[i + 1] + x[i + 2] + x[i + 3] + x[i + 4]);
    }
    for (std::size_t i = 0; work.kernel == "read" && i < work.elements; i += 32) {
      std::uint64_t bits = 0;
      for (std::size_t lane = 0; lane < 32; ++lane) bits ^= std::bit_cast<std::uint64_t>(x[i + lane]);
      result.push_back(std::bit_cast<double>(bits));
    }
    return result;
  }

  std::vector<std::uint32_t> words_;
  std::map<std::string, std::uint64_t> sums_;  ///< of a stream's results
};

TEST(MemoryLatency, FindsTheLevelsAndNamesThem) {
  FakeDevice device;
  for (const char* address : {"pointer", "index"}) {
    const Record r = measure_one("latency", device, "latency.global", {std::string("address=") + address});
    EXPECT_EQ(r.waived, "");
    EXPECT_EQ(r.text("address"), address);
    EXPECT_EQ(r.number("l1_latency_cycles"), 33);
    EXPECT_EQ(r.number("l1_fits_bytes"), 65536);
    EXPECT_EQ(r.number("l2_latency_cycles"), 250);
    EXPECT_EQ(r.number("l2_fits_bytes"), 1 << 20);
    EXPECT_NEAR(*r.number("dram_latency_cycles"), 600, 1);
    EXPECT_EQ(r.number("l1_latency_ns"), 22);
    EXPECT_EQ(r.numbers("sweep_bytes")->front(), 1024);
    EXPECT_EQ(r.numbers("sweep_bytes")->back(), 128 << 20) << "beyond four times the L2 in octaves";
    EXPECT_EQ(r.number("spread_percent"), 0);
  }
}

/// No buffer of pages is in the L1, and few cycles are long enough to be cold.
TEST(MemoryLatency, OfPages) {
  FakeDevice device;
  device.cycles = [](const Chase& work) {
    EXPECT_EQ(work.memory, Memory::l2);
    EXPECT_EQ(work.order.size(), work.bytes / kPageBytes);
    return work.bytes <= (32u << 20) ? 250.0 : 400.0;
  };
  const Record r = measure_one("latency", device, "latency.global.pages", {"address=pointer"});
  EXPECT_EQ(r.number("pages_1_latency_cycles"), 250);
  EXPECT_EQ(r.number("pages_1_fits_bytes"), 32 << 20);
}

TEST(MemoryLatency, OfSharedMemory) {
  FakeDevice device;
  device.cycles = [](const Chase& work) { return work.by_index ? 29 : 23; };
  const auto records = measure("latency", device, {"latency.shared"});
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].number("shared_latency_cycles"), 23);
  EXPECT_EQ(records[1].number("shared_latency_cycles"), 29);
  EXPECT_EQ(records[0].numbers("sweep_bytes")->back(), 96 << 10);
}

TEST(MemoryBandwidth, TakesTheBestSizeOfEachLevel) {
  FakeDevice device;
  struct Expected {
    const char* subject;
    double least, most;  ///< bytes of a region
    double rate;         ///< bytes a clock of an SM but the slowest
  };
  for (const auto& [subject, least, most, rate] :
       {Expected{"bandwidth.shared", 32 * kKibi, 96 * kKibi, 4}, Expected{"bandwidth.l1", 32 * kKibi, 1280 * kKibi, 2},
        Expected{"bandwidth.l2", 288 * kKibi, 4032 * kKibi, 1},
        Expected{"bandwidth.dram", 8 * kMebi, 16 * kMebi, 0.25}}) {
    const Record r = measure_one("bandwidth", device, subject, {"read_bytes=16"});
    EXPECT_EQ(r.waived, "") << subject;
    EXPECT_EQ(r.numbers("sweep_bytes")->front(), least) << subject;
    EXPECT_EQ(r.numbers("sweep_bytes")->back(), most) << subject;
    EXPECT_NEAR(*r.number("fastest_bytes_per_clock"), rate, 1e-5) << subject;
    EXPECT_NEAR(*r.number("slowest_bytes_per_clock"), rate / 1.5, 1e-5) << subject;
    const double sum = rate * (2 + 1 / 1.5);
    EXPECT_NEAR(*r.number("bytes_per_clock"), sum / 3, 1e-5) << subject;
    EXPECT_NEAR(*r.number("tera_bytes_per_second"), sum * 1500e6 / 1e12, 1e-6) << "each SM by its own clocks";
    EXPECT_NEAR(*r.number("launch_tera_bytes_per_second"), 3 * rate / 1.5 * 1500e6 / 1e12, 1e-6)
        << "until the slowest is done";
    EXPECT_EQ(r.number("clock_mhz"), 1500);
    EXPECT_EQ(r.find("percent_of_pins") != nullptr, std::string(subject) == "bandwidth.dram");
    EXPECT_EQ(r.find("coalesced_bytes_per_clock") != nullptr, std::string(subject) == "bandwidth.l2");
    EXPECT_EQ(r.find("holds_bytes"), nullptr);
  }
}

TEST(MemoryBandwidth, OfOneSmIsItsOwn) {
  FakeDevice device;
  const Record r = measure_one("bandwidth", device, "bandwidth.l2.one_sm", {"read_bytes=16"});
  for (const char* name : {"bytes_per_clock", "slowest_bytes_per_clock", "fastest_bytes_per_clock"}) {
    EXPECT_NEAR(*r.number(name), 1, 1e-5) << name;
  }
  EXPECT_NEAR(*r.number("tera_bytes_per_second"), 1500e6 / 1e12, 1e-6);
  EXPECT_NEAR(*r.number("launch_tera_bytes_per_second"), 1500e6 / 1e12, 1e-6);
  // The fake's L2 is as fast to its end.
  EXPECT_LE(*r.number("holds_bytes"), static_cast<double>(device.memory_facts().l2_bytes));
  EXPECT_GT(*r.number("holds_bytes"), static_cast<double>(device.memory_facts().l2_bytes) / 2);
}

/// No two SMs are at one place of a buffer that all read, and none meets its own words in an L1.
TEST(MemoryBandwidth, KeepsSmsApartAndOutOfTheirL1) {
  FakeDevice device;
  measure_one("bandwidth", device, "bandwidth.l2", {"read_bytes=8"});
  ASSERT_FALSE(device.works.empty());
  for (const ReadWork& work : device.works) {
    EXPECT_EQ(work.memory, Memory::l2);
    EXPECT_TRUE(work.common);
    EXPECT_GT(work.bytes, 2 * device.memory_facts().shared_bytes);
    std::set<std::size_t> starts;
    for (std::size_t block = 0; block < FakeDevice::kSms; ++block) starts.insert(work.start(block, FakeDevice::kSms));
    EXPECT_EQ(starts.size(), FakeDevice::kSms);
    EXPECT_GE(work.warm_rounds * FakeDevice::kSms, work.pieces()) << "all of it was read before";
  }
}

TEST(MemoryStreams, OverOccupancyWithSharesOfTheHighest) {
  FakeDevice device;
  Document document;
  document.facts = device.facts();
  for (const std::string& subject : measurement("streams").subjects(ArchId::sm_90)) {
    document.records.push_back(measure_one("streams", device, subject, {"blocks=1,8,16,32"}));
    const Record& r = document.records.back();
    EXPECT_EQ(r.error + r.waived, "") << subject;
    EXPECT_EQ(*r.numbers("sweep_occupancy_percent"), (std::vector<double>{3.125, 25, 50, 100}));
    EXPECT_EQ(r.number("best_occupancy_percent"), 50);
    EXPECT_EQ(r.number("saturated_occupancy_percent"), 50);
  }
  put_shares(document);
  const auto share = [&](const char* subject) {
    return std::ranges::find(document.records, subject, &Record::subject)->number("percent_of_highest");
  };
  EXPECT_EQ(share("stream.triad"), 100);
  EXPECT_NEAR(*share("stream.scale"), 200.0 / 3, 1e-3);
  EXPECT_NEAR(*share("stream.read"), 8.25 / 24 * 100, 1e-3);
}

TEST(Memory, WrongResultsAreErrorsWithoutNumbers) {
  FakeDevice device;
  device.spoil = true;
  for (const std::string m : {"latency", "bandwidth", "streams"}) {
    for (const std::string& subject : measurement(m).subjects(ArchId::sm_90)) {
      for (const Record& r : measure(m, device, {subject})) {
        EXPECT_NE(r.error, "") << subject;
        EXPECT_TRUE(r.values.empty() && r.series.empty());
      }
    }
  }
}

}  // namespace
}  // namespace tcnum::bench::memory_bench_test
