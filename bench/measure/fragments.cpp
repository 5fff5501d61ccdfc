#include "fragments.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "bench/device/timing_layout.hpp"
#include "isa/fragment.hpp"

namespace tcnum::bench {
namespace {

constexpr int kLanes = 32, kWarpgroup = 128;

/// Registers of 32 or 64 bits, all zero.
class Registers {
 public:
  Registers(std::size_t count, int bits) : bytes_(bits / 8), data_(count * static_cast<std::size_t>(bytes_)) {}
  /// Puts a code of so many bits at a place of a register.
  void put(std::size_t at, int place, int code_bits, std::uint64_t code) {
    std::uint64_t value = 0;
    std::byte* const to = data_.data() + at * static_cast<std::size_t>(bytes_);
    std::memcpy(&value, to, static_cast<std::size_t>(bytes_));
    value |= code << (place * code_bits);
    std::memcpy(to, &value, static_cast<std::size_t>(bytes_));
  }
  std::vector<std::byte> take() { return std::move(data_); }

 private:
  int bytes_;
  std::vector<std::byte> data_;
};

bool is_wgmma(const Instruction& instruction) { return instruction.kind == InstructionKind::wgmma; }
int register_bits(const Instruction& instruction) { return std::max(32, format(instruction.a).storage_bits); }
/// A chain ends in what it began with: C, of an instruction whose D is of another format too.
int accumulator_bits(const Instruction& instruction) { return format(instruction.c).storage_bits; }
int accumulators_per_register(const Instruction& instruction) {
  return register_bits(instruction) / accumulator_bits(instruction);
}

/// Of rows from `first_row` on.
std::uint32_t metadata_of(const MmaGeometry& g, const Tiles& tiles, std::size_t tile, int first_row, int lane) {
  const SparseGroup group{tiles.sparse_group};
  if (!g.has_metadata(lane, 0)) return ~std::uint32_t{0};
  std::uint32_t metadata = 0;
  for (int i = 0; i < MmaGeometry::kMetadataGroups; ++i) {
    const Element at = g.metadata(lane, i);
    std::array<int, 4> positions{};
    for (int s = 0; s < group.stored(); ++s) {
      positions[static_cast<std::size_t>(s)] =
          static_cast<int>(tiles.e[tiles.a_index(tile, static_cast<std::size_t>(first_row + at.row),
                                                 static_cast<std::size_t>(at.column * group.stored() + s))]);
    }
    metadata |= SparseGroup::metadata(group.pattern_of(positions.data())) << (SparseGroup::kMetadataBits * i);
  }
  return metadata;
}

TimedOperands mma_operands(const ChainOperands& operands) {
  const Instruction& in = *operands.instruction;
  const MmaGeometry g = geometry_of(in);
  const int bits = register_bits(in), a_bits = format(in.a).storage_bits, b_bits = format(in.b).storage_bits;
  const int na = g.a_registers(), nb = g.b_registers(), per = accumulators_per_register(in),
            nd = g.accumulators() / per;
  const std::size_t blocks = operands.slices.size() * operands.tiles;
  Registers a(blocks * static_cast<std::size_t>(na * kLanes), bits),
      b(blocks * static_cast<std::size_t>(nb * kLanes), bits);
  Registers c(operands.chains * operands.tiles * static_cast<std::size_t>(nd * kLanes), bits);
  Registers e(in.sparse() ? blocks * kLanes : 0, 32);

  for (std::size_t block = 0; block < blocks; ++block) {
    const Tiles& tiles = operands.slices[block / operands.tiles];
    const std::size_t tile = block % operands.tiles;
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto at = [&](int count, int r) {
        return (block * static_cast<std::size_t>(count) + static_cast<std::size_t>(r)) * kLanes +
               static_cast<std::size_t>(lane);
      };
      for (int x = 0; x < g.register_elements; ++x) {
        for (int r = 0; r < na; ++r) {
          const Element from = g.a(lane, r, x);
          a.put(
              at(na, r), x, a_bits,
              tiles.a[tiles.a_index(tile, static_cast<std::size_t>(from.row), static_cast<std::size_t>(from.column))]);
        }
        for (int r = 0; r < nb; ++r) {
          const Element from = g.b(lane, r, x);
          b.put(
              at(nb, r), x, b_bits,
              tiles.b[tiles.b_index(tile, static_cast<std::size_t>(from.row), static_cast<std::size_t>(from.column))]);
        }
      }
      if (in.sparse()) e.put(at(1, 0), 0, 32, metadata_of(g, tiles, tile, 0, lane));
    }
  }
  for (std::size_t t = 0; t < operands.chains * operands.tiles; ++t) {
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int i = 0; i < g.accumulators(); ++i) {
        const Element from = g.c(lane, i);
        const std::size_t index =
            (t * static_cast<std::size_t>(in.m) + static_cast<std::size_t>(from.row)) * static_cast<std::size_t>(in.n) +
            static_cast<std::size_t>(from.column);
        c.put((t * static_cast<std::size_t>(nd) + static_cast<std::size_t>(i / per)) * kLanes +
                  static_cast<std::size_t>(lane),
              i % per, accumulator_bits(in), operands.c[index]);
      }
    }
  }
  return {a.take(), b.take(), c.take(), e.take(), {}};
}

