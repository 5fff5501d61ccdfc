// Products of whole matrices by panels equal chains of the exact emulator: by every evaluator of wide tiles, on
// datapaths of every generator, for every CPU that Highway compiled them for.
// Labels: sanitized
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "capped_products.hpp"
#include "emu/cpu/panels/kernels.hpp"
#include "emu/gpu/conversions.hpp"
#include "emu/units.hpp"
#include "generators.hpp"
#include "panel_targets.hpp"
#include "product_example.hpp"
#include "reference/any_datapath.hpp"
#include "sanitizers.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

using test::compute_exactly, test::draw_example, test::Example, test::Operands;

/// Products by whoever takes the datapath.
std::string first_difference(const Datapath& datapath, const Example& x, unsigned threads = 1) {
  const Numerics& n = datapath.numerics;
  const MatrixProduct product(datapath, {n.a.format, n.b.format, n.c.format, n.result});
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

// --- Every evaluator, on datapaths of every generator.

struct Evaluator {
  const char* name;
  WhyNot (*why_not)(const Numerics&, const SortedTree&);
  WidePlan (*plan)(const Datapath&);
};
template <auto make_plan>
WidePlan plan_by(const Datapath& datapath) {
  return make_plan(datapath.numerics, SortedTree(datapath.tree));
}
constexpr std::array<Evaluator, 4> kEvaluators = {{
    {"panels", panels::why_no_panels, [](const Datapath& d) -> WidePlan { return panels::make_plan(d); }},
    {"integer panels", panels::why_no_integer_panels, plan_by<panels::make_integer_plan>},
    {"fma panels", panels::why_no_fma_panels, plan_by<panels::make_fma_chain_plan>},
    {"tree panels", panels::why_no_tree_panels, plan_by<panels::make_tree_plan>},
}};

/// Chains of FMAs in fp64, or in fp32 of narrower operands or integers.
Datapath random_fma_chain_of_any_format() {
  Datapath d = test::random_fma_chain();
  if (*rc::gen::arbitrary<bool>()) return d;
  using enum FormatId;
  Numerics& n = d.numerics;
  const auto any_operand = [] {
    return test::random_operand(*rc::gen::element(fp32, fp32, tf32, bf16, fp16, fp8e4m3, fp8e5m2fnuz, fp4e2m1, s8));
  };
  n.a = any_operand();
  n.b = any_operand();
  n.c.format = n.result = fp32;
  n.nan.code = *rc::gen::element<std::uint64_t>(0x7fffffff, 0x7fc00000, 0xff800001);
  RoundStep& step = n.units[0].result.step[0];
  step = round_to(format(fp32), step.rounding, step.overflow, step.subnormals);
  return d;
}

/// Chains of sums of c and one product of fp64 by a rule of their own.
Datapath random_fma_chain_of_own_rule() {
  Datapath d = test::random_fma_chain();
  using enum FormatId;
  Numerics& n = d.numerics;
  Unit& unit = n.units[0];
  RoundStep& last = unit.result.step[0];
  last.rounding = *test::any_rounding();
  last.subnormals = *rc::gen::element(Subnormals::kept, Subnormals::flushed);
  n.c.subnormals = *rc::gen::element(Subnormals::kept, Subnormals::flushed);
  unit.zero_sign = *rc::gen::element(ZeroSign::ieee, ZeroSign::positive);
  unit.underflow_sign = *rc::gen::element(UnderflowSign::kept, UnderflowSign::positive);
  if (test::seldom(2)) n.product.round = {round_to(format(*rc::gen::element(fp32, fp16, bf16)), *test::any_rounding())};
  if (test::seldom(2)) unit.drop_below = test::between(0, 60);
  if (test::seldom(2)) {
    unit.fraction_bits = test::between(0, 50);
    unit.align_rounding = *test::any_rounding();
  }
  RoundStep first;
  first.fraction_bits = test::between(0, 50);
  first.rounding = *test::any_rounding();
  if (test::seldom(2)) unit.result = {first, last};
  return d;
}

struct Generator {
  const char* name;
  Datapath (*draw)();
};
constexpr std::array<Generator, 12> kGenerators = {{
    {"patches", test::random_patch_datapath},
    {"scaled patches", test::random_scaled_patch_datapath},
    {"scaled sums", test::random_scaled_sums_datapath},
    {"any scaled sums", test::random_scaled_datapath},
    {"integers", test::random_chain_of_integers},
    {"any integers", test::random_integer_datapath},
    {"FMAs", random_fma_chain_of_any_format},
    {"FMAs by a rule of their own", random_fma_chain_of_own_rule},
    {"accumulations", test::random_chain_of_accumulations},
    {"single precision", test::random_single_precision_datapath},
    {"any sums", test::random_datapath},
    {"any kind", test::datapath_of_any_kind},
}};

TEST_P(Panels, EqualTheExactEmulatorOnRandomDatapaths) {
  std::map<std::string, int> compared;
  int drawn = 0;
  for (const Generator& generator : kGenerators) {
    EXPECT_TRUE(rc::check(generator.name, [&] {
      const Datapath datapath = test::draw_until(generator.draw, is_taken);
      ++drawn;
      std::mt19937_64 random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()));
      const auto operands = static_cast<Operands>(*rc::gen::inRange(0, test::kOperandKinds));
      const auto depth = static_cast<std::size_t>(datapath.tree.k);
      const bool chained = datapath.numerics.c.format == datapath.numerics.result;
      const std::size_t links = chained ? *rc::gen::element<std::size_t>(1, 2, 5) : 1;
      const ProductShape shape{*rc::gen::element<std::size_t>(1, 2, 9), *rc::gen::element<std::size_t>(1, 9, 65),
                               depth * links - *rc::gen::inRange<std::size_t>(0, depth)};
      const Example x = draw_example(random, datapath, shape, operands);
      for (const Evaluator& evaluator : kEvaluators) {
        if (!evaluator.why_not(datapath.numerics, SortedTree(datapath.tree)).empty()) continue;
        const WideProduct product(evaluator.plan(datapath));
        const std::string found = test::first_difference(
            datapath, x, 1, evaluator.name, [&](const auto&... arguments) { product.multiply(arguments...); });
        if (!found.empty()) RC_FAIL(found);
        ++compared[evaluator.name];
      }
    }));
  }
  constexpr int kOneIn = 24;  // with sanitizers fewer are drawn
  for (const Evaluator& evaluator : kEvaluators) EXPECT_GE(compared[evaluator.name] * kOneIn, drawn) << evaluator.name;
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
          // Block scales of products are for the fast panels.
          if (datapath.numerics.scales && !scales_sums(datapath.numerics)) {
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
            EXPECT_EQ(first_difference(datapath, example), "") << in->name();
          }
        }
      }
    }
  }
  EXPECT_GT(seen.size(), 20u);
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
        EXPECT_EQ(first_difference(datapath, x), "") << name << ", " << span << " below " << highest;
      }
    }
  }
}

