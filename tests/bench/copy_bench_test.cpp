// Copies to shared memory on a device that does what the kernels do, word by word, and makes its times up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "bench/measure/copies.hpp"
#include "fake_device.hpp"

namespace tcnum::bench::copy_bench_test {
namespace {

constexpr std::uint32_t kWordsOfElement = kCopyElementBytes / sizeof(std::uint32_t);
constexpr double kDramShare = 0.5;        // of the L2's rate
constexpr double kBlockRate = 1e8;        // bytes a second of a block, at most
constexpr double kFlightSeconds = 40e-6;  // of a copy on its way: 4000 bytes under way saturate a block
constexpr double kClockMhz = 1000, kPins = 1e9;

/// What is planted.
enum class Spoiled : std::uint8_t {
  nothing,
  word,   ///< one word of a copy is another
  stale,  ///< a stage still has what its copy before brought
  box,    ///< a copy brings the box beside its own
  last,   ///< the same as word, of a launch's last copy
};

class FakeDevice final : public BareDevice {
 public:
  const MemoryFacts& memory_facts() override { return sizes; }
  std::size_t ring_bytes() override { return std::size_t{200} << 10; }
  void fill(std::size_t bytes, std::uint32_t seed) override {
    words_.resize(bytes / sizeof(std::uint32_t));
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = memory_word(seed, i);
  }

  CheckedTimes copy(const CopyWork& work, unsigned launches) override {
    CheckedTimes times;
    times.blocks = kBlocks;
    times.batch.clock_mhz = kClockMhz;
    const double flight = static_cast<double>(work.copy_bytes) * work.stages * work.warps;
    const double rate = std::min(kBlockRate, flight / kFlightSeconds) * (work.from_l2 ? 1 : kDramShare);
    times.batch.seconds.assign(launches, static_cast<double>(work.copy_bytes) * work.warps * work.copies / rate);
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
      for (std::uint32_t warp = 0; warp < work.warps; ++warp) times.checksums.push_back(ring(work, block, warp));
    }
    return times;
  }

  CopyLatencies copy_latencies(const CopyLatencyWork& work) override {
    const BoxLayout layout = box_layout(work.method.dimensions, work.copy_bytes, work.buffer_bytes);
    CopyLatencies found;
    for (std::uint32_t i = 0; i < work.copies; ++i) {
      found.cycles.push_back((work.from_l2 ? 500.0 : 900.0) + static_cast<double>(work.copy_bytes) / 64 + i % 2);
      for (unsigned block = 0; block < work.method.cluster; ++block) {
        std::vector<std::uint32_t> stage = box(layout, work.copy_bytes, latency_box(work, layout.count(), i + 1));
        if (spoiled == Spoiled::word && i == 5 && block + 1 == work.method.cluster) stage.back() ^= 1;
        found.checksums.push_back(sum(stage));
      }
    }
    return found;
  }

  MemoryFacts sizes = {
      .global_bytes = std::size_t{1} << 30, .l2_bytes = kCopyBufferPiece / 32, .dram_bytes_per_second = kPins};
  Spoiled spoiled = Spoiled::nothing;

 private:
  static constexpr std::uint32_t kBlocks = 4;

  /// What a box becomes in shared memory.
  std::vector<std::uint32_t> box(const BoxLayout& layout, std::size_t bytes, std::uint32_t n) const {
    std::vector<std::uint32_t> stage(bytes / sizeof(std::uint32_t));
    for (std::uint32_t i = 0; i < stage.size(); ++i) {
      stage[i] = words_.at(layout.element(n, i / kWordsOfElement) * kWordsOfElement + i % kWordsOfElement);
    }
    return stage;
  }
  static std::uint32_t sum(const std::vector<std::uint32_t>& stage) {
    std::uint32_t total = 0;
    for (std::uint32_t i = 0; i < stage.size(); ++i) total += weighted(stage[i], i);
    return total;
  }

