// The code that the CUDA emulator runs equals the exact emulator, bit for bit: compiled for the CPU, so that it is
// tested where there is no GPU.
// Labels: long speed
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <map>
#include <random>
#include <vector>

#include "difference.hpp"
#include "draw.hpp"
#include "emu/gpu/accumulation_patch.hpp"
#include "emu/gpu/patch.hpp"
#include "emu/gpu/requirements.hpp"
#include "emu/gpu/terms.hpp"
#include "generators.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

constexpr std::size_t kRows = gpu::kPatchRows, kColumns = gpu::kPatchColumns;
/// Where the patch begins: within a thread block's lines, as most do, of which the others hold nothing.
constexpr int kFirstRow = gpu::kPatchRows, kFirstColumn = 2 * gpu::kPatchColumns;

/// What a kernel has in shared memory.
template <bool kIsA>
struct SideArrays {
  using Side = gpu::Side<kIsA>;
  SideArrays(const GpuDatapath& d, const Tiles& tiles)
      : value(tiles.k * Side::kLines),
        exponent(value.size()),
        negative(Side::kLines),
        zero(Side::kLines),
        special(Side::kLines),
        side{value.data(), exponent.data(), negative.data(), zero.data(), special.data()} {
    gpu::with_adjacent(d, [&]<int kAtOnce>() { fill<kAtOnce>(d, tiles); });
  }
  template <std::size_t kAtOnce>
  void fill(const GpuDatapath& d, const Tiles& tiles) {
    for (std::size_t r = 0; r < (kIsA ? kRows : kColumns); ++r) {
      for (std::size_t k = 0; k < tiles.k; k += kAtOnce) {
        std::uint32_t code[kAtOnce];
        for (std::size_t e = 0; e < kAtOnce; ++e) {
          code[e] = static_cast<std::uint32_t>(kIsA ? tiles.a[tiles.a_index(0, r, k + e)]
                                                    : tiles.b[tiles.b_index(0, k + e, r)]);
        }
        const std::size_t line = r + static_cast<std::size_t>(kIsA ? kFirstRow : kFirstColumn);
        const gpu::Places places = side.put(kIsA ? d.a_fields : d.b_fields, static_cast<int>(line), d.place[k], code);
        negative[line] |= places.negative;
        zero[line] |= places.zero;
        special[line] |= places.special;
      }
    }
  }
  std::vector<double> value;
  std::vector<typename Side::Exponent> exponent;
  std::vector<std::uint32_t> negative, zero, special;
  Side side;
};

/// Checks an evaluator that takes one dot product at a time, of the numbers that `read` makes of operands' codes.
template <class Read, class Dot, class Expect>
void expect_dots_equal_exact(const GpuDatapath& d, const Tiles& tiles, const Read& read, const Dot& dot,
                             const char* how, const Expect& expect) {
  using Number = decltype(read(d.a, d.a_fields, std::uint64_t{}));
  std::vector<Number> a(tiles.k * kRows), b(tiles.k * kColumns);
  for (std::size_t k = 0; k < tiles.k; ++k) {
    const std::size_t p = d.place[k];
    for (std::size_t i = 0; i < kRows; ++i) a[p * kRows + i] = read(d.a, d.a_fields, tiles.a[tiles.a_index(0, i, k)]);
    for (std::size_t j = 0; j < kColumns; ++j)
      b[p * kColumns + j] = read(d.b, d.b_fields, tiles.b[tiles.b_index(0, k, j)]);
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j)
      expect(i, j, dot(d, a.data() + i, int{kRows}, b.data() + j, int{kColumns}, tiles.c[tiles.c_index(0, i, j)]), how);
  }
}

std::uint64_t code_itself(const Format&, const GpuFields&, std::uint64_t code) { return code; }
float as_single(const Format& f, const GpuFields& fields, std::uint64_t code) {
  return gpu::single_of(f, fields, static_cast<std::uint32_t>(code));
}

