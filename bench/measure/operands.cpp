#include "operands.hpp"

#include <algorithm>

#include "bench/device/timing_layout.hpp"
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

}  // namespace tcnum::bench
