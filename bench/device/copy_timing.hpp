// Timing copies from global to shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory_timing.hpp"

namespace tcnum {

enum class CopyWay : std::uint8_t {
  load_store,  ///< ld.global and st.shared, 16 bytes a thread at a time, up to kLoadsInFlight before the first store
  async,       ///< cp.async, 16 bytes a thread at a time
  bulk,        ///< cp.async.bulk, by one thread
  tensor,      ///< cp.async.bulk.tensor, by one thread
};
inline constexpr unsigned kLoadsInFlight = 8;

struct CopyMethod {
  CopyWay way = CopyWay::load_store;
  unsigned dimensions = 1;  ///< of a tensor copy: 1 to 5
  /// Of a tensor copy: blocks of a cluster, each of which brings one part of every box to all of them; 1, 2 or 4.
  unsigned cluster = 1;
};
inline constexpr unsigned kMostCopyCluster = 4;

/// How a buffer of 8-byte elements is cut into boxes of one copy each. Dimension 0 is the innermost; the buffer has
/// box[i] · boxes[i] elements along dimension i.
struct BoxLayout {
  static constexpr unsigned kMostDimensions = 5;
  unsigned dimensions = 1;
  std::uint32_t box[kMostDimensions] = {1, 1, 1, 1, 1};
  std::uint32_t boxes[kMostDimensions] = {1, 1, 1, 1, 1};

  /// The boxes' numbers count along dimension 0 first.
  constexpr std::uint32_t count() const {
    std::uint32_t product = 1;
    for (std::uint32_t n : boxes) product *= n;
    return product;
  }
  /// Where box n is, in boxes along dimension i.
  constexpr std::uint32_t place(std::uint32_t n, unsigned i) const {
    for (unsigned j = 0; j < i; ++j) n /= boxes[j];
    return n % boxes[i];
  }
  /// The element of the buffer that is element e of box n.
  constexpr std::uint64_t element(std::uint32_t n, std::uint32_t e) const {
    std::uint64_t at = 0, stride = 1;
    for (unsigned i = 0; i < dimensions; ++i) {
      at += stride * (std::uint64_t{place(n, i)} * box[i] + e % box[i]);
      e /= box[i];
      stride *= std::uint64_t{box[i]} * boxes[i];
    }
    return at;
  }
};
inline constexpr std::size_t kCopyElementBytes = 8;
/// Most elements of a tensor copy's box along a dimension.
inline constexpr std::uint32_t kMostBoxElements = 256;

/// The boxes of copies of so many bytes, a power of two. Those of one dimension are contiguous. Others have rows of 128
/// bytes, as the operands of wgmma do (longer ones where there would be too many), which share the rest of the bytes
/// among the other dimensions; the buffer is four boxes wide, two along each dimension between, and as long as it is.
/// `buffer_bytes` is a multiple of kCopyBufferPiece.
BoxLayout box_layout(unsigned dimensions, std::size_t copy_bytes, std::size_t buffer_bytes);
inline constexpr std::size_t kCopyBufferPiece = std::size_t{2} << 20;
/// Fewest and most bytes that one copy of a method brings: a row for each block of a cluster; most of what is measured,
/// or of what a box can have.
constexpr std::size_t least_copy_bytes(const CopyMethod& method) { return std::size_t{128} * method.cluster; }
std::size_t most_copy_bytes(const CopyMethod& method);

/// Where copies come from, and go: boxes of a buffer to rings of stages in shared memory, one ring for each warp, and
/// one stage for each copy. A warp waits for its oldest copy, and gives the stage to the next one.
struct CopyWork {
  CopyMethod method;
  std::size_t copy_bytes = 128;
  std::size_t buffer_bytes = kCopyBufferPiece;
  /// Of the L2: each block goes over the whole buffer, from a place of its own on, and again. Otherwise each box is
  /// copied once by one block, or cluster, and nothing of it is in the L2 at the beginning.
  bool from_l2 = true;
  unsigned stages = 2, warps = 1;
  std::uint32_t copies = 1;  ///< of a warp
  /// Every copy is read when it has arrived, and the launch is not timed; otherwise those that are left in the rings at
  /// the end are.
  bool read_all = false;
};
inline constexpr unsigned kMostCopyStages = 4, kMostCopyWarps = 32;

/// Copy i of a warp of a block has this box, where there are so many.
constexpr std::uint32_t copied_box(const CopyWork& work, std::uint32_t boxes, std::uint32_t blocks, std::uint32_t block,
                                   std::uint32_t warp, std::uint32_t i) {
  const std::uint32_t group = block / work.method.cluster, groups = blocks / work.method.cluster;
  const std::uint64_t first = work.from_l2 ? std::uint64_t{boxes} / groups * group : std::uint64_t{group} * work.warps;
  const std::uint64_t step = work.from_l2 ? work.warps : std::uint64_t{groups} * work.warps;
  return static_cast<std::uint32_t>((first + warp + i * step) % boxes);
}

/// What is read of a copy: the sum of its 4-byte words, by their place in shared memory. A warp's checksum is
/// next_checksum() over the sums of what it read, in the order of the copies.
constexpr std::uint32_t weighted(std::uint32_t word, std::uint32_t place) { return word * (2 * place + 1); }

/// One block, or cluster, of kCopyLatencyThreads copies one box after the other, while the device does nothing else.
/// Timed by the thread that begins, on the first block, from before its first instruction until it has read the last
/// word. The first copy of all is not timed.
struct CopyLatencyWork {
  CopyMethod method;
  std::size_t copy_bytes = 128;
  std::size_t buffer_bytes = kCopyBufferPiece;
  bool from_l2 = true;  ///< the box has just been read past the L1; otherwise nothing of it is in the L2
  unsigned copies = 32;
};
inline constexpr unsigned kCopyLatencyThreads = 256;
/// The box of copy i: as far from the others as may be.
constexpr std::uint32_t latency_box(const CopyLatencyWork& work, std::uint32_t boxes, std::uint32_t i) {
  return boxes / (work.copies + 1) * i;
}
struct CopyLatencies {
  std::vector<double> cycles;            ///< of each copy
  std::vector<std::uint32_t> checksums;  ///< [copy][block of the cluster]: the sums of what arrived
};

}  // namespace tcnum
