// What the codes of a stream depend on.
#pragma once

#include <cstdint>

#include "emu/host_device.hpp"
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

}  // namespace tcnum::stream