/// All codes side by side, the first in the lowest bits.
class Packed {
 public:
  Packed(std::size_t count, int bits) : bits_(bits), data_(count * static_cast<std::size_t>(bits) / 8) {}
  void put(std::size_t at, std::uint64_t code) { put_bits(at * static_cast<std::size_t>(bits_), code); }
  /// A code that begins at that bit, which is a multiple of its own width.
  void put_bits(std::size_t first, std::uint64_t code) {
    std::byte* const to = data_.data() + first / 8;
    if (bits_ < 8) {
      *to |= static_cast<std::byte>(code << first % 8);
    } else {
      std::memcpy(to, &code, static_cast<std::size_t>(bits_ / 8));
    }
  }
  std::vector<std::byte> take() { return std::move(data_); }

 private:
  int bits_;
  std::vector<std::byte> data_;
};

/// Matrices: A and C by rows, B by columns.
TimedOperands wmma_operands(const ChainOperands& operands) {
  const Instruction& in = *operands.instruction;
  const auto m = static_cast<std::size_t>(in.m), n = static_cast<std::size_t>(in.n), k = static_cast<std::size_t>(in.k);
  const std::size_t blocks = operands.slices.size() * operands.tiles;
  Packed a(blocks * m * k, format(in.a).storage_bits), b(blocks * k * n, format(in.b).storage_bits);
  for (std::size_t block = 0; block < blocks; ++block) {
    const Tiles& tiles = operands.slices[block / operands.tiles];
    const std::size_t tile = block % operands.tiles;
    for (std::size_t i = 0; i < m * k; ++i) a.put(block * m * k + i, tiles.a[tile * m * k + i]);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t kk = 0; kk < k; ++kk) b.put((block * n + j) * k + kk, tiles.b[tiles.b_index(tile, kk, j)]);
    }
  }
  const auto c = operands.c.bytes();
  return {a.take(), b.take(), {c.begin(), c.end()}, {}, {}};
}

/// Each row of A and then each column of B has 128 bytes along K, 32 of A for each slice, and of B as many, or 64 if A
/// is sparse; a swizzle exclusive-ors the number of a 16-byte chunk with that of its row modulo 8. Source: PTX ISA,
/// "Swizzling modes".
TimedOperands wgmma_operands(const ChainOperands& operands) {
  constexpr std::size_t kRowBits = 1024, kChunkBits = 128;
  const Instruction& in = *operands.instruction;
  const int bits = format(in.a).storage_bits;
  const auto m = static_cast<std::size_t>(in.m), n = static_cast<std::size_t>(in.n), k = static_cast<std::size_t>(in.k),
             stored = static_cast<std::size_t>(in.products()), width = static_cast<std::size_t>(bits);
  Packed shared((m + n) * kRowBits / width, bits);
  const auto store = [&](std::size_t row, std::size_t place, std::uint64_t code) {
    const std::size_t bit = place * width;
    shared.put_bits(row * kRowBits + (bit / kChunkBits ^ row % 8) * kChunkBits + bit % kChunkBits, code);
  };
  // Each warp has 16 rows of A in registers, and their metadata, as those of an mma.
  const MmaGeometry warp{16, 8, in.k, std::max(1, 32 / bits), in.sparse()};
  const auto na = static_cast<std::size_t>(warp.a_registers());
  Registers a(operands.slices.size() * na * kWarpgroup, 32),
      e(in.sparse() ? operands.slices.size() * kWarpgroup : 0, 32);
  for (std::size_t s = 0; s < operands.slices.size(); ++s) {
    const Tiles& tiles = operands.slices[s];
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t kk = 0; kk < stored; ++kk) store(i, s * stored + kk, tiles.a[tiles.a_index(0, i, kk)]);
    }
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t kk = 0; kk < k; ++kk) store(m + j, s * k + kk, tiles.b[tiles.b_index(0, kk, j)]);
    }
    for (int thread = 0; thread < kWarpgroup; ++thread) {
      const int first_row = thread / kLanes * warp.m, lane = thread % kLanes;
      const auto at = [&](std::size_t count, std::size_t r) {
        return (s * count + r) * kWarpgroup + static_cast<std::size_t>(thread);
      };
      for (std::size_t r = 0; r < na; ++r) {
        for (int x = 0; x < warp.register_elements; ++x) {
          const Element from = warp.a(lane, static_cast<int>(r), x);
          a.put(at(na, r), x, bits,
                tiles.a[tiles.a_index(0, static_cast<std::size_t>(first_row + from.row),
                                      static_cast<std::size_t>(from.column))]);
        }
      }
      if (in.sparse()) e.put(at(1, 0), 0, 32, metadata_of(warp, tiles, 0, first_row, lane));
    }
  }
  return {a.take(), {}, {}, e.take(), shared.take()};
}

