// Blocks of products, in any order, are found by the questions made for it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

#include "src/fit/evidence.hpp"
#include "src/fit/space.hpp"
#include "src/oracles/datapath_oracle.hpp"

namespace tcnum {
namespace {

Blocks shuffled_blocks(int k, int size, std::mt19937_64& random) {
  std::vector<int> order(static_cast<std::size_t>(k));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return blocks_of(order, size);
}

/// What is found of a datapath with these blocks, the other properties as usual.
Blocks found_of(const Instruction& in, const Blocks& blocks, Combination combination) {
  Space space(in);
  space.add_blocks(blocks, {ProductOrder::Kind::found});
  const auto structure = std::ranges::find_if(
      space.structures(), [&](const Structure& s) { return s.combination == combination && s.blocks == blocks; });
  if (structure == space.structures().end()) throw std::logic_error("the space has no such structure");
  Choice choice{};
  Space::set(choice, Property::structure, static_cast<int>(structure - space.structures().begin()));
  space.put<Property::fraction_bits>(choice, 25);
  space.put<Property::overflow>(choice, Overflow::max_finite);
  DatapathOracle oracle(space.datapath(choice), in, "hidden", 1);
  Evidence evidence(in);
  Asker asker(evidence, &oracle);
  return find_blocks(asker);
}

class BlockOrder : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(BlockOrder, IsFound) {
  const auto [name, size] = GetParam();
  const Instruction& in = *find_instruction(name);
  std::mt19937_64 random(1);
  constexpr int kDraws = 8;
  for (int n = 0; n < kDraws; ++n) {
    const Blocks blocks = shuffled_blocks(in.products(), size, random);
    EXPECT_EQ(found_of(in, blocks, Combination::chain), blocks);
    if (size == 1) continue;
    EXPECT_EQ(found_of(in, blocks, Combination::adds), blocks) << "by adds";
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, BlockOrder,
                         testing::Combine(testing::Values("mma.m8n8k4.f32.f16.f16.f32", "mma.m16n8k8.f32.f16.f16.f32",
                                                          "mma.m16n8k16.f32.bf16.bf16.f32"),
                                          testing::Values(1, 2)),
                         [](const auto& drawn) {
                           std::string text =
                               fmt::format("{}_in_{}s", std::get<0>(drawn.param), std::get<1>(drawn.param));
                           std::ranges::replace(text, '.', '_');
                           return text;
                         });

/// With c at the end, nothing tells its products apart; that of the first product, which comes last here, no more. Only
/// one of those that come before it does.
TEST(BlockOrder, IsFoundFromTheProductThatComesFirst) {
  const Instruction& in = *find_instruction("mma.m16n8k8.f32.f16.f16.f32");
  for (const int size : {1, 2}) {
    std::vector<int> order(static_cast<std::size_t>(in.products()));
    std::iota(order.rbegin(), order.rend(), 0);
    Blocks blocks = blocks_of(order, size);
    for (auto& block : blocks) std::ranges::sort(block);
    if (size == 1) std::swap(blocks[0], blocks[1]);  // they add up either way, and are found in ascending order
    EXPECT_EQ(found_of(in, blocks, Combination::chain_then_c), blocks);
  }
}

TEST(BlockOrder, OfOneBlockIsNone) {
  const Instruction& in = *find_instruction("mma.m16n8k8.f32.f16.f16.f32");
  std::mt19937_64 random(1);
  EXPECT_TRUE(found_of(in, shuffled_blocks(in.products(), in.products(), random), Combination::chain).empty());
}

TEST(Structures, OrdersHaveEveryProductOnce) {
  for (int k = 1; k <= 9; ++k) {
    for (const auto& [order, products] : product_orders(k)) {
      std::vector<int> sorted = products, all(static_cast<std::size_t>(k));
      std::ranges::sort(sorted);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(sorted, all) << text_of(order) << " of " << k;
    }
  }
}

/// Also of an odd number of blocks, of which neighbours are added first.
TEST(Structures, TakeEveryProductAndResultOnce) {
  using enum Combination;
  constexpr int kMostBlocks = 9;
  for (const Combination combination : {chain, chain_then_c, adds, adds_then_c, pairs, tree_then_c}) {
    for (int blocks = 1; blocks <= kMostBlocks; ++blocks) {
      for (const int size : {1, 2}) {
        std::vector<int> order(static_cast<std::size_t>(blocks * size));
        std::iota(order.begin(), order.end(), 0);
        const Tree tree = make_structure(combination, blocks_of(order, size), {}).tree;
        std::vector<int> products(order.size()), results(tree.nodes.size());
        int accumulators = 0;
        for (const Node& node : tree.nodes) {
          for (const Term& term : node.terms) {
            if (term.kind == Term::Kind::product) ++products.at(static_cast<std::size_t>(term.index));
            if (term.kind == Term::Kind::node) ++results.at(static_cast<std::size_t>(term.index));
            if (term.kind == Term::Kind::accumulator) ++accumulators;
          }
        }
        SCOPED_TRACE(fmt::format("combination {}, {} blocks of {}", static_cast<int>(combination), blocks, size));
        EXPECT_EQ(products, std::vector<int>(products.size(), 1));
        EXPECT_EQ(accumulators, 1);
        EXPECT_EQ(results.back(), 0) << "of the root";
        results.pop_back();
        EXPECT_EQ(results, std::vector<int>(results.size(), 1));
      }
    }
  }
}

}  // namespace
}  // namespace tcnum
