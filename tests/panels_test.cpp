// Products of whole matrices by panels equal chains of the exact emulator, for every CPU that Highway compiled them
// for.
// Labels: sanitized
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "emu/cpu/panels/kernels.hpp"
#include "generators.hpp"
#include "panel_targets.hpp"
#include "product_example.hpp"
#include "sanitizers.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

using test::compute_exactly, test::draw_example, test::Example, test::Operands;

std::string first_difference(const Datapath& datapath, const Example& x, unsigned threads) {
  const WideProduct product(datapath.numerics, SortedTree(datapath.tree));
  return test::first_difference(datapath, x, threads, panels::kernels()->name,
                                [&](const auto&... operands) { product.multiply(operands...); });
}

class Panels : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    ASSERT_NE(panels::kernels(), nullptr);
    ASSERT_STREQ(panels::kernels()->name, hwy::TargetName(GetParam()));
  }

 private:
  const test::ChosenTarget target_{GetParam()};
};

bool is_taken(const Datapath& d) { return WideProduct(d.numerics, SortedTree(d.tree)).is_taken(); }

TEST_P(Panels, EqualTheExactEmulatorOnRandomDatapaths) {
  EXPECT_TRUE(rc::check([&] {
    const auto any =
        *rc::gen::element(test::random_chain_of_integers, test::random_patch_datapath, test::random_patch_datapath,
                          test::random_scaled_patch_datapath, test::random_scaled_sums_datapath);
    const Datapath datapath = test::draw_until(any, is_taken);
    std::mt19937_64 random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()));
    const auto operands = static_cast<Operands>(*rc::gen::inRange(0, 4));
    const auto depth = static_cast<std::size_t>(datapath.tree.k);
    const ProductShape shape{
        *rc::gen::element<std::size_t>(1, 2, 3), *rc::gen::element<std::size_t>(1, 9, 65),
        depth * *rc::gen::element<std::size_t>(1, 2, 5) - *rc::gen::inRange<std::size_t>(0, depth)};
    const std::string difference = first_difference(datapath, draw_example(random, datapath, shape, operands), 1);
    if (!difference.empty()) RC_FAIL(difference);
  }));
}

TEST(PanelsOfAllTargets, AreBuilt) {
  const std::string left_out = test::targets_left_out();
  if (!left_out.empty()) GTEST_SKIP() << "this build (TCNUM_CPU_TARGETS) leaves out kernels for" << left_out;
  EXPECT_NE(panels::compiled_targets() & test::kPanelTargets, 0);
}

/// As where a program is started that was built for another machine alone.
TEST(PanelsOfAllTargets, AreNotNeeded) {
  const std::int64_t others = panels::compiled_targets() & ~test::kPanelTargets;
  if (others == 0) GTEST_SKIP() << "panels are compiled for the compiler's baseline itself";
  const Datapath datapath =
      catalogue(ArchId::sm_90, *find_instruction("mma.m16n8k16.f32.f16.f16.f32")).front().datapath;
  std::mt19937_64 random(1);
  const Example example = draw_example(random, datapath, {3, 65, 48}, Operands::edges);
  const test::ChosenTarget baseline(others);
  ASSERT_EQ(panels::kernels(), nullptr);
  EXPECT_EQ(test::first_difference(
                datapath, example, 1, "the baseline",
                [&](const auto&... operands) { MatrixProduct(datapath, example.formats).multiply(operands...); }),
            "");
}

