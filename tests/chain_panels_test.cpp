// Products of whole matrices by panels of chains and trees of floating-point operations equal chains of the exact
// emulator, for every CPU that Highway compiled them for.
// Labels: sanitized
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "labels.hpp"
#include "capped_products.hpp"
#include "emu/cpu/matrix_product.hpp"
#include "emu/cpu/panels/fma_chain_kernels.hpp"
#include "emu/gpu/conversions.hpp"
#include "generators.hpp"
#include "panel_targets.hpp"
#include "product_example.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/instruction.hpp"
#include "underflow_examples.hpp"

namespace tcnum {
namespace {

using test::Example;
using test::Operands;

using Multiply = std::function<void(const ProductShape&, const MatrixCodes<const std::byte>& a,
                                    const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
                                    const MatrixCodes<std::byte>& d, unsigned threads, const BlockScales& scales)>;

/// Products by whoever takes the datapath, mostly panels.
Multiply multiply_of(const Datapath& datapath) {
  const Numerics& n = datapath.numerics;
  const MatrixProduct product(datapath, {n.a.format, n.b.format, n.c.format, n.result});
  return [product](const auto&... arguments) { product.multiply(arguments...); };
}

std::string difference(const Datapath& datapath, const Example& x, unsigned threads, const Multiply& multiply) {
  return test::first_difference(datapath, x, threads, panels::fma_kernels<double>()->name, multiply);
}
std::string difference(const Datapath& datapath, const Example& x, unsigned threads) {
  return difference(datapath, x, threads, multiply_of(datapath));
}

/// A kind of panels: what they say of a datapath, and datapaths of which some are theirs.
struct Kind {
  const char* name;
  WhyNot (*why_not)(const Numerics&, const SortedTree&);
  Multiply (*multiply)(const Datapath&);
  std::function<Datapath()> draw;
};

template <auto make_plan>
Multiply multiply_by(const Datapath& datapath) {
  const auto plan = make_plan(datapath.numerics, SortedTree(datapath.tree));
  return [plan](const auto& shape, const auto& a, const auto& b, const auto& c, const auto& d, unsigned threads,
                const BlockScales& scales) {
    if constexpr (requires { panels::multiply(plan, shape, a, b, c, d, threads, scales); })
      panels::multiply(plan, shape, a, b, c, d, threads, scales);
    else
      panels::multiply(plan, shape, a, b, c, d, threads);
  };
}

/// Chains of FMAs in fp64, or in fp32 of narrower operands.
Datapath random_fma_chain_of_any_format() {
  Datapath d = test::random_fma_chain();
  if (*rc::gen::arbitrary<bool>()) return d;
  using enum FormatId;
  Numerics& n = d.numerics;
  const auto any_operand = [] {
    return test::random_operand(*rc::gen::element(fp32, fp32, tf32, bf16, fp16, fp8e4m3, fp8e5m2fnuz, fp4e2m1));
  };
  n.a = any_operand();
  n.b = any_operand();
  n.c.format = n.result = fp32;
  n.nan.code = *rc::gen::element<std::uint64_t>(0x7fffffff, 0x7fc00000, 0xff800001);
  RoundStep& step = n.units[0].result.step[0];
  step = round_to(format(fp32), step.rounding, step.overflow, step.subnormals);
  return d;
}

/// Any datapath, which is now and then one that hardware is like.
Datapath random_tree_of_sums() {
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return test::random_patch_datapath();
    case 1:
      return test::random_single_precision_datapath();
    default:
      return test::random_datapath();
  }
}

/// Datapaths whose sums are cut down as their terms are, which is done once where that is the same.
Datapath random_sums_cut_twice() {
  Datapath d = random_tree_of_sums();
  for (Unit& unit : d.numerics.units) {
    if (unit.fraction_bits == kExact || unit.result.empty()) continue;
    RoundStep again;
    again.from_alignment = true;
    again.rounding = unit.align_rounding = Rounding::down;
    again.fraction_bits = *rc::gen::inRange(4, 45);
    unit.result = {again, unit.result.step[static_cast<std::size_t>(unit.result.count) - 1]};
  }
  return d;
}

/// Datapaths that drop terms of which they cut nothing, or cut terms to more bits than a double's grid has.
Datapath random_sums_cut_first() {
  Datapath d = random_tree_of_sums();
  const auto any = [](int first, int last) { return *rc::gen::inRange(first, last + 1); };
  for (Unit& unit : d.numerics.units) {
    if (any(0, 3) == 0) continue;
    const bool has_alignment = std::ranges::any_of(unit.result, [](const RoundStep& s) { return s.from_alignment; });
    const auto any_bits = [&] { return any(0, 2) == 0 && !has_alignment ? kExact : any(44, 96); };
    unit.fraction_bits = any_bits();
    unit.first_fraction_bits.reset();
    if (any(0, 3) == 0) unit.first_fraction_bits = any(0, 1) == 0 ? any_bits() : any(0, 50);
    unit.align_rounding = *test::any_rounding();
    unit.drop_below.reset();
    if (unit.fraction_bits == kExact || any(0, 3) == 0) unit.drop_below = any(0, 60);
  }
  return d;
}

/// Datapaths whose sums have steps that keep all bits but those of small numbers, and steps below the alignment after
/// them.
Datapath random_steps_of_many_bits() {
  Datapath d = random_tree_of_sums();
  const auto any = [](int first, int last) { return *rc::gen::inRange(first, last + 1); };
  for (Unit& unit : d.numerics.units) {
    if (unit.result.empty()) continue;
    RoundStep many;
    many.fraction_bits = any(45, 110);
    many.min_exponent = any(-30, many.fraction_bits + 15);
    many.rounding = *test::any_rounding();
    many.subnormals = *rc::gen::element(Subnormals::kept, Subnormals::kept, Subnormals::flushed);
    const auto limit = [&](RoundStep& step) {
      if (any(0, 2) > 0) return;
      step.max_exponent = std::max(step.min_exponent - 1, any(-20, 60));
      step.overflow = *rc::gen::element(Overflow::ieee, Overflow::infinity, Overflow::max_finite);
    };
    limit(many);
    const RoundStep last = unit.result.step[static_cast<std::size_t>(unit.result.count) - 1];
    unit.result = {many, last};
    if (unit.fraction_bits == kExact || unit.first_fraction_bits == kExact || any(0, 1) == 0) continue;
    RoundStep below;
    below.from_alignment = true;
    below.fraction_bits = any(0, 3) == 0 ? any(40, 110) : any(0, 40);
    below.rounding = *test::any_rounding();
    limit(below);
    unit.result = {many, below, last};
    if (any(0, 2) == 0) unit.result = {below, many, last};
  }
  return d;
}

/// Datapaths of which some operands are fp64, of whose bits sums or rounded products keep less.
Datapath random_sums_of_doubles() {
  Datapath d = random_tree_of_sums();
  Numerics& n = d.numerics;
  const auto any = [](int first, int last) { return *rc::gen::inRange(first, last + 1); };
  const auto any_step = [&](int most_bits) {
    RoundStep s;
    s.fraction_bits = any(0, most_bits);
    s.rounding = *test::any_rounding();
    s.subnormals = *rc::gen::element(Subnormals::kept, Subnormals::flushed);
    if (any(0, 1) == 0) s.min_exponent = *rc::gen::element(-1040, -1022, -700, -126);
    if (any(0, 1) == 0) s.max_exponent = *rc::gen::element(1023, 900, 700, 127);
    return s;
  };
  if (any(0, 1) == 0) {
    for (OperandRule* operand : {&n.a, &n.b}) {
      if (any(0, 1) == 0) *operand = test::random_operand(FormatId::fp64);
    }
    if (any(0, 1) == 0) n.product.round = {any_step(52)};
    for (Unit& unit : n.units) {
      if (unit.fraction_bits == kExact) unit.fraction_bits = any(0, 47);
    }
  }
  n.c = test::random_operand(FormatId::fp64);
  n.result = FormatId::fp64;
  n.nan.code = *rc::gen::element<std::uint64_t>(0x7fffffffffffffff, 0xfff8000000000000, 0x7ff8000000000001);
  for (Unit& unit : n.units) {
    if (!unit.result.empty()) unit.result = {any_step(52), round_to(format(FormatId::fp64), *test::any_rounding())};
    if (unit.result.empty()) continue;
    if (any(0, 2) == 0) unit.result = {any_step(200), any_step(50), unit.result.step[1]};
  }
  return d;
}

/// Datapaths of integers, as if they were any other numbers, and of steps that wrap what they round; or with operands
/// alone that are integers, or have no sign.
Datapath random_sums_of_integers() {
  const auto any = [](int first, int last) { return *rc::gen::inRange(first, last + 1); };
  if (any(0, 3) == 0) return test::with_integer_operands(random_tree_of_sums());
  Datapath d = test::random_integer_datapath();
  Numerics& n = d.numerics;
  n.nan.propagate = *rc::gen::arbitrary<bool>();  // in vain
  n.product.exponent = *rc::gen::element(ProductExponent::sum, ProductExponent::normalised);
  for (OperandRule* operand : {&n.a, &n.b, &n.c}) *operand = test::random_operand(operand->format);
  for (Unit& unit : n.units) {
    if (any(0, 1) == 0) {
      unit.zero_exponent.kind = *rc::gen::element(ZeroExponentKind::none, ZeroExponentKind::natural,
                                                  ZeroExponentKind::floor, ZeroExponentKind::zeros);
      unit.zero_exponent.value = any(-4, 40);
    }
    if (any(0, 3) == 0) unit.fraction_bits = any(0, 60);
    if (any(0, 3) == 0) unit.first_fraction_bits = any(0, 60);
    if (any(0, 3) == 0) unit.drop_below = any(0, 40);
    if (unit.result.empty() || any(0, 2) > 0) continue;
    RoundStep first;
    first.rounding = *test::any_rounding();
    first.fraction_bits = any(0, 30);
    first.from_alignment = unit.fraction_bits != kExact && any(0, 1) == 0;
    if (!first.from_alignment) {
      first.twos_complement = true;
      first.max_exponent = any(0, 30);
      if (any(0, 1) == 0) first.min_exponent = any(-3, first.max_exponent + 1);
      first.overflow = *rc::gen::element(Overflow::max_finite, Overflow::wrap);
    }
    unit.result = {first, unit.result.step[static_cast<std::size_t>(unit.result.count) - 1]};
  }
  return d;
}

/// Datapaths whose sums are larger than all of their terms, and go to sums that lose nothing of either.
Datapath random_sums_above_their_terms() {
  using enum FormatId;
  Datapath d;
  Numerics& n = d.numerics;
  const auto any = [](int first, int last) { return *rc::gen::inRange(first, last + 1); };
  const auto any_direction = [] { return *rc::gen::element(Rounding::up, Rounding::down); };
  n.a = test::random_operand(*rc::gen::element(fp8e4m3, fp4e2m1, s8));
  n.b = test::random_operand(*rc::gen::element(fp8e4m3, fp6e2m3, u4));
  n.c = test::random_operand(*rc::gen::element(fp8e4m3, fp16));
  n.result = *rc::gen::element(fp16, fp32);
  n.nan.code = nan_code(format(n.result));
  Unit &inner = n.units[0], &outer = n.units[1];
  inner.fraction_bits = any(0, 6);
  inner.align_rounding = any_direction();
  inner.zero_exponent = {*rc::gen::element(ZeroExponentKind::floor, ZeroExponentKind::zeros), any(0, 60)};
  RoundStep below;
  below.from_alignment = true;
  below.fraction_bits = any(0, 8);
  below.rounding = *test::any_rounding();
  RoundStep own;
  own.fraction_bits = any(4, 20);
  own.rounding = any_direction();
  own.min_exponent = any(0, 50);
  RoundStep limit = any(0, 1) == 0 ? below : own;
  limit.max_exponent = std::max(limit.min_exponent, any(4, 40));
  limit.overflow = *rc::gen::element(Overflow::ieee, Overflow::max_finite);
  const std::vector<RoundSteps> steps = {{},     {below}, {own}, {own, below}, {below, own, below}, {limit, below},
                                         {limit}};
  inner.result = *rc::gen::elementOf(steps);
  inner.zero_sign = *rc::gen::element(ZeroSign::positive, ZeroSign::ieee);
  outer.fraction_bits = any(0, 1) == 0 ? kExact : any(20, 60);
  outer.align_rounding = *test::any_rounding();
  if (any(0, 1) == 0) outer.zero_exponent.kind = ZeroExponentKind::natural;
  outer.result = {round_to(format(n.result), *test::any_rounding())};
  d.unit_names = {"inner", "outer"};
  d.tree.k = 5;
  using enum Term::Kind;
  d.tree.nodes = {{0, {{product, 0}, {product, 1}}},
                  {0, {{product, 2}, {product, 3}}},
                  {1, {{node, 0}, {node, 1}, {product, 4}, {accumulator, 0}}}};
  return d;
}

/// Datapaths that round far away from zero.
Datapath random_sums_aligned_far() {
  if (*rc::gen::arbitrary<bool>()) return random_sums_above_their_terms();
  return test::with_far_alignments(*rc::gen::arbitrary<bool>() ? random_steps_of_many_bits() : random_sums_cut_first());
}

/// Any datapath with scales of products.
Datapath random_scaled_products() {
  Datapath d = *rc::gen::arbitrary<bool>() ? test::random_patch_datapath() : random_tree_of_sums();
  d.numerics.scales = test::random_scale_rule(d.tree.k);
  return d;
}

/// Sums that their blocks' scales multiply.
Datapath random_scaled_sums() {
  if (*rc::gen::arbitrary<bool>()) return test::random_scaled_sums_datapath();
  return test::draw_until(test::random_scaled_datapath, [](const Datapath& d) { return d.numerics.units[0].scaled; });
}

/// Some of whose operands are of any other format, integers too.
template <auto draw>
Datapath with_other_operands() {
  using enum FormatId;
  Datapath d = draw();
  for (OperandRule* operand : {&d.numerics.a, &d.numerics.b, &d.numerics.c}) {
    if (*rc::gen::arbitrary<bool>())
      *operand = test::random_operand(*rc::gen::element(fp32, fp16, fp8e4m3fnuz, ue4m3, s32, s8, u8, u4, b1));
  }
  return d;
}

const Kind kKinds[] = {
    {"fma_panels", panels::why_no_fma_panels, multiply_by<panels::make_fma_chain_plan>, random_fma_chain_of_any_format},
    {"fma_panels, other operands", panels::why_no_fma_panels, multiply_by<panels::make_fma_chain_plan>,
     with_other_operands<random_fma_chain_of_any_format>},
    {"tree_panels", panels::why_no_tree_panels, multiply_by<panels::make_tree_plan>, random_tree_of_sums},
    {"tree_panels, cut twice", panels::why_no_tree_panels, multiply_by<panels::make_tree_plan>, random_sums_cut_twice},
    {"tree_panels, cut first", panels::why_no_tree_panels, multiply_by<panels::make_tree_plan>, random_sums_cut_first},
    {"tree_panels, steps of many bits", panels::why_no_tree_panels, multiply_by<panels::make_tree_plan>,
     random_steps_of_many_bits},
    {"tree_panels, sums of doubles", panels::why_no_tree_panels, multiply_by<panels::make_tree_plan>,
     random_sums_of_doubles},
    {"tree_panels, integers", panels::why_no_tree_panels, multiply_by<panels::make_tree_plan>, random_sums_of_integers},
    {"tree_panels, far alignments", panels::why_no_tree_panels, multiply_by<panels::make_tree_plan>,
     random_sums_aligned_far},
    {"tree_panels, accumulations", panels::why_no_tree_panels, multiply_by<panels::make_tree_plan>,
     test::random_chain_of_accumulations},
    {"tree_panels, block scales", panels::why_no_tree_panels, multiply_by<panels::make_tree_plan>,
     random_scaled_products},
    {"tree_panels, scaled sums", panels::why_no_tree_panels, multiply_by<panels::make_tree_plan>, random_scaled_sums},
};

class ChainPanels : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    ASSERT_NE(panels::fma_kernels<double>(), nullptr);
    ASSERT_STREQ(panels::fma_kernels<double>()->name, hwy::TargetName(GetParam()));
  }

 private:
  const test::ChosenTarget target_{GetParam()};
};