  std::uint32_t ring(const CopyWork& work, std::uint32_t block, std::uint32_t warp) const {
    const BoxLayout layout = box_layout(work.method.dimensions, work.copy_bytes, work.buffer_bytes);
    const std::uint32_t boxes = layout.count();
    const bool mine = block == 1 && warp + 1 == work.warps;
    std::vector<std::vector<std::uint32_t>> ring(work.stages);
    std::uint32_t checksum = 0;
    for (std::uint32_t i = 0; i < work.copies; ++i) {
      const bool here = mine && (spoiled == Spoiled::last ? i + 1 == work.copies : i == work.stages);
      std::uint32_t n = copied_box(work, boxes, kBlocks, block, warp, i);
      if (here && spoiled == Spoiled::box) n = (n + 1) % boxes;
      std::vector<std::uint32_t>& stage = ring[i % work.stages];
      if (!here || spoiled != Spoiled::stale) stage = box(layout, work.copy_bytes, n);
      if (here && (spoiled == Spoiled::word || spoiled == Spoiled::last)) stage[7] ^= 1;
      if (work.read_all || i + work.stages >= work.copies) checksum = next_checksum(checksum, sum(stage));
    }
    return checksum;
  }

  std::vector<std::uint32_t> words_;
};

const std::vector<std::string> kFewPoints = {"from=l2", "copy_bytes=512,2048", "stages=2,4", "copy_warps=1,4"};

// --- Boxes

/// Every element of the buffer is in one box, and a box is what the hardware can have.
TEST(BoxLayouts, CutABufferIntoBoxes) {
  for (unsigned dimensions = 1; dimensions <= BoxLayout::kMostDimensions; ++dimensions) {
    const CopyMethod method{CopyWay::tensor, dimensions};
    for (std::size_t bytes = least_copy_bytes(method); bytes <= most_copy_bytes(method); bytes *= 8) {
      const BoxLayout layout = box_layout(dimensions, bytes, kCopyBufferPiece);
      const auto elements = static_cast<std::uint32_t>(bytes / kCopyElementBytes);
      std::vector<bool> seen(kCopyBufferPiece / kCopyElementBytes);
      ASSERT_EQ(std::size_t{layout.count()} * elements, seen.size());
      for (std::uint32_t n = 0; n < layout.count(); ++n) {
        for (std::uint32_t e = 0; e < elements; ++e) {
          ASSERT_LT(layout.element(n, e), seen.size());
          ASSERT_FALSE(seen[layout.element(n, e)]) << dimensions << " dimensions, " << bytes << " bytes, box " << n;
          seen[layout.element(n, e)] = true;
        }
      }
      for (unsigned i = 0; i < BoxLayout::kMostDimensions; ++i) {
        EXPECT_LE(layout.box[i], kMostBoxElements);
        EXPECT_TRUE(i < dimensions || (layout.box[i] == 1 && layout.boxes[i] == 1));
        // Kernels take them for powers of two, but the last.
        EXPECT_TRUE(i + 1 >= dimensions || std::has_single_bit(layout.boxes[i]));
      }
      if (dimensions > 1) {
        EXPECT_GE(layout.box[0] * kCopyElementBytes, 128u);
        EXPECT_GT(layout.boxes[0], 1u) << "rows lie apart";
      }
    }
  }
}

/// Word by word, where box_sum() goes row by row.
TEST(BoxSums, AreOfTheWordsByTheirPlace) {
  constexpr std::uint32_t kSeed = 5;
  for (unsigned dimensions = 1; dimensions <= BoxLayout::kMostDimensions; ++dimensions) {
    const BoxLayout layout = box_layout(dimensions, 2048, kCopyBufferPiece);
    const auto sums = box_sums(layout, kSeed, 2);
    ASSERT_EQ(sums.size(), layout.count());
    for (std::uint32_t n = 0; n < sums.size(); n += 37) {
      std::uint32_t right = 0;
      for (std::uint32_t i = 0; i < 512; ++i) {
        right += weighted(
            memory_word(kSeed, layout.element(n, i / kWordsOfElement) * kWordsOfElement + i % kWordsOfElement), i);
      }
      EXPECT_EQ(sums[n], right) << dimensions << " dimensions, box " << n;
    }
  }
}

/// Out of DRAM each box is copied at most once; out of the L2 every block gets everywhere.
TEST(CopiedBoxes, AreEachOnceOrEverywhere) {
  CopyWork work{.method = {CopyWay::tensor, 2, 2}, .from_l2 = false, .stages = 2, .warps = 3};
  constexpr std::uint32_t kBoxes = 1000, kBlocks = 8;
  std::vector<unsigned> seen(kBoxes);
  for (std::uint32_t block = 0; block < kBlocks; block += work.method.cluster) {
    for (std::uint32_t warp = 0; warp < work.warps; ++warp) {
      for (std::uint32_t i = 0; i < kBoxes / (kBlocks / 2 * 3); ++i) {
        const std::uint32_t box = copied_box(work, kBoxes, kBlocks, block, warp, i);
        EXPECT_EQ(box, copied_box(work, kBoxes, kBlocks, block + 1, warp, i)) << "of one cluster";
        EXPECT_EQ(++seen[box], 1u);
      }
    }
  }
  work.from_l2 = true;
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    std::vector<bool> reached(kBoxes);
    for (std::uint32_t warp = 0; warp < work.warps; ++warp) {
      for (std::uint32_t i = 0; i <= kBoxes / work.warps; ++i)
        reached[copied_box(work, kBoxes, kBlocks, block, warp, i)] = true;
    }
    EXPECT_EQ(std::ranges::count(reached, false), 0);
  }
}

