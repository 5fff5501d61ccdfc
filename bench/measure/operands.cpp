#include "operands.hpp"

#include <algorithm>
#include <cstring>

#include "bench/device/timing.hpp"
#include "emu/parallel.hpp"
#include "isa/sparsity.hpp"
#include "src/questions/random_numbers.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum::bench {
namespace {

/// Series of random numbers, so that no two operands share any.
enum Series : std::uint32_t { kSeriesOfA = 100, kSeriesOfB = 200, kSeriesOfC = 300, kSeriesOfMetadata = 400 };

std::uint64_t draw(const Format& format, std::uint64_t seed, std::uint32_t series, std::uint64_t index) {
  return uniform_code(format, RandomNumbers(seed, series, index).next64());
}

void draw_metadata(const Instruction& instruction, Tiles& tiles, std::uint64_t seed, std::uint32_t series) {
  const SparseGroup group = group_of(instruction);
  const auto stored = static_cast<std::size_t>(group.stored());
  const bool ascending = instruction.sparsity == Sparsity::ascending;
  for (std::size_t g = 0; g * stored < tiles.e.size(); ++g) {
    RandomNumbers random(seed, series, g);
    SparseGroup::Pattern pattern{};
    do {
      pattern = SparseGroup::pattern(random.between(0, SparseGroup::kPatterns - 1));
    } while (!group.legal(pattern, ascending));
    for (std::size_t s = 0; s < stored; ++s) {
      tiles.e.set(g * stored + s, static_cast<std::uint64_t>(group.position(pattern, static_cast<int>(s))));
    }
  }
}

/// Columns `first` … `first` + `count` − 1 of B and of the accumulators, of one tile.
Tiles columns_of(const Tiles& from, std::size_t tile, std::size_t first, std::size_t count) {
  Tiles to = from;
  to.count = 1;
  to.n = count;
  to.a = Codes(from.a.bytes_each(), from.m * from.a_depth());
  to.b = Codes(from.b.bytes_each(), from.k * count);
  if (from.sparse_group != 0) to.e = Codes(from.e.bytes_each(), to.a.size());
  to.c = Codes(from.c.bytes_each(), from.m * count);
  to.d = Codes(from.d.bytes_each(), from.m * count);
  for (std::size_t i = 0; i < to.a.size(); ++i) {
    to.a.set(i, from.a[tile * to.a.size() + i]);
    if (from.sparse_group != 0) to.e.set(i, from.e[tile * to.a.size() + i]);
  }
  for (std::size_t k = 0; k < from.k; ++k) {
    for (std::size_t j = 0; j < count; ++j) to.b.set(k * count + j, from.b[from.b_index(tile, k, first + j)]);
  }
  return to;
}

/// Codes side by side, the first in the lowest bits: places of rows × columns, by rows or by columns.
void append_packed(std::vector<std::byte>& to, const Codes& codes, std::size_t first, std::size_t rows,
                   std::size_t columns, int bits, bool by_columns) {
  const auto width = static_cast<std::size_t>(bits);
  const std::size_t begin = to.size(), count = rows * columns;
  to.resize(begin + count * width / 8);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t code = codes[first + (by_columns ? i % rows * columns + i / rows : i)];
    std::byte* const at = to.data() + begin + i * width / 8;
    if (width < 8) {
      *at |= static_cast<std::byte>(code << i * width % 8);
    } else {
      std::memcpy(at, &code, width / 8);
    }
  }
}

/// A chain ends in what it began with: C, of an instruction whose D is of another format too.
std::size_t accumulator_bytes(const Instruction& instruction) {
  return static_cast<std::size_t>(format(instruction.c).storage_bytes());
}
/// Warps, or warpgroups, that each have an accumulator of so many chains.
unsigned units_of(const Instruction& instruction, unsigned warps) {
  constexpr unsigned kWarpgroup = 4;
  return instruction.kind == InstructionKind::wgmma ? warps / kWarpgroup : warps;
}

}  // namespace

std::uint64_t uniform_code(const Format& f, std::uint64_t random) {
  if (!f.floating) return random & f.code_mask();
  constexpr int kBits = 53;
  const bool negative = (random >> 63) != 0;
  return encode(f, negative, random & ((std::uint64_t{1} << kBits) - 1), -kBits, false, Rounding::nearest_even);
}

std::vector<const Instruction*> step_of(const Instruction& instruction) {
  if (instruction.c == instruction.d) return {&instruction};
  Instruction back = instruction;
  std::swap(back.c, back.d);
  return {&instruction, find_instruction(back.name())};
}

ChainOperands make_chain_operands(const Instruction& instruction, Data data, std::uint64_t seed) {
  const bool of_warp = instruction.kind != InstructionKind::wgmma;
  ChainOperands operands{&instruction, {}, {}, of_warp ? kTimedChains : 1u, of_warp ? kTimedTiles : 1u};
  const auto m = static_cast<std::size_t>(instruction.m), n = static_cast<std::size_t>(instruction.n);
  const Format &fa = format(instruction.a), &fb = format(instruction.b), &fc = format(instruction.c);
  operands.c = Codes(fc.storage_bytes(), operands.chains * operands.tiles * m * n);
  const int slices = of_warp ? kTimedMmaSlices : timed_wgmma_slices(instruction.sparse());
  for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(slices); ++s) {
    Tiles tiles = make_operands(instruction, operands.tiles, m, n);
    if (instruction.sparse()) draw_metadata(instruction, tiles, seed, kSeriesOfMetadata + s);
    for (std::size_t i = 0; data == Data::random && i < tiles.a.size(); ++i) {
      tiles.a.set(i, draw(fa, seed, kSeriesOfA + s, i));
    }
    for (std::size_t i = 0; data == Data::random && i < tiles.b.size(); ++i) {
      // By row and column, whatever N is.
      const std::uint64_t at = i / n * 256 + i % n;
      tiles.b.set(i, draw(fb, seed, kSeriesOfB + s, at));
    }
    operands.slices.push_back(std::move(tiles));
  }
  // wgmma begins with zeros: an operand less to hold.
  for (std::size_t i = 0; data == Data::random && of_warp && i < operands.c.size(); ++i) {
    constexpr std::uint64_t kSmall = 0xffff;  // sums of integers stay in range
    const std::uint64_t code = draw(fc, seed, kSeriesOfC, i);
    operands.c.set(i, fc.floating ? code : code & kSmall);
  }
  return operands;
}