TEST_P(ChainPanels, EqualTheExactEmulatorOnRandomDatapaths) {
  for (const Kind& kind : kKinds) {
    const auto takes = [&](const Datapath& d) { return kind.why_not(d.numerics, SortedTree(d.tree)).empty(); };
    EXPECT_TRUE(rc::check(kind.name, [&] {
      const Datapath datapath = test::draw_until(kind.draw, takes);
      std::mt19937_64 random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()));
      const auto operands = static_cast<Operands>(*rc::gen::inRange(0, 5));
      const auto depth = static_cast<std::size_t>(datapath.tree.k);
      const bool chained = datapath.numerics.c.format == datapath.numerics.result;
      const std::size_t links = chained ? *rc::gen::element<std::size_t>(1, 2, 5) : 1;
      const ProductShape shape{*rc::gen::element<std::size_t>(1, 2, 9), *rc::gen::element<std::size_t>(1, 9, 65),
                               depth * links - *rc::gen::inRange<std::size_t>(0, depth)};
      const Example x = test::draw_example(random, datapath, shape, operands);
      const std::string found = difference(datapath, x, 1, kind.multiply(datapath));
      if (!found.empty()) RC_FAIL(found);
    }));
  }
}

TEST_P(ChainPanels, KeepProductsThatAreSmallerThanTheirOperandsSay) {
  const Datapath datapath = test::datapath_of_capped_products();
  std::mt19937_64 random(5);
  for (const Operands operands : {Operands::numbers, Operands::edges})
    EXPECT_EQ(difference(datapath, test::draw_example(random, datapath, {5, 67, 4}, operands), 1), "");
}