/// Of all targets at once: the exact emulator takes longest by far.
TEST(PanelsOfAllTargets, EqualTheExactEmulatorOnTheCatalogue) {
  const std::vector<std::int64_t> targets = test::panel_targets();
  std::mt19937_64 random(1);
  std::vector<Datapath> seen;
  for (const Arch& of : kArchs) {
    for (const Instruction* in : instructions_of(of.id)) {
      for (const CatalogueEntry& entry : catalogue(of.id, *in)) {
        const Datapath& datapath = entry.datapath;
        for (const std::int64_t target : targets) {
          const test::ChosenTarget chosen(target);
          ASSERT_NE(panels::kernels(), nullptr);
          ASSERT_TRUE(is_taken(datapath)) << in->name();
          // Block scales are for the fast panels.
          if (datapath.numerics.scales) {
            EXPECT_EQ(panels::why_no_panels(datapath.numerics, SortedTree(datapath.tree)), "") << in->name();
          }
        }
        if (std::ranges::find(seen, datapath) != seen.end()) continue;
        seen.push_back(datapath);
        if (test::kAddressesAreWatched && seen.size() % 4 != 0) continue;
        const bool chained = datapath.numerics.c.format == datapath.numerics.result;
        const std::size_t k = static_cast<std::size_t>(datapath.tree.k) * (chained ? 3 : 1);
        for (const Operands operands : {Operands::numbers, Operands::edges, Operands::codes, Operands::one_nan}) {
          const std::size_t rows = test::kAddressesAreWatched ? 1 : 3;  // with sanitizers, three take a minute
          const Example example = draw_example(random, datapath, {rows, 65, k}, operands);
          for (const std::int64_t target : targets) {
            const test::ChosenTarget chosen(target);
            ASSERT_STREQ(panels::kernels()->name, hwy::TargetName(target));
            EXPECT_EQ(first_difference(datapath, example, 1), "") << in->name();
          }
        }
      }
    }
  }
  EXPECT_GT(seen.size(), 20u);
}

/// Rows go on with infinities and NaNs among their results, past the products that are packed at once.
TEST_P(Panels, GoOnAfterInfinitiesAndNaNs) {
  std::mt19937_64 random(4);
  const auto put = [&](Codes& codes, FormatId id, std::size_t at) {
    const Format& f = format(id);
    if (f.non_finite == NonFinite::none) return;
    const bool infinite = f.has_infinity() && random() % 2 == 0;
    codes.set(at, infinite ? infinity_code(f, random() % 2 == 0) : nan_code(f));
  };
  for (const char* name : {"ampere-fp16", "blackwell-mxf8f6f4", "cdna3-fp16", "cdna3-fp8", "hopper-fp16",
                           "hopper-fp8-e8m13", "volta-fp16-fused", "volta-fp16-to-fp16"}) {
    const Datapath datapath = read_datapath(fmt::format("{}/docs/datapaths/{}.json", TCNUM_SOURCE_DIR, name));
    const Numerics& n = datapath.numerics;
    const ProductShape shape{test::kAddressesAreWatched ? 1u : 5u, 67, 320};
    Example x = draw_example(random, datapath, shape, Operands::numbers);
    for (std::size_t i = 0; i < 4; ++i) put(x.b, n.b.format, random() % x.b.size());
    put(x.a, n.a.format, random() % x.a.size());
    put(x.c, n.c.format, random() % x.c.size());
    compute_exactly(datapath, x);
    EXPECT_EQ(first_difference(datapath, x, 1), "") << name;
  }
}

