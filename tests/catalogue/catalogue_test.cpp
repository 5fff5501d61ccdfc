// What the catalogue says: each row is a datapath of its instructions, and no account comes first that is refuted.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>

#include "generators.hpp"
#include "src/catalogue/description.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/diff.hpp"
#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

namespace fs = std::filesystem;

TEST(Catalogue, EveryEntryIsAValidDatapathOfItsInstruction) {
  std::size_t entries = 0;
  for (const Arch& arch : kArchs) {
    for (const CatalogueEntry& entry : catalogue(arch.id)) {
      SCOPED_TRACE(fmt::format("{} {} {}", arch.name, entry.instruction->name(), entry.account));
      ++entries;
      EXPECT_NO_THROW(validate(entry.datapath));
      const Numerics& n = entry.datapath.numerics;
      EXPECT_EQ(entry.datapath.tree.k, entry.instruction->products());
      EXPECT_EQ(n.a.format, entry.instruction->a);
      EXPECT_EQ(n.b.format, entry.instruction->b);
      EXPECT_EQ(n.c.format, entry.instruction->c);
      EXPECT_EQ(n.result, entry.instruction->d);
      EXPECT_FALSE(entry.origin.empty());
    }
  }
  EXPECT_GT(entries, 300u);
}

TEST(Catalogue, AccountsOfAnInstructionHaveNamesOfTheirOwnAndRefutedOnesComeLast) {
  for (const Arch& arch : kArchs) {
    for (const Instruction* instruction : instructions_of(arch.id)) {
      SCOPED_TRACE(fmt::format("{} {}", arch.name, instruction->name()));
      std::set<std::string> names;
      bool refuted = false;
      for (const CatalogueEntry& entry : catalogue(arch.id, *instruction)) {
        EXPECT_TRUE(names.insert(entry.account).second) << entry.account;
        EXPECT_FALSE(refuted && entry.refuted_by.empty()) << entry.account;
        refuted = !entry.refuted_by.empty();
        EXPECT_FALSE(refuted && (entry.fitted || names.size() == 1)) << entry.account;
      }
    }
  }
}

TEST(Catalogue, SaysHowWellEachAccountIsKnown) {
  std::map<Standing, std::size_t> count;
  for (const Arch& arch : kArchs) {
    for (const CatalogueEntry& entry : catalogue(arch.id)) {
      SCOPED_TRACE(fmt::format("{} {} {}", arch.name, entry.instruction->name(), entry.account));
      ++count[entry.standing];
      EXPECT_EQ(entry.standing == Standing::measured, entry.fitted);
      // Of sm_90 the recorded answers are those to explain, which works_test has, and others than what was measured.
      const bool recorded = arch.id == ArchId::sm_90;
      EXPECT_TRUE(recorded || entry.standing != Standing::measured);
      EXPECT_EQ(entry.answers != 0, entry.standing == Standing::checked && !recorded);
      EXPECT_EQ(entry.answers != 0, !entry.answered_by.empty());
      EXPECT_TRUE(!recorded || (entry.standing == Standing::published) == !entry.refuted_by.empty());
      EXPECT_EQ(entry.standing_text().empty(), entry.fitted);
      EXPECT_FALSE(entry.standing == Standing::checked && !entry.refuted_by.empty());
    }
  }
  EXPECT_GE(count[Standing::checked], published_answers().size());
  EXPECT_GT(count[Standing::published], 100u);
  EXPECT_GT(count[Standing::measured], 100u);
}