TEST_P(ChainPanels, KeepTheSignOfAnUnderflowWhereZerosArePositive) {
  for (const test::UnderflowExample& example : test::underflow_examples()) {
    const Example x = test::example_of(example.datapath, example.tile(5, 67));
    EXPECT_EQ(difference(example.datapath, x, 1), "") << example.name;
  }
}

/// A term that is alone and whole tells what the steps after it round it below.
TEST_P(ChainPanels, AlignSumsOfOneTermThatIsNotCut) {
  Datapath datapath;
  Numerics& n = datapath.numerics;
  n.a = n.b = {FormatId::fp16, Subnormals::kept, SubnormalExponent::minimum};
  n.c = {FormatId::fp32, Subnormals::kept, SubnormalExponent::minimum};
  n.result = FormatId::fp32;
  n.nan.code = nan_code(format(n.result));
  RoundStep below;
  below.from_alignment = true;
  below.fraction_bits = 2;
  below.rounding = Rounding::up;
  Unit& unit = n.units[0];
  unit.fraction_bits = 24;
  unit.first_fraction_bits = kExact;
  unit.result = {below, round_to(format(n.result), Rounding::nearest_even)};
  datapath.unit_names = {"unit"};
  datapath.tree.k = 1;
  datapath.tree.nodes = {{0, {{Term::Kind::product, 0}}}, {0, {{Term::Kind::node, 0}, {Term::Kind::accumulator, 0}}}};
  std::mt19937_64 random(6);
  EXPECT_EQ(difference(datapath, test::draw_example(random, datapath, {5, 67, 3}, Operands::numbers), 1), "");
}

