// Timing the shared memory of a cluster's other blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tcnum {

/// Of every block of a cluster, to every block's shared memory: one lane follows pointers around a cycle of
/// kClusterNodes 4-byte words while no other does anything.
inline constexpr unsigned kClusterNodes = 512, kClusterHops = 640;
struct ClusterLatencies {
  std::size_t clusters = 0;
  std::vector<double> cycles;       ///< [cluster][from][to], of all hops
  std::vector<std::uint32_t> ends;  ///< likewise: the number of the node at the end; the first is 0
};
/// Node i's successor: one cycle through all, which goes by a step that has no factor in common with their number.
constexpr std::uint32_t next_cluster_node(std::uint32_t i) { return (i + 197) % kClusterNodes; }

/// Every block of a cluster reads kRingBytes of the shared memory of the next one, 16 bytes a thread, `parallel` (1, 2,
/// 4 or 8) loads in flight; `threads` is a power of two up to 1024. The checksums, [block][thread], are the xor of all
/// words that a thread read in the last round.
inline constexpr std::size_t kRingBytes = 128 * 1024;
struct RingWork {
  unsigned cluster = 2, threads = 1024, parallel = 4, rounds = 1;
};
/// Word i of the shared memory of a cluster's block, before.
constexpr std::uint32_t ring_word(unsigned rank, std::uint32_t i) { return (i + 1) * 0x9e3779b1U + rank * 0x85ebca6bU; }

}  // namespace tcnum
