#include "roofline_words.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "bench/device/memory_timing.hpp"
#include "emu/parallel.hpp"
#include "isa/fragment.hpp"
#include "tcnum/format.hpp"

namespace tcnum::bench {
namespace {

constexpr std::size_t kLanes = 32;
constexpr std::size_t kAtATime = 256;  ///< tiles or steps that a thread takes

std::uint32_t fp32_bits(int value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }
std::uint32_t fp64_halves(int value) {
  const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(value));
  return static_cast<std::uint32_t>(bits >> 32 ^ bits);
}

/// x and y of a pair after so many turns.
struct Pair {
  int x, y;
};
Pair after_turns(std::uint32_t bytes, unsigned turns) {
  constexpr unsigned kRound = 6;
  Pair pair{256 + static_cast<int>(bytes & 0xff), 256 + static_cast<int>(bytes >> 8 & 0xff)};
  for (unsigned t = 0; t < turns % kRound; ++t) {
    pair.x += pair.y;
    pair.y -= pair.x;
  }
  return pair;
}

/// The fp16 codes of all whole numbers that come up.
class HalfCodes {
 public:
  std::uint32_t operator()(int value) const { return codes_[static_cast<std::size_t>(value + kMost)]; }

 private:
  static constexpr int kMost = 2 * (256 + 255);
  std::vector<std::uint32_t> codes_ = [] {
    std::vector<std::uint32_t> codes;
    for (int value = -kMost; value <= kMost; ++value) {
      codes.push_back(static_cast<std::uint32_t>(encode(format(FormatId::fp16), value < 0,
                                                        static_cast<uint128>(value < 0 ? -value : value), 0, false,
                                                        Rounding::nearest_even)));
    }
    return codes;
  }();
};

/// A lane's words of a step, after its turns.
std::uint32_t numbers_checksum(RooflineUnit unit, std::uint32_t words, unsigned turns) {
  static const HalfCodes half;
  const auto bits = unit == RooflineUnit::fp32 ? fp32_bits : fp64_halves;
  std::uint32_t checksum = 0;
  for (unsigned r = 0; r < roofline_registers(unit); ++r) {
    const std::uint32_t rotated = std::rotl(words, static_cast<int>(4 * r));
    const Pair low = after_turns(rotated, turns);
    if (unit == RooflineUnit::fp16) {
      const Pair high = after_turns(rotated >> 16, turns);
      checksum = roofline_checksum(checksum, half(low.x) | half(high.x) << 16);
      checksum = roofline_checksum(checksum, half(low.y) | half(high.y) << 16);
    } else {
      checksum = roofline_checksum(roofline_checksum(checksum, bits(low.x)), bits(low.y));
    }
  }
  return checksum;
}

constexpr MmaGeometry kMma{16, 8, 16, 2};

/// The number whose fp16 code is in half e of a register of operands.
int operand(std::uint32_t reg, int e) {
  const std::uint32_t code = reg >> 16 * e & 0xffff, fours = kRooflineFours & 0xffff;
  constexpr std::uint32_t kUnit = 0x0100;  // 1 in units of the last bit of 4 … 7
  return 4 + static_cast<int>((code - fours) / kUnit);
}

/// Of each lane of a warp: all that an mma multiplies and adds.
std::array<std::uint32_t, kLanes> mma_checksums(const std::array<std::uint32_t, kLanes>& words, unsigned turns) {
  std::array<std::array<int, kMma.k>, kMma.m> a{};
  std::array<std::array<int, kMma.k>, kMma.n> b{};  // [column][k]
  for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
    const std::uint32_t mine = words[static_cast<std::size_t>(lane)];
    for (int e = 0; e < 2; ++e) {
      for (int r = 0; r < kMma.a_registers(); ++r) {
        const Element at = kMma.a(lane, r, e);
        a[static_cast<std::size_t>(at.row)][static_cast<std::size_t>(at.column)] =
            operand(roofline_a(mine, static_cast<unsigned>(r)), e);
      }
      for (int r = 0; r < kMma.b_registers(); ++r) {
        const Element at = kMma.b(lane, r, e);
        b[static_cast<std::size_t>(at.column)][static_cast<std::size_t>(at.row)] =
            operand(roofline_b(mine, static_cast<unsigned>(r)), e);
      }
    }
  }
  std::array<std::uint32_t, kLanes> checksums{};
  for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
    std::uint32_t& checksum = checksums[static_cast<std::size_t>(lane)];
    for (int i = 0; i < kMma.accumulators(); ++i) {
      const Element at = kMma.c(lane, i);
      const auto& row = a[static_cast<std::size_t>(at.row)];
      const auto& column = b[static_cast<std::size_t>(at.column)];
      const int sum = std::inner_product(row.begin(), row.end(), column.begin(), 0);
      checksum = roofline_checksum(checksum, fp32_bits(sum * static_cast<int>(turns)));
    }
  }
  return checksums;
}

}  // namespace

RooflineWords::RooflineWords(std::size_t bytes, std::uint32_t seed, unsigned threads)
    : xored_(bytes / kRooflineLaneBytes) {
  constexpr std::size_t kLoadWords = 4, kLoads = kRooflineLaneBytes / sizeof(std::uint32_t) / kLoadWords;
  const std::size_t tiles = bytes / kRooflineTileBytes;
  in_parallel((tiles + kAtATime - 1) / kAtATime, threads, [&](std::size_t part) {
    for (std::size_t tile = part * kAtATime; tile < std::min(tiles, (part + 1) * kAtATime); ++tile) {
      for (std::size_t i = 0; i < kLoads * kLanes * kLoadWords; ++i) {
        xored_[tile * kLanes + i / kLoadWords % kLanes] ^=
            memory_word(seed, tile * (kRooflineTileBytes / sizeof(std::uint32_t)) + i);
      }
    }
  });
}

std::uint64_t RooflineWords::checksum(const RooflineWork& work, unsigned threads) const {
  const std::size_t steps = xored_.size() / kLanes / work.reads;
  std::vector<std::uint64_t> sums((steps + kAtATime - 1) / kAtATime);
  in_parallel(sums.size(), threads, [&](std::size_t part) {
    for (std::size_t step = part * kAtATime; step < std::min(steps, (part + 1) * kAtATime); ++step) {
      std::array<std::uint32_t, kLanes> words{}, results{};
      for (std::size_t i = 0; i < work.reads * kLanes; ++i) words[i % kLanes] ^= xored_[step * work.reads * kLanes + i];
      if (work.unit == RooflineUnit::tensor) {
        results = mma_checksums(words, work.turns);
      } else {
        std::ranges::transform(words, results.begin(),
                               [&](std::uint32_t w) { return numbers_checksum(work.unit, w, work.turns); });
      }
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        sums[part] += std::uint64_t{results[lane]} * (2 * (step * kLanes + lane) + 1);
      }
    }
  });
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

}  // namespace tcnum::bench