// --- Latency

TEST(CopyLatency, OfEachSizeThatAMethodHas) {
  FakeDevice device;
  const auto records = measure("copy latency", device, {"latency of cp.async.bulk"}, {});
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].error + records[0].waived, "");
  EXPECT_EQ(records[0].text("from"), "l2");
  EXPECT_EQ(records[0].numbers("latency_bytes")->size(), 10u);
  EXPECT_EQ(records[0].number("least_cycles"), 500 + 2 + 0.5);
  EXPECT_EQ(records[0].number("most_bytes"), 65536);
  EXPECT_EQ(records[1].number("most_cycles"), 900 + 1024 + 0.5);
  EXPECT_EQ(records[1].numbers("latency_max_cycles")->back(), 900 + 1024 + 1);
  const auto rows = measure("copy latency", device, {"latency of cp.async.bulk.tensor.1d"}, {"from=l2"});
  EXPECT_EQ(rows[0].number("most_bytes"), 2048) << "no box has longer rows";
  const auto multicast =
      measure("copy latency", device, {"latency of cp.async.bulk.tensor.2d.multicast of 4"}, {"from=l2"});
  EXPECT_EQ(multicast[0].number("least_bytes"), 512) << "a row for each block";
  const auto none =
      measure("copy latency", device, {"latency of cp.async.bulk.tensor.1d"}, {"from=l2", "latency_bytes=65536"});
  EXPECT_NE(none[0].waived, "");
}

TEST(CopyLatency, WrongBytesAreErrorsWithoutNumbers) {
  FakeDevice device;
  device.spoiled = Spoiled::word;
  for (const char* way : {"cp.async", "cp.async.bulk.tensor.2d.multicast of 2"}) {
    const auto records = measure("copy latency", device, {fmt::format("latency of {}", way)}, {"latency_bytes=1024"});
    ASSERT_EQ(records.size(), 2u);
    EXPECT_NE(records[0].error.find("copy 5 of 1024 bytes"), std::string::npos) << records[0].error;
    EXPECT_TRUE(records[0].values.empty());
  }
  EXPECT_THROW(check_latencies({}, {}, 1), WrongResult);
}

// --- Rates

TEST(Copies, OfTheBestPoint) {
  FakeDevice device;
  const auto records = measure("copies", device, {"cp.async"}, {"copy_bytes=512,2048", "stages=2,4", "copy_warps=1,4"});
  ASSERT_EQ(records.size(), 2u);
  const Record &l2 = records[0], &dram = records[1];
  EXPECT_EQ(l2.error + l2.waived, "");
  EXPECT_DOUBLE_EQ(*l2.number("tera_bytes_per_second"), 4 * kBlockRate * 1e-12);
  EXPECT_DOUBLE_EQ(*l2.number("bytes_per_clock"), kBlockRate / (kClockMhz * 1e6));
  EXPECT_EQ(l2.numbers("sweep_in_flight_bytes")->size(), 8u);
  EXPECT_EQ((*l2.numbers("sweep_in_flight_bytes"))[1], 512 * 2 * 4);
  EXPECT_EQ(l2.number("best_in_flight_bytes"), 4096) << "the first that is as fast as any";
  EXPECT_EQ(l2.number("saturated_in_flight_bytes"), 4096);
  EXPECT_FALSE(l2.number("percent_of_pins"));
  EXPECT_EQ(dram.error + dram.waived, "");
  EXPECT_DOUBLE_EQ(*dram.number("percent_of_pins"), 4 * kBlockRate * kDramShare / kPins * 100);
  EXPECT_GT(*l2.number("samples"), 1);
}

