// Clusters: their measurement on a device that does what the kernels do, and makes its cycles up.
#include <gtest/gtest.h>

#include "fake_clusters.hpp"
#include "fake_device.hpp"

namespace tcnum::bench::clusters_test {
namespace {

TEST(Clusters, LatenciesAndRings) {
  FakeClusters device(4);
  const auto latencies = measure("clusters", device, {"latency"}, {"blocks=2,4,8"});
  ASSERT_EQ(latencies.size(), 3u);
  EXPECT_EQ(latencies[1].error + latencies[1].waived, "");
  EXPECT_EQ(latencies[1].number("latency_cycles"), 201.5);
  EXPECT_EQ(latencies[1].number("least_cycles"), 200);
  EXPECT_EQ(latencies[1].number("most_cycles"), 203);
  EXPECT_EQ(latencies[1].number("own_cycles"), 30);
  const std::vector<double>& pairs = *latencies[1].numbers("pair_cycles");
  EXPECT_EQ(pairs[0], 30);
  EXPECT_EQ(pairs[4 * 2 + 1], 202) << "from block 2 to block 1";
  EXPECT_EQ(latencies[2].waived, "clusters of this device have at most 4 blocks");

  const Record ring = measure_one("clusters", device, "ring", {"blocks=2"});
  EXPECT_EQ(ring.number("bytes_per_clock"), 16);
  EXPECT_EQ(ring.number("best_threads"), 512) << "the first with as many loads in flight";
  EXPECT_EQ(ring.number("tera_bytes_per_second"), 16 * 4 * 1e9 * 1e-12);
}

TEST(Clusters, WrongOnesAreErrors) {
  FakeClusters device(4);
  device.spoil = true;
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
}  // namespace tcnum::bench::clusters_test