TEST_P(Panels, KeepProductsThatAreSmallerThanTheirOperandsSay) {
  const Datapath datapath = test::datapath_of_capped_products();
  std::mt19937_64 random(5);
  for (const Operands operands : {Operands::numbers, Operands::edges})
    EXPECT_EQ(first_difference(datapath, draw_example(random, datapath, {5, 67, 4}, operands)), "");
}

/// Published datapaths, and one of each kind that has none.
std::vector<Datapath> some_of_each_kind() {
  std::vector<Datapath> found;
  for (const char* name : {"ampere-fp16", "blackwell-mxf8f6f4", "blackwell-nvfp4", "cdna1-fp16", "cdna2-fp16",
                           "cdna3-fp16", "cdna3-fp8", "fp-add-tree", "fp64-fma-chain", "hopper-fp8-e8m13", "volta-fp16-to-fp16"})
    found.push_back(read_datapath(fmt::format("{}/docs/datapaths/{}.json", TCNUM_SOURCE_DIR, name)));
  found.push_back(read_datapath(TCNUM_SOURCE_DIR "/benchmarks/datapaths/volta-fp16-separate.json"));
  Datapath single = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/fp64-fma-chain.json");
  Numerics& n = single.numerics;
  using enum FormatId;
  n.a.format = n.b.format = fp16;
  n.c.format = n.result = fp32;
  n.nan.code = 0x7fc00000;
  n.units[0].result = {round_to(format(fp32), Rounding::nearest_even)};
  found.push_back(single);
  return found;
}