/// Published datapaths, and one of each kind that has none.
std::vector<Datapath> some_of_each_kind() {
  std::vector<Datapath> found;
  for (const char* name :
       {"fp64-fma-chain", "cdna1-fp16", "cdna2-fp16", "cdna3-fp16", "cdna3-fp8", "fp-add-tree", "volta-fp16-separate"})
    found.push_back(read_datapath(fmt::format("{}/docs/datapaths/{}.json", TCNUM_SOURCE_DIR, name)));
  Datapath single = found.front();
  Numerics& n = single.numerics;
  using enum FormatId;
  n.a.format = n.b.format = fp16;
  n.c.format = n.result = fp32;
  n.nan.code = 0x7fc00000;
  n.units[0].result = {round_to(format(fp32), Rounding::nearest_even)};
  found.push_back(single);
  return found;
}

TEST_P(ChainPanels, EqualTheExactEmulatorAlongManyLinks) {
  std::mt19937_64 random(1);
  for (const Datapath& datapath : some_of_each_kind()) {
    for (const Operands operands : {Operands::numbers, Operands::edges, Operands::codes, Operands::one_nan}) {
      // More products than are packed at once.
      const std::size_t k = operands == Operands::numbers ? 300 : 41;
      EXPECT_EQ(difference(datapath, test::draw_example(random, datapath, {5, 67, k}, operands), 1), "");
    }
  }
}

