// What the catalogue says: each row is a datapath of its instructions, and no account comes first that is refuted.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>

#include "generators.hpp"
#include "src/catalogue/description.hpp"
#include "tcnum/catalogue.hpp"
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

TEST(Description, EveryDocumentedDatapathMayBeARow) {
  const auto all = documented();
  EXPECT_GT(all.size(), 10u);
  EXPECT_EQ(compiled_descriptions().size(), all.size());
  for (const auto& [name, datapath] : all) {
    SCOPED_TRACE(name);
    EXPECT_EQ(build(FullDescription{name}, instruction_of(datapath, datapath.tree.k)), datapath);
    const Datapath twice = build(FullDescription{name}, instruction_of(datapath, 2 * datapath.tree.k));
    EXPECT_NO_THROW(validate(twice));
    EXPECT_EQ(twice.tree.k, 2 * datapath.tree.k);
  }
}

TEST(Description, TakesTheFormatsOfTheInstruction) {
  Instruction in = instruction_of(documented().at("cdna3-fp16"), 16);
  in.a = in.b = FormatId::bf16;
  const Datapath datapath = build(FullDescription{"cdna3-fp16"}, in);
  EXPECT_EQ(datapath.numerics.a.format, FormatId::bf16);
  EXPECT_EQ(datapath.numerics.b.format, FormatId::bf16);
  EXPECT_NO_THROW(validate(datapath));
}

RC_GTEST_PROP(Description, ALongerInstructionIsAChain, ()) {
  const auto all = documented();
  std::vector<std::string> names;
  for (const auto& [name, datapath] : all) {
    if (!datapath.numerics.scales) names.push_back(name);
  }
  const std::string name = *rc::gen::elementOf(names);
  const Datapath& step = all.at(name);
  const auto k = static_cast<std::size_t>(step.tree.k);
  const int times = *rc::gen::inRange(2, 5);
  const Datapath chain = build(FullDescription{name}, instruction_of(step, step.tree.k * times));
  RC_PRE(step.numerics.c.format == step.numerics.result);
  const Problem problem = problem_at(test::random_tiles(chain, 1, 1, 1), 0);
  std::uint64_t sum = problem.c;
  for (std::size_t i = 0; i < static_cast<std::size_t>(times); ++i) {
    sum = emulate_exact(step, std::span(problem.a).subspan(i * k, k), std::span(problem.b).subspan(i * k, k), sum);
  }
  RC_ASSERT(emulate_exact(chain, problem.a, problem.b, problem.c) == sum);
}

TEST(Description, OfOtherInstructionsIsRefused) {
  const Instruction in = instruction_of(documented().at("cdna3-fp16"), 16);
  EXPECT_THROW(build(FullDescription{"cdna3"}, in), std::logic_error);
  Instruction shorter = in;
  shorter.k = 8;
  EXPECT_THROW(build(FullDescription{"cdna3-fp16"}, shorter), std::logic_error);
  Instruction narrower = in;
  narrower.d = FormatId::fp16;
  EXPECT_THROW(build(FullDescription{"cdna3-fp16"}, narrower), std::logic_error);
  EXPECT_THROW(build(BlockSums{.block_k = 3}, in), std::logic_error);
  Instruction odd = in;
  odd.k = 6;
  EXPECT_THROW(build(BlockSums{.shape = BlockShape::fp16_halves_then_c}, odd), std::logic_error);
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
