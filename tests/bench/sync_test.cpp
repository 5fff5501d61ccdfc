// Atomics, barriers and clusters: the measurements on a device that does what the kernels do, thread by thread, and
// makes its cycles up.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include "bench/measure/sync.hpp"
#include "fake_device.hpp"

namespace tcnum::bench::sync_test {
namespace {

/// Four SMs. Threads take turns, step by step, in an order that is not theirs by number.
class FakeDevice final : public BareDevice {
 public:
  unsigned most_cluster_blocks() override { return 4; }

  AtomicTimes atomics(const AtomicWork& work, unsigned launches) override {
    AtomicTimes times;
    times.blocks = kBlocks;
    times.cycles.assign(launches, work.chained ? 30.0 * work.steps : 2.0 * work.steps * work.threads / 32);
    const std::size_t threads = times.blocks * work.threads;
    times.words.resize(threads);
    times.given.resize(threads);
    std::vector<std::uint32_t> expected(threads);
    for (unsigned step = 0; step < work.steps; ++step) {
      for (std::size_t i = 0; i < threads; ++i) {
        const std::size_t thread = (i * 7 + step * 5) % threads;  // 7 has no factor in common with a power of two
        if (work.chained) {
          if (thread % work.threads == 0) chain(work, times, thread, step);
        } else {
          apply(work, times, expected, thread, step);
        }
      }
    }
    if (spoil_word) times.words[0] += 1;
    if (spoil_given) times.given[0] += 1;
    return times;
  }

  BarrierTimes barriers(const BarrierWork& work, unsigned launches) override {
    return {std::vector<double>(launches, (20.0 + work.threads / 32.0) * work.steps * work.cluster), kBlocks, 100,
            spoil_word ? 99u : 100u};
  }

  ClusterLatencies cluster_latencies(unsigned cluster) override {
    ClusterLatencies found;
    found.clusters = 2;
    std::uint32_t end = 0;
    for (unsigned hop = 0; hop < kClusterHops; ++hop) end = next_cluster_node(end);
    for (std::size_t i = 0; i < found.clusters * cluster * cluster; ++i) {
      const std::size_t from = i / cluster % cluster, to = i % cluster;
      found.cycles.push_back((from == to ? 30.0 : 200.0 + static_cast<double>(from)) * kClusterHops);
      found.ends.push_back(end ^ (spoil_word && i == 3 ? 1u : 0u));
    }
    return found;
  }

  RingTimes ring(const RingWork& work, unsigned launches) override {
    RingTimes times;
    times.blocks = kBlocks;
    times.clock_mhz = 1000;
    // As many bytes a clock as there are loads in flight, up to 16.
    const double rate = std::min(16.0, work.threads / 1024.0 * 4 * work.parallel);
    times.cycles.assign(launches, static_cast<double>(kRingBytes) * work.rounds / rate);
    for (unsigned block = 0; block < kBlocks; ++block) {
      for (unsigned thread = 0; thread < work.threads; ++thread) {
        std::uint32_t checksum = 0;
        for (std::uint32_t load = thread; load < kRingBytes / 16; load += work.threads) {
          for (std::uint32_t w = 0; w < 4; ++w)
            checksum ^= ring_word((block % work.cluster + 1) % work.cluster, 4 * load + w);
        }
        times.checksums.push_back(checksum);
      }
    }
    if (spoil_word) times.checksums.back() ^= 1;
    return times;
  }

  bool spoil_word = false, spoil_given = false;

 private:
  static constexpr unsigned kBlocks = 4;

  static std::size_t word_of(const AtomicWork& work, std::size_t thread) {
    const std::size_t block = thread / work.threads, own = thread % work.threads;
    if (work.space == AtomicSpace::global && work.same_address && !work.chained) return 0;
    const std::size_t target = work.space == AtomicSpace::cluster ? block + 1 - 2 * (block % 2) : block;
    return target * work.threads + (work.same_address ? 0 : own);
  }
  static std::uint32_t float_sum(std::uint32_t a, std::uint32_t b) {
    return std::bit_cast<std::uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(b));
  }

