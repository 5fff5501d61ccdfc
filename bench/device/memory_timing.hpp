// Timing memories: following pointers, reading, and streaming.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "timing.hpp"

namespace tcnum {

struct MemoryFacts {
  std::size_t global_bytes = 0;  ///< of the device's memory, free at the beginning
  std::size_t l2_bytes = 0;
  std::size_t shared_bytes = 0;  ///< of a block, at most
  /// Memory clock × 2 × width of the bus; none: the driver does not say.
  std::optional<double> dram_bytes_per_second;
};

/// What a load goes to.
enum class Memory : std::uint8_t {
  l1,      ///< global memory, kept in every cache
  l2,      ///< global memory, kept in the L2 alone
  shared,  ///< shared memory of a block
};

/// The 4-byte words that a timing device fills memory with: word i. The multipliers are those of Wellons' `lowbias32`
/// (hash-prospector).
constexpr std::uint32_t memory_word(std::uint32_t seed, std::uint64_t i) {
  std::uint32_t x = static_cast<std::uint32_t>(i) ^ seed;
  x = (x ^ x >> 16) * 0x7feb352dU;
  x = (x ^ x >> 15) * 0x846ca68bU;
  return x ^ x >> 16;
}

/// What a thread makes of the words of a round, xored: another number after each round, so that rounds do not cancel.
constexpr std::uint32_t next_checksum(std::uint32_t checksum, std::uint32_t words) {
  return (checksum ^ words) * 0x9e3779b1U;
}

/// One lane goes from pointer to pointer, each of which leads to the next.
struct Chase {
  Memory memory = Memory::l1;
  bool by_index = false;             ///< a[i] is the next i; otherwise *p the next p
  std::size_t bytes = 0;             ///< of the buffer
  std::vector<std::uint64_t> order;  ///< offsets of the pointers, which take 8 bytes each; the last leads to the first
  /// What fills the caches before: all threads of the block read the pointers in this order.
  bool touch = false;
  /// Nothing of the buffer is in a cache at the beginning.
  bool flush = false;
  unsigned warm_hops = 0, hops = 0;  ///< not timed, and timed; multiples of kChaseHops
};
inline constexpr unsigned kChaseHops = 32;  ///< in the body of a loop

struct ChaseTimes {
  TimedBatch batch;       ///< of one launch: of all timed hops
  std::uint64_t end = 0;  ///< the offset of the pointer that it ended at
};

/// On each SM a block reads a region of a buffer that fill() left, again and again. A region is some pieces of
/// kReadPiece bytes, of which each round reads the next one: load l of thread t begins with byte
/// (l · kReadThreads + t) · width. The blocks begin at once.
inline constexpr unsigned kReadThreads = 1024;
inline constexpr std::size_t kReadPiece = 32768;
struct ReadWork {
  Memory memory = Memory::l1;
  unsigned width = 4;     ///< bytes of a load: 4, 8 or 16
  std::size_t bytes = 0;  ///< of a region
  /// All blocks read the same region, each from a place of its own on: what one reads, another has read as many bytes
  /// ago as the region has, all SMs' together. Otherwise block b has region b to itself.
  bool common = false;
  bool alone = false;                    ///< block 0 alone takes the timed rounds
  unsigned warm_rounds = 1, rounds = 1;  ///< not timed, and timed

  constexpr unsigned timed_rounds(std::size_t block) const { return alone && block != 0 ? 0 : rounds; }
  constexpr std::size_t pieces() const { return bytes / kReadPiece; }
  /// Of all regions.
  constexpr std::size_t buffer_bytes(std::size_t blocks) const { return (common ? 1 : blocks) * pieces() * kReadPiece; }
  constexpr std::size_t first_piece(std::size_t block) const { return common ? 0 : block * pieces(); }
  /// Where in its region a block begins, in pieces.
  constexpr std::size_t start(std::size_t block, std::size_t blocks) const {
    return common ? pieces() * block / blocks : 0;
  }
};

struct ReadTimes {
  TimedBatch batch;                      ///< of one launch; its seconds are those of the timed rounds
  std::vector<double> cycles;            ///< of each block: of all its timed rounds, by its own SM's clock
  std::vector<std::uint32_t> checksums;  ///< [block][thread]
};

/// A kernel that goes once over arrays of doubles, with blocks of kStreamThreads that have kStreamElements each.
struct StreamWork {
  std::string kernel;        ///< "init", "read", "scale", "triad", "3pt", "5pt"
  std::size_t elements = 0;  ///< a multiple of kStreamElements
  unsigned blocks = 1;       ///< of an SM at a time: shared memory that nothing uses keeps others away
};
inline constexpr unsigned kStreamThreads = 64, kStreamElements = 16 * kStreamThreads;
/// Element i of source array 0 or 1: whole numbers, so that nothing is rounded.
constexpr double stream_element(int array, std::uint64_t i) {
  return static_cast<double>(memory_word(static_cast<std::uint32_t>(array + 1), i) >> 8);
}
inline constexpr double kStreamFactor = 3;

struct StreamTimes {
  std::vector<double> seconds;  ///< of each launch
  /// Of the results' bits r: the sum of r[i] · (2i + 1), which is another if two of them are exchanged.
  std::uint64_t checksum = 0;
};

}  // namespace tcnum