/// A result that is a subnormal number is a zero as the next link's c, which is aligned with nothing.
TEST_P(ChainPanels, AlignNothingWithAResultThatTheNextLinkFlushes) {
  Datapath datapath = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/cdna3-fp16.json");
  Numerics& n = datapath.numerics;
  n.a.format = n.b.format = FormatId::bf16;
  n.c.subnormals = Subnormals::flushed;
  for (Unit& unit : n.units) {
    unit.fraction_bits = 9;  // so few that an alignment with c would show
    unit.first_fraction_bits.reset();
  }
  std::mt19937_64 random(4);
  Example x = test::draw_example(random, datapath, {8, 64, 64}, Operands::numbers);
  const auto tiny = [&](Codes& codes) {  // products of 2^−141 to 2^−127
    constexpr std::uint64_t kExponents = 0x7f80, kUnit = 0x80, kLeast = 127 - 71;
    for (std::size_t i = 0; i < codes.size(); ++i)
      codes.set(i, (codes[i] & ~kExponents) | (kLeast + random() % 8) * kUnit);
  };
  tiny(x.a);
  tiny(x.b);
  for (std::size_t i = 0; i < x.c.size(); ++i) x.c.set(i, 0);
  test::compute_exactly(datapath, x);
  EXPECT_EQ(difference(datapath, x, 1), "");
}