Codes replay(const ChainOperands& operands, const std::vector<Datapath>& datapaths, unsigned steps, std::size_t slices,
             unsigned threads) {
  const std::vector<const Instruction*> step_instructions = step_of(*operands.instruction);
  const Tiles& any = operands.slices.front();
  const std::size_t m = any.m, n = any.n, width = std::min<std::size_t>(n, 16), parts = (n + width - 1) / width;
  std::vector<Emulator> emulators;
  for (const Datapath& datapath : datapaths) emulators.emplace_back(datapath);
  Codes results = operands.c;

  const auto run_part = [&](std::size_t part) {
    const std::size_t accumulator = part / parts, tile = accumulator % operands.tiles;
    const std::size_t first = part % parts * width, count = std::min(width, n - first);
    std::vector<std::vector<Tiles>> work;  // of a slice, for each instruction of a step
    for (std::size_t s = 0; s < slices; ++s) {
      const Tiles dense = gather(columns_of(operands.slices[s], tile, first, count));
      work.emplace_back(step_instructions.size(), dense);
      for (std::size_t i = 0; i < step_instructions.size(); ++i) {
        Tiles& tiles = work.back()[i];
        tiles.c_format = step_instructions[i]->c;
        tiles.d_format = step_instructions[i]->d;
        tiles.d = Codes(format(tiles.d_format).storage_bytes(), tiles.size());
      }
    }
    Codes d = work.front().front().c;
    for (std::size_t i = 0; i < d.size(); ++i) {
      d.set(i, operands.c[(accumulator * m + i / count) * n + first + i % count]);
    }
    std::size_t unchanged = 0;  // steps in a row: once no slice changes anything, none ever will
    for (unsigned step = 0; step < steps && unchanged < slices; ++step) {
      std::vector<Tiles>& instructions = work[step % slices];
      for (std::size_t i = 0; i < instructions.size(); ++i) {
        instructions[i].c = d;
        emulators[i].run(instructions[i]);
        d = instructions[i].d;
      }
      unchanged = d == instructions.front().c ? unchanged + 1 : 0;
    }
    return d;
  };

  std::vector<Codes> ends(operands.chains * operands.tiles * parts);
  in_parallel(ends.size(), threads, [&](std::size_t part) { ends[part] = run_part(part); });
  for (std::size_t part = 0; part < ends.size(); ++part) {
    const std::size_t first = part % parts * width, count = std::min(width, n - first);
    for (std::size_t i = 0; i < ends[part].size(); ++i) {
      results.set((part / parts * m + i / count) * n + first + i % count, ends[part][i]);
    }
  }
  return results;
}

TimedOperands timed_operands(const ChainOperands& operands) {
  const Instruction& in = *operands.instruction;
  TimedOperands timed;
  const auto append = [](std::vector<std::byte>& to, const Codes& codes) {
    to.insert(to.end(), codes.bytes().begin(), codes.bytes().end());
  };
  for (const Tiles& tiles : operands.slices) {
    if (in.kind == InstructionKind::wmma) {
      for (std::size_t tile = 0; tile < tiles.count; ++tile) {
        append_packed(timed.a, tiles.a, tiles.a_index(tile, 0, 0), tiles.m, tiles.k, format(in.a).storage_bits, false);
        append_packed(timed.b, tiles.b, tiles.b_index(tile, 0, 0), tiles.k, tiles.n, format(in.b).storage_bits, true);
      }
    } else {
      append(timed.a, tiles.a);
      append(timed.b, tiles.b);
      append(timed.e, tiles.e);
    }
  }
  append(timed.c, operands.c);
  return timed;
}

std::size_t result_bytes(const Instruction& in, unsigned warps, unsigned chains) {
  return std::size_t{2} * units_of(in, warps) * chains * static_cast<std::size_t>(in.m * in.n) * accumulator_bytes(in);
}

std::size_t count_wrong(const Instruction& in, const std::vector<std::byte>& results, unsigned warps, unsigned chains,
                        const Codes& expected) {
  const std::size_t size = static_cast<std::size_t>(in.m * in.n), bytes = accumulator_bytes(in);
  const unsigned tiles = in.kind == InstructionKind::wgmma ? 1 : kTimedTiles;
  std::size_t wrong = 0;
  for (unsigned unit = 0; unit < units_of(in, warps); ++unit) {
    for (unsigned chain = 0; chain < chains; ++chain) {
      const std::size_t from = ((2 * unit + 1) * chains + chain) * size, right = (chain * tiles + unit % tiles) * size;
      for (std::size_t i = 0; i < size; ++i) {
        std::uint64_t code = 0;
        std::memcpy(&code, results.data() + (from + i) * bytes, bytes);
        wrong += code != expected[right + i] ? 1 : 0;
      }
    }
  }
  return wrong;
}

}  // namespace tcnum::bench