TEST(Copies, OfAMulticastAreFetchedOnce) {
  FakeDevice device;
  const auto records = measure("copies", device, {"cp.async.bulk.tensor.2d.multicast of 4"},
                               {"from=dram", "copy_bytes=128,2048", "stages=3", "copy_warps=4"});
  EXPECT_EQ(records[0].error + records[0].waived, "");
  EXPECT_EQ(records[0].numbers("sweep_copy_bytes")->size(), 1u) << "128 bytes are no rows for four blocks";
  EXPECT_DOUBLE_EQ(*records[0].number("fetched_tera_bytes_per_second"),
                   *records[0].number("tera_bytes_per_second") / 4);
}

TEST(Copies, SynchronousOnesHaveOneStage) {
  FakeDevice device;
  const auto records = measure("copies", device, {"ld.global + st.shared"},
                               {"from=l2", "copy_bytes=512,8192", "stages=2,4", "copy_warps=1"});
  EXPECT_EQ(records[0].error + records[0].waived, "");
  EXPECT_EQ(*records[0].numbers("sweep_stages"), std::vector<double>{1});
}

/// Of every way; each kind of wrong bytes, and none of them in the copies that are left at the end of a launch, but
/// one.
TEST(Copies, WrongBytesAreErrorsWithoutNumbers) {
  FakeDevice device;
  for (const Spoiled spoiled : {Spoiled::word, Spoiled::stale, Spoiled::box}) {
    for (const NamedMethod& method : kCopyMethods) {
      device.spoiled = spoiled;
      const auto records = measure("copies", device, {method.name}, kFewPoints);
      ASSERT_EQ(records.size(), 1u);
      EXPECT_NE(records[0].error.find("block 1, warp 0 has the checksum"), std::string::npos)
          << method.name << " " << static_cast<int>(spoiled) << records[0].error;
      EXPECT_TRUE(records[0].values.empty());
    }
  }
}

TEST(Copies, TimedLaunchesAreCheckedAtTheirEnds) {
  CopyWork work{.method = {CopyWay::bulk}, .copy_bytes = 512, .stages = 2, .warps = 2, .copies = 9};
  FakeDevice device;
  device.fill(work.buffer_bytes, 1);
  const auto sums = box_sums(box_layout(1, work.copy_bytes, work.buffer_bytes), 1, 1);
  EXPECT_NO_THROW(check_copies(work, device.copy(work, 1), sums, 1));
  device.spoiled = Spoiled::last;
  EXPECT_THROW(check_copies(work, device.copy(work, 1), sums, 1), WrongResult);
  EXPECT_THROW(check_copies(work, {}, sums, 1), WrongResult);
  device.spoiled = Spoiled::nothing;
  work.copies = 1;  // fewer than stages
  EXPECT_NO_THROW(check_copies(work, device.copy(work, 1), sums, 1));
}

// --- All of them

TEST(CopyMeasurements, AreWaivedWhereTheyCannotBe) {
  FakeDevice device;
  const auto why = [&](const char* name, const std::string& subject, ArchId arch) {
    return measure(name, device, {subject}, {}, arch)[0].waived;
  };
  EXPECT_EQ(why("copies", "cp.async", ArchId::sm_75), "cp.async needs sm_80");
  EXPECT_EQ(why("copies", "cp.async.bulk", ArchId::sm_89), "cp.async.bulk needs sm_90");
  EXPECT_EQ(why("copy latency", "latency of cp.async.bulk.tensor.3d", ArchId::sm_80),
            "cp.async.bulk.tensor.3d needs sm_90");
  EXPECT_NE(why("copies", "cp.async.bulk.tensor.2d.multicast of 2", ArchId::sm_120), "");
  device.sizes.global_bytes = 0;
  EXPECT_EQ(why("copies", "cp.async", ArchId::sm_90), "its buffer does not fit in the device's memory");
}

}  // namespace
}  // namespace tcnum::bench::copy_bench_test