void put_c(const Tiles& tiles, gpu::PatchCodes& codes) {
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j)
      codes.code[i][j] = static_cast<std::uint32_t>(tiles.c[tiles.c_index(0, i, j)]);
  }
}
/// As elements may be parts of tiles or of matrices.
MadeGpuDatapath made_of(const Datapath& datapath) {
  return make_gpu_datapath(datapath, datapath.numerics.scales ? GpuWork::tiles : GpuWork::matrices);
}
bool is_of(GpuEvaluator evaluator, const Datapath& datapath) {
  const auto made = made_of(datapath).datapath;
  return made && made->evaluator == evaluator;
}
/// A patch by accumulations. codes: those of c, and then of results; returns which elements, as bits, it leaves over.
std::uint32_t patch_of_accumulations(const GpuDatapath& d, const gpu::SideA& a, const gpu::SideB& b,
                                     gpu::PatchCodes& codes) {
  return gpu::with_accumulations_of(d, [&]<bool kInPairs, bool kBelowLeading>() {
    return gpu::accumulation_patch<kInPairs, kBelowLeading>(d, a, kFirstRow, b, kFirstColumn, codes);
  });
}

/// Checks one tile of kRows × kColumns by every way there is.
void expect_gpu_equals_exact(const Datapath& datapath, Tiles tiles) {
  const auto [made, why_not] = made_of(datapath);
  if (!made) RC_DISCARD(std::string(why_not));
  const GpuDatapath& d = *made;
  emulate_exact(datapath, tiles);
  const auto expect = [&](std::size_t i, std::size_t j, std::uint64_t code, const char* how) {
    const std::uint64_t exact = tiles.d[tiles.c_index(0, i, j)];
    if (exact == code) return;
    RC_FAIL(test::difference(datapath, problem_at(tiles, i * kColumns + j), std::string("exact, ") + how, exact, code));
  };

  if (gpu::why_no_terms(datapath.numerics, SortedTree(datapath.tree)).empty())
    expect_dots_equal_exact(
        d, tiles, code_itself, [](const auto&... operands) { return gpu::terms_dot(operands...); }, "term by term",
        expect);
  // Their own ways are those of kernels (tests/emu/cuda_products_test.cpp).
  if (d.evaluator == GpuEvaluator::brackets || d.evaluator == GpuEvaluator::integers) return;
  if (d.evaluator == GpuEvaluator::single_precision)
    return expect_dots_equal_exact(d, tiles, as_single, gpu::single_precision_dot, "in single precision", expect);
  if (d.evaluator == GpuEvaluator::fma_chain) {
    const auto chain = [](const GpuDatapath& its, auto... operands) {
      return gpu::fma_chain_steps(its, its.k, operands...);
    };
    return expect_dots_equal_exact(d, tiles, code_itself, chain, "chain", expect);
  }

  const SideArrays<true> a(d, tiles);
  const SideArrays<false> b(d, tiles);
  gpu::PatchCodes c, results;
  put_c(tiles, c);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      const int row = kFirstRow + static_cast<int>(i), column = kFirstColumn + static_cast<int>(j);
      expect(i, j, gpu::terms_dot(d, a.side, row, b.side, column, c.code[i][j]), "left over by patches");
    }
  }
  if (d.evaluator == GpuEvaluator::accumulations) {
    results = c;
    const std::uint32_t left = patch_of_accumulations(d, a.side, b.side, results);
    RC_CLASSIFY(left == 0, "nothing left over");
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kColumns; ++j) {
        if ((left & gpu::PatchCodes::bit(static_cast<int>(i), static_cast<int>(j))) == 0)
          expect(i, j, results.code[i][j], "in a patch of accumulations");
      }
    }
    return;
  }
  RC_CLASSIFY(d.adjacent == 2, "products in twos");
  const auto expect_patch = [&]<class Code>() {
    const auto read_c = [&] { return c; };
    const gpu::PatchRest rest = gpu::with_nodes_of(d, [&]<class Nodes>() {
      return gpu::patch<Code, Nodes>(d, a.side, kFirstRow, b.side, kFirstColumn, read_c, results);
    });
    for (int i = 0; i < gpu::kPatchRows; ++i) {
      for (int j = 0; j < gpu::kPatchColumns; ++j) {
        const std::uint32_t bit = gpu::PatchCodes::bit(i, j);
        if ((rest.overflowed & bit) != 0) continue;
        const bool special = (rest.special & bit) != 0;
        const std::uint32_t code =
            special ? gpu::special_code<Code>(d, a.side, kFirstRow + i, b.side, kFirstColumn + j, c.code[i][j])
                    : results.code[i][j];
        expect(static_cast<std::size_t>(i), static_cast<std::size_t>(j), code, special ? "of specials" : "in a patch");
      }
    }
  };
  if (d.c.storage_bits == 32)
    expect_patch.operator()<std::uint32_t>();
  else
    expect_patch.operator()<std::uint16_t>();
}

