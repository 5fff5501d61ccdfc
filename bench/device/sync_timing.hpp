// Timing how threads and blocks meet: atomics, barriers, and the shared memory of a cluster's other blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tcnum {

enum class AtomicSpace : std::uint8_t {
  shared,   ///< of the thread's own block
  cluster,  ///< shared memory of the other block of a cluster of two
  global,
};

/// On each SM one block, or of clusters as many as fit. Words are zero at the beginning. Thread t of block b has the
/// number b · threads + t.
struct AtomicWork {
  std::string operation;  ///< "add.u32", "red.add.u32", "add.f32", "exch.b32", "cas.b32"
  AtomicSpace space = AtomicSpace::shared;
  /// Word 0 of the memory for all threads that reach it; otherwise thread t's is word t of its block's.
  bool same_address = false;
  /// One thread of each block takes what an operation gives for the next one's operand, beginning with chain_start();
  /// otherwise operands do not wait for results. Then every block has words of its own in global memory, too.
  bool chained = false;
  unsigned threads = 1024, steps = 64;  ///< steps are a multiple of kSyncSteps
};
/// The first operand of a chain, as the operation takes it: 1, or 1.0.
constexpr std::uint32_t chain_start(bool is_float) { return is_float ? 0x3f800000U : 1U; }

/// What an operation does, of a thread that is not chained, at step s of n:
///   add.u32       adds 1; the sum of what it gave goes to `given`
///   red.add.u32   adds 1, and gives nothing
///   add.f32       adds 1.0; `given` is the sum of the results' bits
///   exch.b32      stores exchange_tag(thread's number, s, n); `given` is the sum of the results
///   cas.b32       stores x + 1 where it expects x: 0 at first, then what it stored or found; `given` is how often it
///   did
constexpr std::uint32_t exchange_tag(std::uint64_t thread, unsigned step, unsigned steps) {
  return static_cast<std::uint32_t>(thread * steps + step + 1);
}

struct AtomicTimes {
  std::vector<double> cycles;  ///< of each launch: the mean over the blocks
  std::size_t blocks = 0;
  /// After the last launch, [block][thread]: the words of the block, or in global memory the block's; of one address
  /// for all, only the first counts.
  std::vector<std::uint32_t> words;
  std::vector<std::uint32_t> given;  ///< in the last launch, [block][thread]; of a chain, its last result
};

/// In the body of a timed loop.
inline constexpr unsigned kSyncSteps = 8;

enum class Barrier : std::uint8_t {
  block,            ///< __syncthreads
  mbarrier,         ///< all threads of a block arrive at one in shared memory, and wait for its phase
  cluster,          ///< barrier.cluster of all threads of all blocks of a cluster
  relaxed_cluster,  ///< the same without any order of memory
};

struct BarrierWork {
  Barrier barrier = Barrier::block;
  unsigned threads = 32;  ///< of a block
  unsigned cluster = 1;   ///< blocks
  unsigned steps = 512;   ///< a multiple of kSyncSteps
};
struct BarrierTimes {
  std::vector<double> cycles;  ///< of each launch: of all its steps, the mean over the blocks
  std::size_t blocks = 0;
  /// Not timed: each thread writes the step's number, meets the others, and reads what the next thread of its block
  /// wrote (in a cluster, that of the next block); how often it did, in all, and how often it was the right one.
  std::uint64_t checks = 0, right = 0;
};

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
/// 4 or 8) loads in flight; `threads` is a power of two up to 1024.
inline constexpr std::size_t kRingBytes = 128 * 1024;
struct RingWork {
  unsigned cluster = 2, threads = 1024, parallel = 4, rounds = 1;
};
/// Word i of the shared memory of a cluster's block, before.
constexpr std::uint32_t ring_word(unsigned rank, std::uint32_t i) { return (i + 1) * 0x9e3779b1U + rank * 0x85ebca6bU; }
struct RingTimes {
  std::vector<double> cycles;  ///< of each launch: of all its rounds, the mean over the blocks
  std::size_t blocks = 0;
  double clock_mhz = 0;
  /// [block][thread]: the xor of all words that it read in the last round.
  std::vector<std::uint32_t> checksums;
};

}  // namespace tcnum
