// Products of whole matrices by long panels, which take any datapath, equal chains of the exact emulator, for every CPU
// that Highway compiled them for.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "capped_products.hpp"
#include "emu/cpu/panels/long_kernels.hpp"
#include "generators.hpp"
#include "panel_targets.hpp"
#include "product_example.hpp"
#include "reference/any_datapath.hpp"

namespace tcnum {
namespace {

using test::draw_example, test::Example, test::Operands;

std::string difference(const Datapath& datapath, const Example& x, unsigned threads) {
  const auto plan = panels::make_long_plan(datapath.numerics, SortedTree(datapath.tree));
  return test::first_difference(datapath, x, threads, panels::long_kernels()->name,
                                [&](const auto&... operands) { panels::multiply(plan, operands...); });
}

class LongPanels : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    ASSERT_NE(panels::long_kernels(), nullptr);
    ASSERT_STREQ(panels::long_kernels()->name, hwy::TargetName(GetParam()));
  }

 private:
  const test::ChosenTarget target_{GetParam()};
};

/// Sums of scaled sums of any operands, which are rounded in any way or aligned by their scales alone.
Datapath random_scaled_sums_of_any_operands() {
  Datapath d = test::random_scaled_sums_datapath();
  d.numerics.a = test::random_operand(*rc::gen::element(FormatId::fp16, FormatId::fp8e4m3, FormatId::fp32));
  Unit& scaled = d.numerics.units[0];
  if (!scaled.scale_exponents_alone) scaled.result = {test::random_step(FormatId::fp32)};
  d.numerics.units[1].zero_exponent = test::random_zero_exponent(FormatId::fp32);
  return d;
}

Datapath far_from_hardware() { return test::any_floating_datapath(false); }
Datapath far_from_hardware_with_scales() { return test::any_floating_datapath(true); }

struct Kind {
  const char* name;
  Datapath (*draw)();
};
constexpr Kind kKinds[] = {
    {"any", test::random_datapath},
    {"block scales", test::random_scaled_datapath},
    {"scaled sums", random_scaled_sums_of_any_operands},
    {"integers", test::random_integer_datapath},
    {"sums that go on unrounded", test::random_tree_of_sums},
    {"far from all hardware", far_from_hardware},
    {"far from all hardware, with block scales", far_from_hardware_with_scales},
};

TEST_P(LongPanels, EqualTheExactEmulatorOnRandomDatapaths) {
  for (const Kind& kind : kKinds) {
    EXPECT_TRUE(rc::check(kind.name, [&] {
      const Datapath datapath = kind.draw();
      std::mt19937_64 random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()));
      const auto operands = static_cast<Operands>(*rc::gen::inRange(0, 5));
      const auto depth = static_cast<std::size_t>(datapath.tree.k);
      const bool chained = datapath.numerics.c.format == datapath.numerics.result;
      const std::size_t links = chained ? *rc::gen::element<std::size_t>(1, 2, 5) : 1;
      const ProductShape shape{*rc::gen::element<std::size_t>(1, 2), *rc::gen::element<std::size_t>(1, 9, 65),
                               depth * links - *rc::gen::inRange<std::size_t>(0, depth)};
      const std::string found = difference(datapath, draw_example(random, datapath, shape, operands), 1);
      if (!found.empty()) RC_FAIL(found);
    }));
  }
}

TEST_P(LongPanels, KeepProductsThatAreSmallerThanTheirOperandsSay) {
  const Datapath datapath = test::datapath_of_capped_products();
  std::mt19937_64 random(5);
  for (const Operands operands : {Operands::numbers, Operands::edges})
    EXPECT_EQ(difference(datapath, draw_example(random, datapath, {5, 67, 4}, operands), 1), "");
}

/// Products of about 1, whose nearest doubles are on the other side of what they are cut at, or rounded to.
TEST_P(LongPanels, TellWhatNoDoubleTells) {
  Datapath d = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/hopper-fp16.json");
  Numerics& n = d.numerics;
  n.a.format = n.b.format = FormatId::fp64;
  n.nan.propagate = false;
  d.tree.k = 1;
  d.tree.nodes = {Node{0, {{Term::Kind::accumulator, 0}, {Term::Kind::product, 0}}}};
  constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;
  Tiles tile = make_tiles(n.a.format, n.b.format, n.c.format, n.result, 1, 9, 65, 1);
  for (std::size_t i = 0; i < tile.a.size(); ++i) tile.a.set(i, kOne + i);
  for (std::size_t j = 0; j < tile.b.size(); ++j) tile.b.set(j, kOne - j / 3 + j % 3);
  for (std::size_t i = 0; i < tile.c.size(); ++i) tile.c.set(i, i % 4 == 0 ? 0x3f800000 : i % 4 == 1 ? 0xbf800000 : 0);
  for (const Rounding mode :
       {Rounding::toward_zero, Rounding::nearest_even, Rounding::nearest_away, Rounding::up, Rounding::down}) {
    for (const int bits : {20, kExact}) {
      n.units[0].fraction_bits = bits;
      n.units[0].align_rounding = mode;
      n.units[0].result = {round_to(format(n.result), mode)};
      const auto plan = panels::make_long_plan(n, SortedTree(d.tree));
      EXPECT_TRUE(plan.has_brackets);
      EXPECT_EQ(difference(d, test::example_of(d, tile), 1), "") << bits << " bits, " << static_cast<int>(mode);
    }
  }
}

/// Of formats that have none.
TEST_P(LongPanels, TakeDatapathsWhoseNaNsWouldComeBack) {
  Datapath datapath = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/ampere-s8.json");
  datapath.numerics.nan.propagate = true;
  std::mt19937_64 random(3);
  EXPECT_EQ(difference(datapath, draw_example(random, datapath, {3, 65, 64}, Operands::codes), 1), "");
}

TEST_P(LongPanels, GiveTheSameBitsOnManyThreads) {
  std::mt19937_64 random(2);
  for (const char* name : {"hopper-fp16", "blackwell-nvfp4", "blackwell-mxf8f6f4", "ampere-s8", "fp64-fma-chain"}) {
    const Datapath datapath = read_datapath(fmt::format("{}/docs/datapaths/{}.json", TCNUM_SOURCE_DIR, name));
    // More products than are packed at once, in more parts than one.
    const Example x = draw_example(random, datapath, {34, 70, 150}, Operands::edges);
    EXPECT_EQ(difference(datapath, x, 3), "") << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, LongPanels, testing::ValuesIn(test::panel_targets()),
                         [](const auto& target) { return std::string(hwy::TargetName(target.param)); });

}  // namespace
}  // namespace tcnum