/// Numbers at and beyond the ends of what accumulations are evaluated for at once (docs/panels.md): c, and products,
/// which are tiny or huge.
TEST_P(ChainPanels, AccumulateWhatIsOrdinaryAndWhatIsNot) {
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
        Example x = test::draw_example(random, datapath, {4, 16, 32}, Operands::numbers);
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
        test::compute_exactly(datapath, x);
        EXPECT_EQ(difference(datapath, x, 1), "") << exponent << ", c from " << least;
      }
    }
  }
}

/// Sums that a double holds, and such as it does not by one bit or more, where that bit decides how a tie is rounded:
/// of numbers from 2^9 on, half of fp32's last place and what two products that nearly cancel leave, far below; or c,
/// in the second link, where the first left nothing else of it.
TEST_P(ChainPanels, RoundSumsOnceThatFitDoublesAndThatDoNot) {
  const Datapath datapath = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/cdna1-fp16.json");
  constexpr std::size_t kLinks = 3;
  const auto depth = static_cast<std::size_t>(datapath.tree.k);
  std::mt19937_64 random(8);
  for (int below = 36; below <= 48; ++below) {  // the last bit of what is left
    for (const bool by_c : {false, true}) {
      // B alone tells the links apart.
      const int of_b = by_c ? -14 : (20 - below) / 2, of_a = 20 - below - of_b;
      Example x = test::draw_example(random, datapath, {4, 9, kLinks * depth}, Operands::numbers);
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
      test::compute_exactly(datapath, x);
      EXPECT_EQ(difference(datapath, x, 1), "") << below << " below" << (by_c ? ", by c" : "");
    }
  }
}

/// A NaN whose payload would become another number's bits if it were rounded as they are.
TEST_P(ChainPanels, RoundNoPayloadOfANaN) {
  Datapath datapath = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/cdna3-fp16.json");
  datapath.numerics.nan.propagate = true;
  std::mt19937_64 random(7);
  for (std::size_t mode = 0; mode < kRoundingNames.size(); ++mode) {
    const auto rounding = static_cast<Rounding>(mode);
    for (Unit& unit : datapath.numerics.units) {
      if (unit.result.empty()) continue;
      unit.result = {round_to(format(FormatId::fp32), rounding)};
      unit.result.step[0].fraction_bits = 1;
    }
    Example x = test::draw_example(random, datapath, {8, 64, 16}, Operands::numbers);
    for (std::size_t i = 0; i < x.c.size(); ++i)
      x.c.set(i, (random() % 2 == 0 ? 0x7f800000u : 0xff800000u) + 1 + random() % 0x7fffff);
    test::compute_exactly(datapath, x);
    EXPECT_EQ(difference(datapath, x, 1), "") << name(rounding);
  }
}