/// Table 8 of MMA-Sim's paper: c = 2^23 and products of −2^23, −0.5, −0.25 and −0.125 in the first slots, which every
/// architecture adds to another number.
TEST(Catalogue, GivesThePublishedSumsOfOneProblemOnEveryArchitecture) {
  struct Case {
    ArchId arch;
    const char* name;
    double sum;
  };
  for (const Case& each : {Case{ArchId::sm_70, "mma.m8n8k4.f32.f16.f16.f32", 0},
                           Case{ArchId::sm_75, "mma.m16n8k8.f32.f16.f16.f32", -0.5},
                           Case{ArchId::sm_80, "mma.m16n8k16.f32.bf16.bf16.f32", -0.5},
                           Case{ArchId::sm_87, "mma.m16n8k4.f32.tf32.tf32.f32", -0.5},
                           Case{ArchId::sm_89, "mma.m16n8k32.f32.e5m2.e5m2.f32", 0},
                           Case{ArchId::sm_90, "wgmma.m64n8k16.f32.f16.f16", -0.75},
                           Case{ArchId::sm_90, "wgmma.m64n8k32.f32.e5m2.e5m2", 0},
                           Case{ArchId::sm_100, "tcgen05.mma.m128n64k16.f32.f16.f16", -0.75},
                           Case{ArchId::sm_103, "tcgen05.mma.m64n8k32.f32.e5m2.e5m2", -0.75},
                           Case{ArchId::sm_120, "mma.m16n8k32.mxf8f6f4.1x.f32.e5m2.e5m2.f32.ue8m0", -0.75},
                           Case{ArchId::sm_80, "mma.m8n8k4.f64.f64.f64.f64", -0.875},
                           Case{ArchId::gfx908, "v_mfma_f32_16x16x8_bf16", -0.875},
                           Case{ArchId::gfx908, "v_mfma_f32_16x16x16_f16", -0.875},
                           Case{ArchId::gfx90a, "v_mfma_f32_16x16x8bf16", -0.375},
                           Case{ArchId::gfx90a, "v_mfma_f32_16x16x16bf16_1k", 0},
                           Case{ArchId::gfx90a, "v_mfma_f32_32x32x8f16", 0},
                           Case{ArchId::gfx942, "v_mfma_f32_32x32x8_f16", -0.5},
                           Case{ArchId::gfx942, "v_mfma_f32_4x4x4_16b_bf16", -0.5},
                           Case{ArchId::gfx942, "v_mfma_f32_16x16x32_bf8_bf8", -1},
                           Case{ArchId::gfx942, "v_mfma_f32_16x16x4_f32", -0.875}}) {
    SCOPED_TRACE(each.name);
    const Instruction* const in = find_instruction(each.name);
    ASSERT_NE(in, nullptr);
    const std::vector<CatalogueEntry> entries = catalogue(each.arch, *in);
    ASSERT_FALSE(entries.empty());
    const auto code = [](FormatId id, int eighths) {
      return encode(format(id), eighths < 0, static_cast<std::uint64_t>(std::abs(eighths)), -3, false,
                    Rounding::toward_zero);
    };
    Problem problem{{}, {}, code(in->c, 8 << 23)};
    for (const int factor : {-8 << 13, -4, -2, -1}) problem.a.push_back(code(in->a, factor));
    for (const int factor : {8 << 10, 8, 8, 8}) problem.b.push_back(code(in->b, factor));
    problem.a.resize(static_cast<std::size_t>(in->products()));
    problem.b.resize(problem.a.size());
    if (in->scaled()) problem.sa = problem.sb = {format(in->scales.format).code_mask() >> 1};  // 1
    const std::uint64_t expected = code(in->d, static_cast<int>(each.sum * 8));
    EXPECT_EQ(emulate_exact(entries[0].datapath, problem.a, problem.b, problem.c, problem.sa, problem.sb), expected);
  }
}

/// What docs/datapath.md describes is what the catalogue has; names of units and of the order of nodes aside.
TEST(Catalogue, HasTheDocumentedBlockScales) {
  for (const auto& [file, name] :
       {std::pair{"blackwell-nvfp4", "tcgen05.mma.m128n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.ue4m3"},
        {"blackwell-mxf8f6f4", "tcgen05.mma.m128n8k32.mxf8f6f4.1x.f32.e4m3.e4m3.ue8m0"}}) {
    const Datapath documented = read_datapath(fmt::format("{}/docs/datapaths/{}.json", TCNUM_SOURCE_DIR, file)),
                   catalogued = catalogue(ArchId::sm_100, *find_instruction(name)).at(0).datapath;
    EXPECT_TRUE(diff(documented, catalogued, {.tiles = 4}).equal) << file;
  }
}

/// The same of nvf4, whose operands are too small: the scales bring the rest.
TEST(Catalogue, AlignsBlocksOfFp4ByTheirScalesAlone) {
  const Instruction& in = *find_instruction("tcgen05.mma.m128n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.ue8m0");
  const Datapath datapath = catalogue(ArchId::sm_100, in).at(0).datapath;
  constexpr std::uint64_t kHalf = 1, kOne = 2, kFour = 6, kMinus = 8;
  Problem p{std::vector<std::uint64_t>(64), std::vector<std::uint64_t>(64), 0x4b000000};
  p.a[0] = kMinus | kFour, p.b[0] = kFour;
  p.a[16] = kMinus | kOne, p.b[16] = kOne;
  p.a[17] = kMinus | kOne, p.b[17] = kHalf;
  p.a[18] = kMinus | kHalf, p.b[18] = kHalf;
  p.sa = {127 + 11, 127, 127, 127};
  p.sb = {127 + 8, 127 - 1, 127, 127};
  EXPECT_EQ(emulate_exact(datapath, p.a, p.b, p.c, p.sa, p.sb), 0xbf600000u) << "-0.875";
}

// --- Descriptions -----------------------------------------------------------------------------------------------

/// An instruction of the formats that a datapath has, which no table needs to know.
Instruction instruction_of(const Datapath& datapath, int k) {
  const Numerics& n = datapath.numerics;
  return {InstructionKind::mma, 16, 16, k, n.result, n.a.format, n.b.format, n.c.format, {}};
}

