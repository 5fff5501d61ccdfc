#include "fragments.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "tcnum/timing_layout.hpp"

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

int register_bits(const Instruction& instruction) { return std::max(32, format(instruction.a).storage_bits); }
int accumulator_bits(const Instruction& instruction) { return format(instruction.d).storage_bits; }
int accumulators_per_register(const Instruction& instruction) {
  return register_bits(instruction) / accumulator_bits(instruction);
}

std::uint32_t metadata_of(const Instruction& instruction, const Tiles& tiles, std::size_t tile, int lane) {
  const MmaGeometry g = instruction.geometry();
  const SparseGroup group = instruction.group();
  if (!g.has_metadata(lane, 0)) return ~std::uint32_t{0};
  std::uint32_t metadata = 0;
  for (int i = 0; i < MmaGeometry::kMetadataGroups; ++i) {
    const Element at = g.metadata(lane, i);
    std::array<int, 4> positions{};
    for (int s = 0; s < group.stored(); ++s) {
      positions[static_cast<std::size_t>(s)] = static_cast<int>(tiles.e[tiles.a_index(
          tile, static_cast<std::size_t>(at.row), static_cast<std::size_t>(at.column * group.stored() + s))]);
    }
    metadata |= SparseGroup::metadata(group.pattern_of(positions.data())) << (SparseGroup::kMetadataBits * i);
  }
  return metadata;
}

TimedOperands mma_operands(const ChainOperands& operands) {
  const Instruction& in = *operands.instruction;
  const MmaGeometry g = in.geometry();
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
      if (in.sparse()) e.put(at(1, 0), 0, 32, metadata_of(in, tiles, tile, lane));
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

/// Each row of A and then each column of B has 128 bytes along K, 32 for each slice; a swizzle exclusive-ors the number
/// of a 16-byte chunk with that of its row modulo 8. Source: PTX ISA, "Swizzling modes".
TimedOperands wgmma_operands(const ChainOperands& operands) {
  constexpr int kSliceBytes = 32, kRowBytes = kTimedWgmmaSlices * kSliceBytes, kChunk = 16;
  const Instruction& in = *operands.instruction;
  const int bits = format(in.a).storage_bits, bytes = bits / 8;
  if (in.sparse() || bits < 8 || in.k * bytes != kSliceBytes) {
    throw std::logic_error(in.name() + ": its operands have no layout here yet");
  }
  TimedOperands timed;
  timed.shared.resize(static_cast<std::size_t>((in.m + in.n) * kRowBytes));
  const auto store = [&](int row, int byte, std::uint64_t code) {
    const int swizzled = (byte / kChunk ^ row % 8) * kChunk + byte % kChunk;
    std::memcpy(timed.shared.data() + row * kRowBytes + swizzled, &code, static_cast<std::size_t>(bytes));
  };
  const MmaGeometry warp{16, 8, in.k, 32 / bits};
  const int na = warp.a_registers();
  Registers a(operands.slices.size() * static_cast<std::size_t>(na * kWarpgroup), 32);
  for (std::size_t s = 0; s < operands.slices.size(); ++s) {
    const Tiles& tiles = operands.slices[s];
    const int first_byte = static_cast<int>(s) * kSliceBytes;
    for (int k = 0; k < in.k; ++k) {
      const auto kk = static_cast<std::size_t>(k);
      for (int i = 0; i < in.m; ++i)
        store(i, first_byte + k * bytes, tiles.a[tiles.a_index(0, static_cast<std::size_t>(i), kk)]);
      for (int j = 0; j < in.n; ++j) {
        store(in.m + j, first_byte + k * bytes, tiles.b[tiles.b_index(0, kk, static_cast<std::size_t>(j))]);
      }
    }
    for (int thread = 0; thread < kWarpgroup; ++thread) {
      for (int r = 0; r < na; ++r) {
        for (int x = 0; x < warp.register_elements; ++x) {
          const Element from = warp.a(thread % kLanes, r, x);
          a.put((s * static_cast<std::size_t>(na) + static_cast<std::size_t>(r)) * kWarpgroup +
                    static_cast<std::size_t>(thread),
                x, bits,
                tiles.a[tiles.a_index(0, static_cast<std::size_t>(thread / kLanes * 16 + from.row),
                                      static_cast<std::size_t>(from.column))]);
        }
      }
    }
  }
  timed.a = a.take();
  return timed;
}

bool is_wgmma(const Instruction& instruction) { return instruction.kind == InstructionKind::wgmma; }

}  // namespace

TimedOperands timed_operands(const ChainOperands& operands) {
  return is_wgmma(*operands.instruction) ? wgmma_operands(operands) : mma_operands(operands);
}

std::size_t result_bytes(const Instruction& in, unsigned warps, unsigned chains) {
  const std::size_t tiles = is_wgmma(in) ? warps * kLanes / kWarpgroup : std::size_t{warps} * chains;
  return tiles * static_cast<std::size_t>(in.m * in.n * accumulator_bits(in) / 8);
}

std::size_t count_wrong(const Instruction& in, const std::vector<std::byte>& results, unsigned warps, unsigned chains,
                        const Codes& expected) {
  const bool group = is_wgmma(in);
  const int per = accumulators_per_register(in), threads = group ? kWarpgroup : kLanes;
  const int accumulators = in.m * in.n / threads;
  const auto bytes = static_cast<std::size_t>(accumulator_bits(in) / 8);
  const std::size_t m = static_cast<std::size_t>(in.m), n = static_cast<std::size_t>(in.n);
  std::size_t wrong = 0;
  const unsigned units = group ? warps * kLanes / kWarpgroup : warps;
  for (unsigned unit = 0; unit < units; ++unit) {
    for (unsigned chain = 0; chain < chains; ++chain) {
      const std::size_t from = std::size_t{unit} * chains + chain;
      const std::size_t tile = group ? 0 : chain * kTimedTiles + unit % kTimedTiles;
      for (int thread = 0; thread < threads; ++thread) {
        for (int i = 0; i < accumulators; ++i) {
          const Element to = group ? wgmma_accumulator(thread, i) : in.geometry().c(thread, i);
          const std::size_t word =
              (from * static_cast<std::size_t>(accumulators / per) + static_cast<std::size_t>(i / per)) *
                  static_cast<std::size_t>(threads) +
              static_cast<std::size_t>(thread);
          std::uint64_t code = 0;
          std::memcpy(
              &code,
              results.data() + (word * static_cast<std::size_t>(per) + static_cast<std::size_t>(i % per)) * bytes,
              bytes);
          wrong +=
              code != expected[(tile * m + static_cast<std::size_t>(to.row)) * n + static_cast<std::size_t>(to.column)];
        }
      }
    }
  }
  return wrong;
}

}  // namespace tcnum::bench