/// Where an accumulator's code lies among those of a tile's results, if threads hold it: [register][thread], as many
/// codes to a register as fit.
std::size_t place_in_registers(int threads, int per_register, int thread, int i) {
  return static_cast<std::size_t>((i / per_register * threads + thread) * per_register + i % per_register);
}

}  // namespace

TimedOperands timed_operands(const ChainOperands& operands) {
  switch (operands.instruction->kind) {
    case InstructionKind::wgmma:
      return wgmma_operands(operands);
    case InstructionKind::wmma:
      return wmma_operands(operands);
    case InstructionKind::mma:
    case InstructionKind::tcgen05:
    case InstructionKind::mfma:
    case InstructionKind::amd_wmma:
    case InstructionKind::dot:
      break;
  }
  return mma_operands(operands);
}

std::size_t result_bytes(const Instruction& in, unsigned warps, unsigned chains) {
  const std::size_t tiles = is_wgmma(in) ? warps * kLanes / kWarpgroup : std::size_t{warps} * chains;
  const std::size_t bytes = tiles * static_cast<std::size_t>(in.m * in.n * accumulator_bits(in) / 8);
  return in.kind == InstructionKind::wmma ? 2 * bytes : bytes;
}

std::size_t count_wrong(const Instruction& in, const std::vector<std::byte>& results, unsigned warps, unsigned chains,
                        const Codes& expected) {
  const bool group = is_wgmma(in), matrices = in.kind == InstructionKind::wmma;
  const int per = accumulators_per_register(in), threads = group ? kWarpgroup : kLanes;
  const auto bytes = static_cast<std::size_t>(accumulator_bits(in) / 8);
  const std::size_t n = static_cast<std::size_t>(in.n), size = static_cast<std::size_t>(in.m) * n;
  const unsigned units = group ? warps * kLanes / kWarpgroup : warps;
  std::size_t wrong = 0;
  for (unsigned unit = 0; unit < units; ++unit) {
    for (unsigned chain = 0; chain < chains; ++chain) {
      // Matrices lie behind all of their warp's registers.
      const std::size_t from = (matrices ? (2 * unit + 1) * chains + chain : unit * chains + chain) * size;
      const std::size_t tile = group ? 0 : chain * kTimedTiles + unit % kTimedTiles;
      const auto is_wrong = [&](std::size_t place, std::size_t element) {
        std::uint64_t code = 0;
        std::memcpy(&code, results.data() + (from + place) * bytes, bytes);
        return code != expected[tile * size + element];
      };
      if (matrices) {
        for (std::size_t i = 0; i < size; ++i) wrong += is_wrong(i, i);
        continue;
      }
      for (int thread = 0; thread < threads; ++thread) {
        for (int i = 0; i < static_cast<int>(size) / threads; ++i) {
          const Element to = group ? wgmma_accumulator(thread, i) : geometry_of(in).c(thread, i);
          wrong += is_wrong(place_in_registers(threads, per, thread, i),
                            static_cast<std::size_t>(to.row) * n + static_cast<std::size_t>(to.column));
        }
      }
    }
  }
  return wrong;
}

}  // namespace tcnum::bench