std::map<std::string, Datapath> documented() {
  std::map<std::string, Datapath> all;
  for (const auto& file : fs::directory_iterator(TCNUM_SOURCE_DIR "/docs/datapaths")) {
    all.emplace(file.path().stem().string(), read_datapath(file.path().string()));
  }
  return all;
}

/// What the catalogue says in short is what the documents say at length.
RC_GTEST_PROP(Description, OfAmdInShortIsTheDocumentedOne, ()) {
  const auto all = documented();
  struct Pair {
    const char* name;
    Description in_short;
  };
  const Pair pair = *rc::gen::elementOf(std::vector<Pair>{
      {"cdna3-fp16", CutSumOntoC{.block_k = 8}}, {"cdna3-fp8", CutSumOntoC{.block_k = 16, .by_parity = true}}});
  const Datapath& step = all.at(pair.name);
  const Datapath in_short = build(pair.in_short, instruction_of(step, step.tree.k));
  const Problem problem = problem_at(test::random_tiles(step, 1, 1, 1), 0);
  RC_ASSERT(emulate_exact(in_short, problem.a, problem.b, problem.c) ==
            emulate_exact(step, problem.a, problem.b, problem.c));
}

/// But for the sign of some zeros, in which the accounts of CDNA1 and CDNA2 differ.
RC_GTEST_PROP(Description, OfAmdInShortIsTheDocumentedOneButForZeros, ()) {
  const auto all = documented();
  const bool first = *rc::gen::arbitrary<bool>();
  const Datapath& step = all.at(first ? "cdna1-fp16" : "cdna2-fp16");
  const Instruction* const in = find_instruction("v_mfma_f32_32x32x8_f16");
  const Datapath in_short = catalogue(first ? ArchId::gfx908 : ArchId::gfx90a, *in).at(0).datapath;
  const Problem problem = problem_at(test::random_tiles(step, 1, 1, 1), 0);
  const std::uint64_t one = emulate_exact(in_short, problem.a, problem.b, problem.c);
  const std::uint64_t other = emulate_exact(step, problem.a, problem.b, problem.c);
  RC_ASSERT(one == other || (one << 1 & 0xffff'ffff) == 0);
}

TEST(Description, OfPairsOntoCFlushesAndForgetsTheSignOfZerosOfC) {
  const Instruction& in = *find_instruction("v_mfma_f32_32x32x4_2b_f16");
  const Datapath datapath = catalogue(ArchId::gfx90a, in).at(0).datapath;
  constexpr std::uint64_t kMinusZero = 0x8000'0000;
  const auto sum = [&](const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b, std::uint64_t c) {
    return emulate_exact(datapath, a, b, c);
  };
  const std::vector<std::uint64_t> zeros(4), minus_zeros(4, 0x8000), ones(4, 0x3c00);
  EXPECT_EQ(sum(minus_zeros, ones, kMinusZero), 0u);
  EXPECT_EQ(sum({0x03ff, 0, 0, 0}, ones, 0), 0u) << "a subnormal operand";
  EXPECT_EQ(sum(zeros, ones, 0x0040'0000), 0u) << "a subnormal c";
  EXPECT_EQ(sum({0x0400, 0, 0, 0}, ones, 0), 0x3880'0000u);
}

TEST(Description, OfBlocksSaysWhichProductsAreSummedTogether) {
  using enum Term::Kind;
  const Instruction in{InstructionKind::mma, 16, 8, 4, FormatId::fp32, FormatId::fp16, FormatId::fp16,
                       FormatId::fp32,       {}};
  const Term c{accumulator, 0}, p0{product, 0}, p1{product, 1}, p2{product, 2}, p3{product, 3}, n0{node, 0},
      n1{node, 1}, n2{node, 2};
  const auto tree = [&](BlockShape shape, int block_k) {
    return build(BlockSums{.shape = shape, .block_k = block_k, .fraction_bits = 24}, in).tree.nodes;
  };
  using Nodes = std::vector<Node>;
  EXPECT_EQ(tree(BlockShape::chain, kAllProducts), (Nodes{{0, {c, p0, p1, p2, p3}}}));
  EXPECT_EQ(tree(BlockShape::chain, 2), (Nodes{{0, {c, p0, p1}}, {0, {n0, p2, p3}}}));
  EXPECT_EQ(tree(BlockShape::chain_then_c, 2), (Nodes{{1, {p0, p1}}, {1, {n0, p2, p3}}, {0, {c, n1}}}));
  EXPECT_EQ(tree(BlockShape::sums_onto_c, 2), (Nodes{{1, {p0, p1}}, {1, {p2, p3}}, {0, {c, n0}}, {0, {n2, n1}}}));
  Instruction eight = in;
  eight.k = 8;
  const Datapath halves = build(BlockSums{.shape = BlockShape::fp16_halves_then_c}, eight);
  EXPECT_EQ(halves.tree.nodes[0].terms, (std::vector<Term>{p0, p1, {product, 4}, {product, 5}}));
}

}  // namespace
}  // namespace tcnum
