// What the codes of a stream depend on, and its random numbers.
#pragma once

#include <cstdint>

#include "emu/host_device.hpp"

// As the functions that call it: nvcc gives Random123's no host form otherwise.
#ifdef __CUDACC__
#define R123_CUDA_DEVICE __host__ __device__
#endif
#include <Random123/philox.h>

#include "src/questions/numbers.hpp"
#include "src/questions/stream.hpp"
#include "tcnum/format.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum::stream {

/// All that the codes depend on, but the tile.
struct Recipe {
  Distribution distribution;
  std::uint64_t seed;
  StreamShape shape;
  Format a, b, c, d;
};
inline Recipe recipe(const Instruction& in, Distribution distribution, std::uint64_t seed) {
  return {distribution, seed, stream_shape(in), format(in.a), format(in.b), format(in.c), format(in.d)};
}

/// What random numbers are drawn for.
enum class Purpose : std::uint32_t { a, b, c, frame };
inline constexpr std::uint32_t kPurposes = 4;

// GPUs have no std::min.
TCNUM_HOST_DEVICE inline int least(int x, int y) { return x < y ? x : y; }
TCNUM_HOST_DEVICE inline int most(int x, int y) { return x > y ? x : y; }
TCNUM_HOST_DEVICE inline int clamped(int x, int low, int high) { return most(low, least(x, high)); }

TCNUM_HOST_DEVICE inline int lowest_product(const Recipe& r) { return smallest_exponent(r.a) + smallest_exponent(r.b); }
TCNUM_HOST_DEVICE inline int highest_product(const Recipe& r) { return r.a.max_exponent() + r.b.max_exponent(); }

// --- The random numbers of a stream: counter-based, so that each is a function of its place.

// Where the blocks of random numbers begin that a purpose has beside those of its elements, two elements a block.
inline constexpr std::uint32_t kFirstPlaceBlock =
    12;  ///< of a frame: those that say where the few products of a tile are
inline constexpr std::uint32_t kFirstSlotBlock = 16, kBlocksOfASlot = 8;
inline constexpr std::uint32_t kFirstPatternBlock = 1u << 20;  ///< of a frame: for each group of a sparse A
inline constexpr std::uint32_t kFirstUnmetBlock = 1u << 21;    ///< of b: what meets no element of a sparse A
inline constexpr std::uint32_t kFirstScaleBlock = 1u << 22;    ///< of a frame, a or b: for block scales

/// Four random words.
struct Block {
  std::uint32_t word[4];
};
/// The counter's word that tells distributions and purposes apart.
TCNUM_HOST_DEVICE constexpr std::uint32_t counter_word(Distribution distribution, Purpose purpose) {
  return static_cast<std::uint32_t>(distribution) * kPurposes + static_cast<std::uint32_t>(purpose);
}
TCNUM_HOST_DEVICE inline Block random_block(const Recipe& r, std::uint64_t tile, Purpose purpose, std::uint32_t index) {
  const r123::Philox4x32::ctr_type counter = {{index, counter_word(r.distribution, purpose),
                                               static_cast<std::uint32_t>(tile),
                                               static_cast<std::uint32_t>(tile >> 32)}};
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(r.seed), static_cast<std::uint32_t>(r.seed >> 32)}};
  r123::Philox4x32 generator;
  const r123::Philox4x32::ctr_type out = generator(counter, key);
  return {{out.v[0], out.v[1], out.v[2], out.v[3]}};
}

/// The random bits of an element: `fraction` for its significand, `choice` for all else. From the lowest bit on, choice
/// has the pattern of the significand (3), the sign (1), chances (12) and the exponent (16).
struct Words {
  static constexpr int kSignBit = 3;
  std::uint32_t fraction, choice;
  TCNUM_HOST_DEVICE bool negative() const { return (choice >> kSignBit & 1) != 0; }
  TCNUM_HOST_DEVICE std::uint32_t chance() const { return choice >> 4 & 0xfff; }
  /// Uniform in 0 … span.
  TCNUM_HOST_DEVICE int exponent(int span) const {
    return static_cast<int>((choice >> 16) * static_cast<std::uint32_t>(span + 1) >> 16);
  }
  /// 64 bits that depend on all of them.
  TCNUM_HOST_DEVICE std::uint64_t mixed() const {
    return ((static_cast<std::uint64_t>(choice) << 32) | fraction) * 0x9e3779b97f4a7c15u;
  }
};
inline constexpr std::uint32_t kChances = 4096;  ///< chances are of so many
TCNUM_HOST_DEVICE constexpr std::uint32_t percent(int p) { return static_cast<std::uint32_t>(p) * kChances / 100; }

/// Each block serves two elements.
TCNUM_HOST_DEVICE inline Words words_of(const Block& block, std::uint32_t element) {
  return element % 2 == 0 ? Words{block.word[0], block.word[1]} : Words{block.word[2], block.word[3]};
}

/// random_block() of a frame or a slot, in one copy: they draw at many places, and rarely.
TCNUM_HOST_DEVICE TCNUM_NOINLINE inline Block frame_block(const Recipe& r, std::uint64_t tile, std::uint32_t index) {
  return random_block(r, tile, Purpose::frame, index);
}

/// Random numbers for a frame or a slot, word after word. No expression takes two: compilers order those as they like.
class Sequence {
 public:
  TCNUM_HOST_DEVICE Sequence(const Recipe& r, std::uint64_t tile, std::uint32_t first)
      : r_(r), tile_(tile), next_(first) {}
  TCNUM_HOST_DEVICE std::uint32_t word() {
    if (left_ == 0) {
      block_ = frame_block(r_, tile_, next_++);
      left_ = 4;
    }
    return block_.word[4 - left_--];
  }
  /// Uniform in low … high, both included.
  TCNUM_HOST_DEVICE int between(int low, int high) {
    const auto span = static_cast<std::uint64_t>(high - low + 1);
    return low + static_cast<int>(static_cast<std::uint64_t>(word()) * span >> 32);
  }
  TCNUM_HOST_DEVICE bool chance(int of_100) { return between(1, 100) <= of_100; }

 private:
  const Recipe& r_;
  std::uint64_t tile_;
  std::uint32_t next_;
  Block block_{};
  int left_ = 0;
};

}  // namespace tcnum::stream