/// Of several NaNs the rule's first comes back; one that no operand brought has the rule's code.
RC_GTEST_PROP(GpuEmulator, EqualsExactWhereNansMeetInFmaChains, ()) {
  const auto is_double = [](const Datapath& datapath) { return datapath.numerics.result == FormatId::fp64; };
  const Datapath datapath = test::draw_until(test::random_fma_chain, is_double);
  Tiles tiles = test::random_tiles(datapath, 1, kRows, kColumns);
  const Format& f = format(FormatId::fp64);
  const std::uint64_t nan = nan_code(f), infinity = infinity_code(f, false), one = 0x3ff0000000000000;
  for (Codes* codes : {&tiles.a, &tiles.b, &tiles.c}) {
    for (std::size_t i = 0; i < codes->size(); ++i)
      codes->set(i, *rc::gen::element<std::uint64_t>(0, one, one, one, infinity, infinity_code(f, true), infinity | 1,
                                                     nan | 2, zero_code(f, true) | nan | 3));
  }
  expect_gpu_equals_exact(datapath, tiles);
}

/// Patches add in doubles, which have no units above 2^971.
RC_GTEST_PROP(GpuEmulator, EqualsExactWhateverTheFloor, ()) {
  Datapath datapath = catalogue(ArchId::sm_90, *find_instruction("mma.m16n8k16.f32.f16.f16.f32")).front().datapath;
  Unit& unit = datapath.numerics.units[0];
  const int highest_of_patches = 971 + unit.fraction_bits;
  const int floor =
      *rc::gen::oneOf(rc::gen::inRange(-200, 1200), rc::gen::inRange(highest_of_patches - 1, highest_of_patches + 3));
  unit.zero_exponent = {ZeroExponentKind::floor, floor};
  RC_ASSERT(make_gpu_datapath(datapath).datapath->takes_patches() == (floor <= highest_of_patches));
  expect_gpu_equals_exact(datapath, test::random_tiles(datapath, 1, kRows, kColumns));
}

/// All that was fitted on hardware here runs on a GPU, and aligned sums in patches.
TEST(GpuEmulator, HoldsTheCatalogue) {
  for (const CatalogueEntry& entry : catalogue(ArchId::sm_90)) {
    const auto [d, why_not] = make_gpu_datapath(entry.datapath);
    const Instruction& in = *entry.instruction;
    EXPECT_EQ(why_not, "") << in.name();
    ASSERT_TRUE(d.has_value()) << in.name();
    const bool no_tensor_core = in.kind == InstructionKind::mma && in.m == 8 && in.a == FormatId::fp16;
    EXPECT_EQ(d->evaluator == GpuEvaluator::single_precision, no_tensor_core) << in.name();
  }
}