  static void apply(const AtomicWork& work, AtomicTimes& times, std::vector<std::uint32_t>& expected,
                    std::size_t thread, unsigned step) {
    std::uint32_t &word = times.words[word_of(work, thread)], &given = times.given[thread], &x = expected[thread];
    if (work.operation == "add.u32") {
      given += word++;
    } else if (work.operation == "red.add.u32") {
      ++word;
    } else if (work.operation == "add.f32") {
      given += word;
      word = float_sum(word, std::bit_cast<std::uint32_t>(1.0f));
    } else if (work.operation == "exch.b32") {
      given += word;
      word = exchange_tag(thread, step, work.steps);
    } else if (word == x) {  // cas.b32
      ++given;
      word = ++x;
    } else {
      x = word;
    }
  }
  static void chain(const AtomicWork& work, AtomicTimes& times, std::size_t thread, unsigned step) {
    const bool is_float = work.operation == "add.f32";
    std::uint32_t &word = times.words[word_of(work, thread)], &x = times.given[thread];
    if (step == 0) x = chain_start(is_float);
    const std::uint32_t old = word;
    if (work.operation == "exch.b32") word = x;
    if (work.operation == "add.u32") word += x;
    if (is_float) word = float_sum(word, x);
    x = old;  // cas.b32 leaves the word as it is
  }
};

const std::vector<std::string> kOperations = {"add.u32", "red.add.u32", "add.f32", "exch.b32", "cas.b32"};

TEST(Atomics, OfEverySpaceAreWhatTheyMustBe) {
  FakeDevice device;
  for (const std::string& operation : kOperations) {
    for (const Record& r : measure("atomics", device, {operation})) {
      EXPECT_EQ(r.error + r.waived, "") << operation << " " << r.text("space") << " " << r.text("address");
      EXPECT_EQ(r.number("latency_cycles"), operation == "red.add.u32" ? std::nullopt : std::optional(30.0));
      EXPECT_EQ(r.number("interval_cycles"), 2);
      EXPECT_EQ(r.number("results_per_clock"), 16);
      EXPECT_EQ(r.number("device_results_per_clock"), 64);
    }
  }
}

/// Each wrong word and each wrong result is seen, of all operations, chained and not.
TEST(Atomics, WrongOnesAreErrors) {
  for (const std::string& operation : kOperations) {
    for (const AtomicSpace space : {AtomicSpace::shared, AtomicSpace::cluster, AtomicSpace::global}) {
      for (const bool same : {false, true}) {
        for (const bool chained : {false, true}) {
          if (chained && operation == "red.add.u32") continue;
          AtomicWork work{operation, space, same, chained, 32, 8};
          FakeDevice device;
          EXPECT_NO_THROW(check_atomics(work, device.atomics(work, 1)));
          device.spoil_word = true;
          EXPECT_THROW(check_atomics(work, device.atomics(work, 1)), WrongResult) << operation;
          device.spoil_word = false;
          device.spoil_given = true;
          EXPECT_THROW(check_atomics(work, device.atomics(work, 1)), WrongResult) << operation;
        }
      }
    }
  }
  EXPECT_THROW(check_atomics({"add.u32"}, {}), WrongResult);
}

TEST(Barriers, ByThreadsAndClusters) {
  FakeDevice device;
  const auto records = measure("barriers", device, {"__syncthreads"}, {"threads=32,1024"});
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].error + records[0].waived, "");
  EXPECT_EQ(*records[0].numbers("sweep_cycles"), (std::vector<double>{21, 52}));
  EXPECT_EQ(records[0].number("least_cycles"), 21);
  EXPECT_EQ(records[0].number("most_cycles"), 52);
  const auto clusters = measure("barriers", device, {"barrier.cluster"}, {"threads=32"});
  ASSERT_EQ(clusters.size(), 4u);
  EXPECT_EQ(clusters[0].number("cluster"), 2);
  EXPECT_EQ(clusters[0].number("least_cycles"), 42);
  EXPECT_NE(clusters[2].waived.find("at most 4"), std::string::npos);
  device.spoil_word = true;
  EXPECT_NE(measure("barriers", device, {"mbarrier"})[0].error.find("99 of 100"), std::string::npos);
}

TEST(Clusters, LatenciesAndRings) {
  FakeDevice device;
  const auto latencies = measure("clusters", device, {"latency"}, {"blocks=2,4"});
  ASSERT_EQ(latencies.size(), 2u);
  EXPECT_EQ(latencies[1].error + latencies[1].waived, "");
  EXPECT_EQ(latencies[1].number("latency_cycles"), 201.5);
  EXPECT_EQ(latencies[1].number("least_cycles"), 200);
  EXPECT_EQ(latencies[1].number("most_cycles"), 203);
  EXPECT_EQ(latencies[1].number("own_cycles"), 30);
  const std::vector<double>& pairs = *latencies[1].numbers("pair_cycles");
  EXPECT_EQ(pairs[0], 30);
  EXPECT_EQ(pairs[4 * 2 + 1], 202) << "from block 2 to block 1";

  const auto rings = measure("clusters", device, {"ring"}, {"blocks=2"});
  EXPECT_EQ(rings[0].error + rings[0].waived, "");
  EXPECT_EQ(rings[0].number("bytes_per_clock"), 16);
  EXPECT_EQ(rings[0].number("best_threads"), 512) << "the first with as many loads in flight";
  EXPECT_EQ(rings[0].number("tera_bytes_per_second"), 16 * 4 * 1e9 * 1e-12);
}

TEST(Clusters, WrongOnesAreErrors) {
  FakeDevice device;
  device.spoil_word = true;
  EXPECT_NE(measure("clusters", device, {"latency"}, {"blocks=2"})[0].error.find("block 1 to block 1"),
            std::string::npos);
  EXPECT_NE(measure("clusters", device, {"ring"}, {"blocks=4"})[0].error.find("a ring of 4"), std::string::npos);
}

/// Hops go through every node before they come back, and do not end where they began.
TEST(Clusters, NodesAreOneCycle) {
  std::vector<bool> seen(kClusterNodes);
  std::uint32_t at = 0;
  for (unsigned hop = 0; hop < kClusterNodes; ++hop) {
    EXPECT_FALSE(seen[at]);
    seen[at] = true;
    at = next_cluster_node(at);
  }
  EXPECT_EQ(at, 0u);
  EXPECT_NE(kClusterHops % kClusterNodes, 0u);
}

}  // namespace
}  // namespace tcnum::bench::sync_test