/// NaNs of c alone, and new ones: infinities of c meet those of products. A NaN of another format than the result's
/// does not come back.
TEST_P(ChainPanels, TellNaNsThatNoOperandOfAOrBBrought) {
  Datapath datapath = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/cdna3-fp16.json");
  datapath.numerics.nan = {0x7fc01234, true, {NanOperand::a, NanOperand::b, NanOperand::c}};
  datapath.numerics.product.infinite_from = 0;
  std::mt19937_64 random(12);
  for (const FormatId id : {FormatId::fp32, FormatId::fp16, FormatId::bf16}) {
    datapath.numerics.c.format = id;
    ASSERT_EQ(panels::why_no_tree_panels(datapath.numerics, SortedTree(datapath.tree)), "");
    const std::size_t links = id == datapath.numerics.result ? 3 : 1;
    const ProductShape shape{8, 64, links * static_cast<std::size_t>(datapath.tree.k)};
    Example x = test::draw_example(random, datapath, shape, Operands::numbers);
    for (std::size_t i = 0; i < shape.m / 2 * shape.k; ++i) x.a.set(i, 0);  // rows without infinities
    const Format& f = format(id);
    for (std::size_t i = 0; i < x.c.size(); i += 1 + random() % 3) {
      const std::uint64_t payload = random() % 2 * (random() % 100), sign = random() % 2 << (f.storage_bits - 1);
      x.c.set(i, f.first_non_finite() << f.padding_bits | payload << f.padding_bits | sign);
    }
    test::compute_exactly(datapath, x);
    EXPECT_EQ(difference(datapath, x, 1), "") << f.name;
  }
}

TEST_P(ChainPanels, GiveTheSameBitsOnManyThreads) {
  TCNUM_NOT_SANITIZED();
  std::mt19937_64 random(2);
  for (const Datapath& datapath : some_of_each_kind()) {
    const Example x = test::draw_example(random, datapath, {66, 130, 8}, Operands::edges);
    EXPECT_EQ(difference(datapath, x, 7), "");
  }
}

TEST_P(ChainPanels, ReadAndWriteMatricesByColumns) {
  std::mt19937_64 random(4);
  for (const Datapath& datapath : some_of_each_kind()) {
    const ProductShape shape{5, 70, 33};
    const Example x = test::draw_example(random, datapath, shape, Operands::edges);
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
    multiply_of(datapath)(shape, by_columns(a.bytes().data(), shape.m), by_columns(b.bytes().data(), shape.k),
                          by_columns(c.bytes().data(), shape.m), by_columns(d.bytes().data(), shape.m), 1, {});
    EXPECT_EQ(d, transposed(x.d, shape.m, shape.n));
  }
}

#ifdef __SSE2__
/// What other libraries tell the threads that they run on.
TEST_P(ChainPanels, KeepSubnormalNumbersWhereTheThreadFlushesThem) {
  std::mt19937_64 random(3);
  for (const Datapath& datapath : some_of_each_kind()) {
    Example x = test::draw_example(random, datapath, {8, 64, 32}, Operands::numbers);
    const Format &a = format(datapath.numerics.a.format), &c = format(datapath.numerics.c.format);
    const auto small = [](Codes& codes, const Format& f) {
      const std::uint64_t exponents = ((std::uint64_t{1} << f.exponent_bits) - 1) << f.fraction_bits;
      for (std::size_t i = 0; i < codes.size(); ++i) codes.set(i, codes[i] & ~exponents);
    };
    small(x.a, a);
    small(x.c, c);
    test::compute_exactly(datapath, x);
    constexpr unsigned kFlush = 0x8040;
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | kFlush);
    const std::string found = difference(datapath, x, 1);
    EXPECT_EQ(_mm_getcsr() & kFlush, kFlush) << "the thread's own setting comes back";
    _mm_setcsr(before);
    EXPECT_EQ(found, "");
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Targets, ChainPanels, testing::ValuesIn(test::panel_targets()),
                         [](const auto& target) { return std::string(hwy::TargetName(target.param)); });

}  // namespace
}  // namespace tcnum
