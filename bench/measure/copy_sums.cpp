#include "copies.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emu/parallel.hpp"
#include "measurement.hpp"

namespace tcnum::bench {
namespace {

constexpr std::uint32_t kWords = kCopyElementBytes / sizeof(std::uint32_t);  // of an element

/// The box's rows lie apart from each other; the words of one are neighbours.
std::uint32_t row_sum(std::uint64_t first, std::uint32_t words, std::uint32_t place, std::uint32_t seed) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < words; ++i) sum += weighted(memory_word(seed, first + i), place + i);
  return sum;
}

std::uint32_t elements_of(const BoxLayout& layout) {
  std::uint32_t elements = 1;
  for (std::uint32_t n : layout.box) elements *= n;
  return elements;
}

/// Of box n.
std::uint32_t box_sum(const BoxLayout& layout, std::uint32_t n, std::uint32_t seed) {
  const std::uint32_t elements = elements_of(layout), row = layout.box[0];
  std::uint32_t sum = 0;
  for (std::uint32_t e = 0; e < elements; e += row) {
    sum += row_sum(layout.element(n, e) * kWords, row * kWords, e * kWords, seed);
  }
  return sum;
}

/// What a warp must have made of its copies.
std::uint32_t expected(const CopyWork& work, const std::vector<std::uint32_t>& sums, std::uint32_t blocks,
                       std::uint32_t block, std::uint32_t warp) {
  const auto boxes = static_cast<std::uint32_t>(sums.size());
  const std::uint32_t first = work.read_all ? 0 : work.copies - std::min<std::uint32_t>(work.copies, work.stages);
  std::uint32_t checksum = 0;
  for (std::uint32_t i = first; i < work.copies; ++i) {
    checksum = next_checksum(checksum, sums[copied_box(work, boxes, blocks, block, warp, i)]);
  }
  return checksum;
}

}  // namespace

std::vector<std::uint32_t> box_sums(const BoxLayout& layout, std::uint32_t seed, unsigned threads) {
  constexpr std::uint32_t kPart = 256;
  std::vector<std::uint32_t> sums(layout.count());
  in_parallel((sums.size() + kPart - 1) / kPart, threads, [&](std::size_t part) {
    const std::size_t end = std::min<std::size_t>(sums.size(), (part + 1) * kPart);
    for (std::size_t n = part * kPart; n < end; ++n) sums[n] = box_sum(layout, static_cast<std::uint32_t>(n), seed);
  });
  return sums;
}

void check_copies(const CopyWork& work, const CheckedTimes& times, const std::vector<std::uint32_t>& sums,
                  unsigned threads) {
  const std::size_t warps = std::size_t{times.blocks} * work.warps;
  if (warps == 0 || times.checksums.size() != warps) {
    throw WrongResult(fmt::format("checksums of {} warps; expected {}", times.checksums.size(), warps));
  }
  in_parallel(times.blocks, threads, [&](std::size_t b) {
    const auto block = static_cast<std::uint32_t>(b);
    for (std::uint32_t warp = 0; warp < work.warps; ++warp) {
      const std::uint32_t found = times.checksums[b * work.warps + warp];
      const std::uint32_t right = expected(work, sums, times.blocks, block, warp);
      if (found == right) continue;
      throw WrongResult(fmt::format(
          "{} copies of {} bytes ({} stages, {} warps): what arrived at block {}, warp {} has the checksum 0x{:08x}; "
          "expected 0x{:08x}",
          work.copies, work.copy_bytes, work.stages, work.warps, block, warp, found, right));
    }
  });
}

void check_latencies(const CopyLatencyWork& work, const CopyLatencies& found, std::uint32_t seed) {
  const BoxLayout layout = box_layout(work.method.dimensions, work.copy_bytes, work.buffer_bytes);
  const std::size_t blocks = work.method.cluster;
  if (found.cycles.size() != work.copies || found.checksums.size() != work.copies * blocks) {
    throw WrongResult(fmt::format("latencies of {} copies; expected {}", found.cycles.size(), work.copies));
  }
  for (std::uint32_t i = 0; i < work.copies; ++i) {
    const std::uint32_t right = box_sum(layout, latency_box(work, layout.count(), i + 1), seed);
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::uint32_t sum = found.checksums[i * blocks + block];
      if (sum == right) continue;
      throw WrongResult(
          fmt::format("copy {} of {} bytes: what arrived at block {} has the checksum 0x{:08x}; expected "
                      " 0x{:08x}",
                      i, work.copy_bytes, block, sum, right));
    }
  }
}

}  // namespace tcnum::bench
