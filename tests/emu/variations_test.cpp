// Whole products by datapaths that differ in one rule from one of the catalogue's, such as users write who know one,
// equal those of the exact emulator.
// Labels: long
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "emu/cpu/matrix_product.hpp"
#include "product_example.hpp"
#include "reference/variations.hpp"
#include "seed_of_run.hpp"

namespace tcnum {
namespace {

TEST(Variations, OfTheCatalogueAreWhatTheDefinitionSays) {
  constexpr std::size_t kOneIn = 8;          // which takes seconds
  constexpr std::size_t kMostProducts = 64;  // of a link: others are the same with more of them
  const std::vector<test::Variation> all = test::variations_of_catalogue();
  std::mt19937_64 random(1);
  std::size_t compared = 0;
  for (std::size_t at = test::seed_of_run() % kOneIn; at < all.size(); at += kOneIn) {
    const Datapath& datapath = all[at].datapath;
    const Numerics& n = datapath.numerics;
    const auto depth = static_cast<std::size_t>(datapath.tree.k);
    if (depth > kMostProducts) continue;
    const auto operands = static_cast<test::Operands>(at / kOneIn % 4);
    const std::size_t links = n.c.format == n.result ? 2 : 1;
    const test::Example x = test::draw_example(random, datapath, {9, 33, links * depth}, operands);
    const MatrixProduct product(datapath, {n.a.format, n.b.format, n.c.format, n.result});
    const auto multiply = [&](const auto&... arguments) { product.multiply(arguments...); };
    EXPECT_EQ(test::first_difference(datapath, x, 1, "CPU", multiply), "") << all[at].name;
    ++compared;
  }
  EXPECT_GE(compared, 1500u);
}

}  // namespace
}  // namespace tcnum