TEST_P(Panels, EqualTheExactEmulatorAlongManyLinks) {
  std::mt19937_64 random(1);
  for (const Datapath& datapath : some_of_each_kind()) {
    for (const Operands operands : {Operands::numbers, Operands::edges, Operands::codes, Operands::one_nan}) {
      // More products than are packed at once, with infinities and NaNs among their results or without.
      const std::size_t k = operands == Operands::numbers || operands == Operands::one_nan ? 300 : 41;
      EXPECT_EQ(first_difference(datapath, draw_example(random, datapath, {5, 67, k}, operands)), "");
    }
  }
}

/// Numbers at and beyond the ends of what accumulations are evaluated for at once (docs/panels.md): c, and products,
/// which are tiny or huge.
TEST_P(Panels, AccumulateWhatIsOrdinaryAndWhatIsNot) {
  std::mt19937_64 random(6);
  constexpr std::uint32_t kSign = 0x80000000, kUnit = 1u << 23;
  const auto power = [](int exponent) { return static_cast<std::uint32_t>(exponent + 127) << 23; };
  Datapath of_fp8 = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/cdna3-fp8.json");
  of_fp8.numerics.a.format = of_fp8.numerics.b.format = FormatId::bf16;  // whose products reach further
  const std::vector<CatalogueEntry> accounts = catalogue(ArchId::gfx942, *find_instruction("v_mfma_f32_16x16x16_bf16"));
  Datapath of_few_bits = accounts.at(0).datapath;  // which are the fewer, the smaller a sum is
  for (Unit& unit : of_few_bits.numerics.units) {
    if (unit.result.empty()) continue;
    unit.zero_exponent = {};
    unit.result.step[0].fraction_bits = 12;
    unit.result.step[0].min_exponent = -10;
  }
  for (const Datapath& datapath : {accounts.at(0).datapath, accounts.at(1).datapath, of_fp8, of_few_bits}) {
    for (const int exponent : {-100, -63, -62, -8, 0, 49, 50, 63}) {  // of operands: half of products'
      for (const std::uint32_t least : {0u, 1u, power(-126), power(-103), power(-102), power(99), power(126)}) {
        Example x = draw_example(random, datapath, {4, 16, 32}, Operands::numbers);
        for (Codes* codes : {&x.a, &x.b}) {
          for (std::size_t i = 0; i < codes->size(); ++i) {
            const auto field = static_cast<std::uint64_t>(exponent + 127) + random() % 2;
            if (random() % 2 == 0) codes->set(i, (random() & 0x807f) | field << 7);
          }
        }
        // The first result is the sum of negative zeros alone.
        for (std::size_t k = 0; k < x.shape.k; ++k) {
          x.a.set(k, 0x8000);
          x.b.set(k * x.shape.n, x.b[k * x.shape.n] & 0x7fff);
        }
        for (std::size_t i = 0; i < x.c.size(); ++i) {
          const auto sign = static_cast<std::uint32_t>(random()) & kSign;
          const auto above = static_cast<std::uint32_t>(random() % (4 * kUnit));
          x.c.set(i, random() % 4 == 0 ? 0 : least == 0 ? (i == 0 ? kSign : sign) : sign | (least + above));
        }
        compute_exactly(datapath, x);
        EXPECT_EQ(first_difference(datapath, x), "") << exponent << ", c from " << least;
      }
    }
  }
}

