// The roofline: a kernel that reads memory, and multiplies and adds so often for each byte. What it does, and what must
// come out, without CUDA.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "timing.hpp"

namespace tcnum {

/// What multiplies and adds.
enum class RooflineUnit : std::uint8_t {
  fp16,    ///< fma.rn.f16x2
  fp32,    ///< fma.rn.f32
  fp64,    ///< fma.rn.f64
  tensor,  ///< mma.m16n8k16.f32.f16.f16.f32
};

/// A step of a warp reads `reads` tiles of a buffer that fill() left, which lie side by side, and takes `turns` turns
/// with what it makes of them; a launch takes all steps that the buffer has tiles for, once.
///
/// A tile has kRooflineTileBytes: four 16-byte loads of each lane, of which a warp makes 512 contiguous bytes each
/// time. A lane xors all words of a step:
///  - fp16, fp32, fp64: it has the registers x[r] and y[r], of which roofline_registers() says how many. With b[0] … b[3]
///    the bytes, lowest first and as whole numbers, of the xored words rotated left by 4 r bits, x[r] = 256 + b[0] and
///    y[r] = 256 + b[1]; of fp16 that is in the lower halves, and the upper ones are made of b[2] and b[3]. A turn is
///    x += y, and then y −= x, by fused multiply-adds in all registers, and comes round after six.
///  - tensor cores: roofline_a() and roofline_b() are the lane's registers of A and B, and its accumulators begin at
///    zero; a turn adds A · B.
/// All these are whole numbers that every format here holds: nothing is rounded.
struct RooflineWork {
  RooflineUnit unit = RooflineUnit::fp32;
  std::size_t bytes = 0;  ///< of the buffer: a multiple of reads · kRooflineTileBytes
  unsigned reads = 1, turns = 1;
};
inline constexpr std::size_t kRooflineLaneBytes = 64, kRooflineTileBytes = 32 * kRooflineLaneBytes;

/// As many as `bench incore` needs independent instructions for, to have a unit busy.
constexpr unsigned roofline_registers(RooflineUnit unit) { return unit == RooflineUnit::fp16 ? 8 : 4; }
/// Operations of a lane in a turn: two for each product.
constexpr double roofline_operations(RooflineUnit unit) {
  if (unit == RooflineUnit::tensor) return 2.0 * 16 * 8 * 16 / 32;
  const unsigned numbers = roofline_registers(unit) * (unit == RooflineUnit::fp16 ? 2 : 1);
  return 2.0 * 2 * numbers;
}
/// For each byte that is read.
constexpr double roofline_intensity(const RooflineWork& work) {
  return roofline_operations(work.unit) * work.turns / (static_cast<double>(kRooflineLaneBytes) * work.reads);
}

/// The fp16 codes of two of a lane's operands of A, register 0 … 3, or of B, 0 and 1, in the halves of a register: each
/// is 4 … 7, by two bits of the lane's xored words that no other operand has.
constexpr std::uint32_t kRooflineFours = 0x44004400, kRooflineUnits = 0x03000300;
constexpr std::uint32_t roofline_a(std::uint32_t words, unsigned i) {
  return kRooflineFours | (words >> 2 * i & kRooflineUnits);
}
constexpr std::uint32_t roofline_b(std::uint32_t words, unsigned i) {
  return kRooflineFours | (words << (8 - 2 * i) & kRooflineUnits);
}

/// A sign comes into a low bit first: of two numbers in the highest one, changes would cancel.
constexpr std::uint32_t roofline_checksum(std::uint32_t checksum, std::uint32_t result) {
  return (checksum ^ std::rotl(result, 7)) * 0x9e3779b1U;
}

/// A lane's results of a step, as 32-bit words, one after the other through roofline_checksum(), from zero on: x[0],
/// y[0], x[1], y[1], … or the four accumulators; of fp64 the upper word xor the lower. `checksum` is the sum of these, that of lane i % 32 of step i / 32 multiplied by 2 i + 1.
struct RooflineTimes {
  TimedBatch batch;            ///< of all launches
  std::uint64_t checksum = 0;  ///< of the last one
};

}  // namespace tcnum