/// As many sums as there is room for: what is computed beyond them would be out of bounds, which sanitizers see.
RC_GTEST_PROP(GpuEmulator, EqualsExactForAsManySumsAsItTakes, ()) {
  Datapath datapath = catalogue(ArchId::sm_80, *find_instruction("mma.m16n8k8.f32.f16.f16.f32")).at(0).datapath;
  Blocks blocks;
  for (int k = 0; k < GpuDatapath::kMostPatchNodes; ++k) blocks.push_back({k});
  datapath.tree = make_structure(Combination::chain, blocks, {}).tree;
  for (Node& node : datapath.tree.nodes) node.unit = 0;
  RC_ASSERT(datapath.tree.nodes.size() == static_cast<std::size_t>(GpuDatapath::kMostPatchNodes));
  RC_ASSERT(make_gpu_datapath(datapath).datapath.has_value());
  expect_gpu_equals_exact(datapath, test::random_tiles(datapath, 1, kRows, kColumns));
}

/// As many as are side by side in memory and in the datapath, up to four.
TEST(GpuDatapath, PutsAdjacentProductsSideBySide) {
  const auto adjacent = [](const Blocks& blocks) {
    Datapath datapath = catalogue(ArchId::sm_80, *find_instruction("mma.m16n8k8.f32.f16.f16.f32")).at(0).datapath;
    datapath.tree = make_structure(Combination::chain, blocks, {}).tree;
    for (Node& node : datapath.tree.nodes) node.unit = 0;
    return make_gpu_datapath(datapath).datapath.value().adjacent;
  };
  EXPECT_EQ(adjacent({{0, 1, 2, 3}, {4, 5, 6, 7}}), 4);
  EXPECT_EQ(adjacent({{4, 5, 6, 7}, {0, 1, 2, 3}}), 4);
  EXPECT_EQ(adjacent({{0, 1}, {2, 3}}), 4);
  EXPECT_EQ(adjacent({{2, 3}, {0, 1}}), 2);
  EXPECT_EQ(adjacent({{0, 1, 4, 5}, {2, 3, 6, 7}}), 2);
  EXPECT_EQ(adjacent({{0, 1, 2}, {3, 4, 5}}), 2);
  EXPECT_EQ(adjacent({{0, 2}, {1, 3}}), 1);
  EXPECT_EQ(adjacent({{1, 2, 3, 4}, {0, 5, 6, 7}}), 1);
  EXPECT_EQ(adjacent({{0, 1, 2}}), 1);
}

/// Patches look for infinities and NaNs in rows and in columns: those of one row or column are enough, and of all.
RC_GTEST_PROP(GpuEmulator, EqualsExactWhereRowsOrColumnsHaveASpecialOperand, (bool rows)) {
  const auto* const name = *rc::gen::element("mma.m16n8k16.f32.f16.f16.f32", "wgmma.m64n8k32.f32.e5m2.e5m2");
  const Datapath datapath = catalogue(ArchId::sm_90, *find_instruction(name)).front().datapath;
  const Numerics& n = datapath.numerics;
  Tiles tiles = make_tiles(n.a.format, n.b.format, n.c.format, n.result, 1, kRows, kColumns,
                           static_cast<std::size_t>(datapath.tree.k));
  for (Codes* codes : {&tiles.a, &tiles.b}) {
    for (std::size_t i = 0; i < codes->size(); ++i)
      codes->set(i, encode(format(n.a.format), false, 1, 0, false, Rounding::toward_zero));
  }
  const Format& f = format(n.a.format);
  const std::size_t lines = rows ? kRows : kColumns;
  for (auto line = *rc::gen::inRange<std::size_t>(0, lines); line < lines; ++line) {
    const auto k = *rc::gen::inRange<std::size_t>(0, tiles.k);
    const std::uint64_t code = *rc::gen::element(infinity_code(f, false), infinity_code(f, true), nan_code(f));
    if (rows)
      tiles.a.set(tiles.a_index(0, line, k), code);
    else
      tiles.b.set(tiles.b_index(0, k, line), code);
  }
  expect_gpu_equals_exact(datapath, tiles);
}