/// Sums that a double holds, and such as it does not by one bit or more, where that bit decides how a tie is rounded:
/// of numbers from 2^9 on, half of fp32's last place and what two products that nearly cancel leave, far below; or c,
/// in the second link, where the first left nothing else of it.
TEST_P(Panels, RoundSumsOnceThatFitDoublesAndThatDoNot) {
  const Datapath datapath = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/cdna1-fp16.json");
  constexpr std::size_t kLinks = 3;
  const auto depth = static_cast<std::size_t>(datapath.tree.k);
  std::mt19937_64 random(8);
  for (int below = 36; below <= 48; ++below) {  // the last bit of what is left
    for (const bool by_c : {false, true}) {
      // B alone tells the links apart.
      const int of_b = by_c ? -14 : (20 - below) / 2, of_a = 20 - below - of_b;
      Example x = draw_example(random, datapath, {4, 9, kLinks * depth}, Operands::numbers);
      for (Codes* codes : {&x.a, &x.b}) {
        for (std::size_t i = 0; i < codes->size(); ++i) codes->set(i, 0);
      }
      const auto put = [&](std::size_t row, std::size_t k, double a, double b) {
        x.a.set(row * x.shape.k + k, gpu::to_half(a));
        for (std::size_t column = 0; column < x.shape.n; ++column) x.b.set(k * x.shape.n + column, gpu::to_half(b));
      };
      for (std::size_t row = 0; row < x.shape.m; ++row) {
        const double sign = row % 2 == 0 ? 1 : -1;
        put(row, 0, sign * std::ldexp(1 + 0x1p-10, of_a), std::ldexp(1 + 0x1p-10, of_b));
        put(row, 1, -sign * std::ldexp(1 + 0x1p-9, of_a), std::ldexp(1, of_b));
        if (by_c) {
          put(row, 2, -0x1p-6, 0x1p15);
          put(row, depth + 1, 0x1p-6 * (1 + static_cast<double>(row) * 0x1p-9), 0x1p15);
        }
        put(row, by_c ? depth : 2, 0x1p-10, 0x1p-5);
      }
      for (std::size_t i = 0; i < x.c.size(); ++i)
        x.c.set(i, 0x44000000 | (by_c ? 0 : random() & 0x807fffff));  // 2^9, and up to 2^10
      compute_exactly(datapath, x);
      EXPECT_EQ(first_difference(datapath, x), "") << below << " below" << (by_c ? ", by c" : "");
    }
  }
}

TEST_P(Panels, GiveTheSameBitsOnManyThreads) {
  std::mt19937_64 random(2);
  for (const Datapath& datapath : some_of_each_kind()) {
    const Example x = draw_example(random, datapath, {66, 130, 8}, Operands::edges);
    EXPECT_EQ(first_difference(datapath, x, 7), "");
  }
}

TEST_P(Panels, ReadAndWriteMatricesByColumns) {
  std::mt19937_64 random(4);
  for (const Datapath& datapath : some_of_each_kind()) {
    if (datapath.numerics.scales) continue;
    const ProductShape shape{5, 70, 33};
    const Example x = draw_example(random, datapath, shape, Operands::edges);
    const auto transposed = [](const Codes& codes, std::size_t rows, std::size_t columns) {
      Codes to(codes.bytes_each(), codes.size());
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) to.set(j * rows + i, codes[i * columns + j]);
      }
      return to;
    };
    const auto by_columns = []<class Byte>(Byte* codes, std::size_t rows) { return MatrixCodes<Byte>{codes, 1, rows}; };
    const Codes a = transposed(x.a, shape.m, shape.k), b = transposed(x.b, shape.k, shape.n);
    const Codes c = transposed(x.c, shape.m, shape.n);
    Codes d(x.d.bytes_each(), x.d.size());
    MatrixProduct(datapath, x.formats)
        .multiply(shape, by_columns(a.bytes().data(), shape.m), by_columns(b.bytes().data(), shape.k),
                  by_columns(c.bytes().data(), shape.m), by_columns(d.bytes().data(), shape.m), 1);
    EXPECT_EQ(d, transposed(x.d, shape.m, shape.n));
  }
}

#ifdef __SSE2__
/// What other libraries tell the threads that they run on.
TEST_P(Panels, KeepSubnormalNumbersWhereTheThreadFlushesThem) {
  std::mt19937_64 random(3);
  for (const Datapath& datapath : some_of_each_kind()) {
    Example x = draw_example(random, datapath, {8, 64, 32}, Operands::numbers);
    const Format &a = format(datapath.numerics.a.format), &c = format(datapath.numerics.c.format);
    const auto small = [](Codes& codes, const Format& f) {
      const std::uint64_t exponents = ((std::uint64_t{1} << f.exponent_bits) - 1) << f.fraction_bits;
      for (std::size_t i = 0; i < codes.size(); ++i) codes.set(i, codes[i] & ~exponents);
    };
    small(x.a, a);
    small(x.c, c);
    compute_exactly(datapath, x);
    constexpr unsigned kFlush = 0x8040;
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | kFlush);
    const std::string found = first_difference(datapath, x);
    EXPECT_EQ(_mm_getcsr() & kFlush, kFlush) << "the thread's own setting comes back";
    _mm_setcsr(before);
    EXPECT_EQ(found, "");
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Targets, Panels, testing::ValuesIn(test::panel_targets()),
                         [](const auto& target) { return std::string(hwy::TargetName(target.param)); });

}  // namespace
}  // namespace tcnum