/// Numbers whose exponents are spread over so many below a highest one, mostly at its ends, with zeros between them.
Codes spread_codes(std::mt19937_64& random, const Format& f, std::size_t count, int highest, int span) {
  Codes codes(f.storage_bytes(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const int inside = static_cast<int>(random() % static_cast<std::uint64_t>(span + 1));
    const int below = random() % 3 == 0 ? inside : random() % 4 == 0 ? 0 : span;
    const std::uint64_t sign = random() % 2 << (f.storage_bits - 1);
    const std::uint64_t fraction = random() & ((std::uint64_t{1} << f.fraction_bits) - 1);
    const auto field = static_cast<std::uint64_t>(highest - below + f.bias);
    const std::uint64_t number = (field << f.fraction_bits | fraction) << f.padding_bits;
    codes.set(i, random() % 4 != 0 ? sign : sign | number);
  }
  return codes;
}

/// Exponents in 8 bits (docs/panels.md) at and beyond the ends of what these hold.
TEST_P(Panels, EqualTheExactEmulatorWhereExponentsAreFarApart) {
  std::mt19937_64 random(5);
  for (const char* name : {"wgmma.m64n8k16.f32.bf16.bf16", "wgmma.m64n8k8.f32.tf32.tf32"}) {
    const Datapath datapath = catalogue(ArchId::sm_90, *find_instruction(name)).at(0).datapath;
    const Numerics& n = datapath.numerics;
    for (const int span : {31, 62, 63, 64, 70}) {
      for (const int highest : {-60, -10, 0, 20, 21, 60}) {
        Example x;
        x.shape = {4, 24, 3 * static_cast<std::size_t>(datapath.tree.k)};
        x.formats = {n.a.format, n.b.format, n.c.format, n.result};
        x.a =
            spread_codes(random, format(n.a.format), x.shape.m * x.shape.k, std::min(highest, 20), std::min(span, 63));
        x.b = spread_codes(random, format(n.b.format), x.shape.k * x.shape.n, highest, span);
        x.c = spread_codes(random, format(n.c.format), x.shape.m * x.shape.n, highest, span);
        compute_exactly(datapath, x);
        EXPECT_EQ(first_difference(datapath, x, 1), "") << name << ", " << span << " below " << highest;
      }
    }
  }
}

TEST_P(Panels, EqualTheExactEmulatorOnBlockScales) {
  std::mt19937_64 random(4);
  for (const char* name : {"blackwell-mxf8f6f4", "blackwell-nvfp4"}) {
    const Datapath datapath = read_datapath(fmt::format("{}/docs/datapaths/{}.json", TCNUM_SOURCE_DIR, name));
    ASSERT_TRUE(is_taken(datapath)) << name;
    const auto depth = static_cast<std::size_t>(datapath.tree.k);
    for (const Operands operands : {Operands::numbers, Operands::edges, Operands::codes}) {
      const ProductShape shape{5, 70, 6 * depth - 5};
      EXPECT_EQ(first_difference(datapath, draw_example(random, datapath, shape, operands), 2), "") << name;
    }
  }
}

TEST_P(Panels, GiveTheSameBitsOnManyThreads) {
  std::mt19937_64 random(2);
  const Instruction& in = *find_instruction("mma.m16n8k8.f32.f16.f16.f32");
  const Datapath datapath = catalogue(ArchId::sm_80, in).at(0).datapath;
  Example x = draw_example(random, datapath, {70, 130, 40}, Operands::edges);
  EXPECT_EQ(first_difference(datapath, x, 1), "");
  EXPECT_EQ(first_difference(datapath, x, 7), "");
}

#ifdef __SSE2__
/// What other libraries tell the threads that they run on.
TEST_P(Panels, KeepSubnormalNumbersWhereTheThreadFlushesThem) {
  std::mt19937_64 random(3);
  Datapath datapath = catalogue(ArchId::sm_90, *find_instruction("mma.m16n8k16.f32.f16.f16.f32")).at(0).datapath;
  Example x = draw_example(random, datapath, {8, 64, 32}, Operands::numbers);
  for (std::size_t i = 0; i < x.a.size(); ++i) x.a.set(i, x.a[i] & 0x83ff);
  compute_exactly(datapath, x);
  constexpr unsigned kFlush = 0x8040;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | kFlush);
  const std::string difference = first_difference(datapath, x, 1);
  EXPECT_EQ(_mm_getcsr() & kFlush, kFlush) << "the thread's own setting comes back";
  _mm_setcsr(before);
  EXPECT_EQ(difference, "");
}
#endif

INSTANTIATE_TEST_SUITE_P(Targets, Panels, testing::ValuesIn(test::panel_targets()),
                         [](const auto& target) { return std::string(hwy::TargetName(target.param)); });

}  // namespace
}  // namespace tcnum