/// Of zeros and few of the smallest numbers, of which mostly all products of an element have one sign.
RC_GTEST_PROP(GpuEmulator, GivesZerosTheirSigns, ()) {
  const auto random_sums = [] {
    return *rc::gen::arbitrary<bool>() ? test::random_chain_of_accumulations() : test::random_patch_datapath();
  };
  const auto takes = [](const Datapath& datapath) {
    return is_of(GpuEvaluator::accumulations, datapath) || is_of(GpuEvaluator::patches, datapath);
  };
  const Datapath datapath = test::draw_until(random_sums, takes);
  const Numerics& n = datapath.numerics;
  Tiles tiles = make_tiles(n.a.format, n.b.format, n.c.format, n.result, 1, kRows, kColumns,
                           static_cast<std::size_t>(datapath.tree.k));
  std::mt19937_64 random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()));
  const auto code = [&](FormatId id, bool negative) {
    const Format& f = format(id);
    const bool is_other = random() % 32 == 0, is_smallest = random() % 16 == 0;
    const std::uint64_t sign = std::uint64_t{1} << (f.storage_bits - 1);
    const std::uint64_t magnitude = is_smallest ? std::uint64_t{1} << f.padding_bits : 0;
    return negative != is_other ? magnitude | sign : magnitude;
  };
  bool of_rows[kRows], of_columns[kColumns];
  for (bool& negative : of_rows) negative = random() % 2 != 0;
  for (bool& negative : of_columns) negative = random() % 2 != 0;
  for (std::size_t k = 0; k < tiles.k; ++k) {
    for (std::size_t i = 0; i < kRows; ++i) tiles.a.set(tiles.a_index(0, i, k), code(n.a.format, of_rows[i]));
    for (std::size_t j = 0; j < kColumns; ++j) tiles.b.set(tiles.b_index(0, k, j), code(n.b.format, of_columns[j]));
  }
  for (std::size_t i = 0; i < kRows * kColumns; ++i) tiles.c.set(i, code(n.c.format, random() % 2 != 0));
  expect_gpu_equals_exact(datapath, tiles);
}

Datapath random_known_datapath() {
  static const std::vector<CatalogueEntry> entries = catalogue(ArchId::sm_90);
  return (*rc::gen::elementOf(entries)).datapath;
}

struct Generator {
  const char* name;
  Datapath (*draw)();
};
const Generator kGenerators[] = {
    {"the catalogue", random_known_datapath},
    {"patches", test::random_patch_datapath},
    {"integers", test::random_chain_of_integers},
    {"FMA chains", test::random_fma_chain},
    {"single precision", test::random_single_precision_datapath},
    {"exact sums", test::random_chain_of_exact_sums},
    {"accumulations", test::random_chain_of_accumulations},
};

/// And each row of the GPU's table that takes tiles is reached; tests/emu/cuda_products_test.cpp tries those of
/// matrices alone.
TEST(GpuEmulator, EqualsExactOnDatapathsOfEveryGenerator) {
  std::map<GpuEvaluator, int> taken;
  for (const Generator& generator : kGenerators) {
    EXPECT_TRUE(rc::check(generator.name, [&] {
      const Datapath datapath =
          test::draw_until(generator.draw, [](const Datapath& d) { return made_of(d).datapath.has_value(); });
      ++taken[made_of(datapath).datapath->evaluator];
      expect_gpu_equals_exact(datapath, test::random_tiles(datapath, 1, kRows, kColumns));
    }));
  }
  for (int e = static_cast<int>(GpuEvaluator::fma_chain); e <= static_cast<int>(GpuEvaluator::patches); ++e)
    EXPECT_GT(taken[static_cast<GpuEvaluator>(e)], 5) << e;
}

}  // namespace
}  // namespace tcnum
