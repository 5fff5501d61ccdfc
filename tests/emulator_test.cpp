// The fast emulator equals the exact one, bit for bit, on random datapaths and operands.
// Labels: threads sanitized
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emu/cpu/cpu_emulator.hpp"
#include "generators.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

/// One block of all products and c.
Datapath integer_datapath(FormatId a, FormatId b, int k, Overflow overflow) {
  Datapath d;
  Numerics& n = d.numerics;
  n.a.format = a;
  n.b.format = b;
  n.c.format = n.result = FormatId::s32;
  n.nan.code = 0;
  n.units[0].result = {round_to(format(FormatId::s32), Rounding::toward_zero, overflow)};
  d.unit_names = {"sum"};
  d.tree.k = k;
  Node node{0, {{Term::Kind::accumulator, 0}}};
  for (int i = 0; i < k; ++i) node.terms.push_back({Term::Kind::product, i});
  d.tree.nodes = {node};
  validate(d);
  return d;
}

void expect_fast_equals_exact(const Datapath& datapath) {
  const bool wide = *rc::gen::inRange(0, 8) == 0;  // enough for panels
  Tiles exact = wide ? test::random_tiles(datapath, 1, 8, 33)
                     : test::random_tiles(datapath, 2, 3, *rc::gen::element<std::size_t>(1, 3, 8, 11));
  Tiles fast = exact;
  emulate_exact(datapath, exact);
  const CpuEmulator emulator(datapath);
  Emulator(datapath).run(fast);
  const DecodedTiles decoded(fast, datapath.numerics.a, datapath.numerics.b, datapath.numerics.c);
  for (std::size_t i = 0; i < exact.d.size(); ++i) {
    const std::size_t per_tile = fast.m * fast.n, t = i / per_tile, row = i % per_tile / fast.n, column = i % fast.n;
    unsigned consulted = 0;
    const std::uint64_t single = emulator.dot(decoded, t, row, column);
    const std::uint64_t traced =
        emulator.dot(decoded, t, row, column, datapath.numerics.units[0].zero_exponent.value, consulted);
    if (exact.d[i] == fast.d[i] && exact.d[i] == single && exact.d[i] == traced) continue;
    std::string text =
        to_json(datapath).dump() + fmt::format("\nelement {}: exact {:#x}, of a tile {:#x}, alone {:#x}, traced {:#x}",
                                               i, exact.d[i], fast.d[i], single, traced);
    const Problem problem = problem_at(exact, i);
    for (std::size_t k = 0; k < problem.a.size(); ++k) text += fmt::format(" {:#x}*{:#x}", problem.a[k], problem.b[k]);
    text += fmt::format(" + {:#x}", problem.c);
    RC_FAIL(text);
  }
}

RC_GTEST_PROP(Emulators, FastEqualsExact, ()) { expect_fast_equals_exact(test::random_datapath()); }

RC_GTEST_PROP(Emulators, FastEqualsExactForIntegers, ()) { expect_fast_equals_exact(test::random_integer_datapath()); }

RC_GTEST_PROP(Emulators, FastEqualsExactForFmaChains, ()) { expect_fast_equals_exact(test::random_fma_chain()); }

RC_GTEST_PROP(Emulators, FastEqualsExactForScaledBlocks, ()) {
  expect_fast_equals_exact(test::random_scaled_datapath());
}

Datapath random_datapath_of_any_kind() {
  switch (*rc::gen::inRange(0, 10)) {
    case 0:
      return test::random_fma_chain();
    case 1:
      return test::random_integer_datapath();
    case 2:
      return test::random_scaled_datapath();
    case 3:
      return test::random_patch_datapath();
    case 4:
      return test::random_chain_of_integers();
    case 5:
      return test::random_operations();
    default:
      return test::random_datapath();
  }
}

/// Each row of the CPU's table.
class CpuEvaluators : public testing::TestWithParam<int> {};

TEST_P(CpuEvaluators, EqualTheExactOne) {
  const auto evaluator = static_cast<CpuEvaluator>(GetParam());
  const auto takes = [&](const Datapath& datapath) {
    const SortedTree tree(datapath.tree);
    if (takes_wide_tiles_alone(evaluator))
      return evaluators_of(datapath).at(static_cast<std::size_t>(evaluator)).nodes > 0;
    std::vector<CpuEvaluator> chosen;
    choose_on_cpu(datapath.numerics, tree, chosen);
    return std::ranges::count(chosen, evaluator) > 0;
  };
  EXPECT_TRUE(rc::check([&] { expect_fast_equals_exact(test::draw_until(random_datapath_of_any_kind, takes)); }));
}

INSTANTIATE_TEST_SUITE_P(Rows, CpuEvaluators, testing::Range(0, static_cast<int>(CpuEvaluator::exact) + 1),
                         [](const auto& row) {
                           std::string name(
                               evaluators_of(integer_datapath(FormatId::s8, FormatId::s8, 1, Overflow::wrap))
                                   .at(static_cast<std::size_t>(row.param))
                                   .name);
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

/// The first that can take a datapath, or a node, is the one that does.
RC_GTEST_PROP(Evaluators, TheFirstThatCanTakesTheDatapath, ()) {
  const Datapath datapath = random_datapath_of_any_kind();
  std::size_t left[2] = {datapath.tree.nodes.size(), datapath.tree.nodes.size()};
  for (const EvaluatorAnswer& answer : evaluators_of(datapath)) {
    if (answer.name.ends_with("panels")) continue;  // of wide tiles; narrow ones go on to the next
    std::size_t& open = left[answer.processor == Processor::cpu ? 0 : 1];
    RC_ASSERT(answer.nodes <= open);
    if (answer.why_not.empty()) RC_ASSERT(answer.nodes == open);
    open -= answer.nodes;
  }
  RC_ASSERT(left[0] == 0u);
}

/// A result is aligned with the exponent that its first step gave it, and a later step rounds it up to a unit of the
/// sum's alignment, which may be far above that exponent: what evaluates sums in a few words does not take it, but trees
/// of sums, whose doubles hold it, do.
RC_GTEST_PROP(Evaluators, TakeNoResultAboveItsExponent, (bool wide, bool up)) {
  using enum FormatId;
  Datapath d;
  Numerics& n = d.numerics;
  n.a.format = n.b.format = wide ? bf16 : fp16;
  n.c.format = n.result = fp32;
  RoundStep first, second;
  first.fraction_bits = 15;
  first.min_exponent = first.max_exponent = -31;
  first.overflow = Overflow::max_finite;
  second.fraction_bits = 16;
  second.from_alignment = true;
  second.rounding = up ? Rounding::up : Rounding::down;
  n.units[0].fraction_bits = wide ? 80 : 24;
  n.units[0].result = {first, second};
  n.units[1].fraction_bits = wide ? 34 : 24;
  n.units[1].result = {round_to(format(fp32), Rounding::toward_zero)};
  d.unit_names = {"inner", "outer"};
  d.tree.k = 2;
  d.tree.nodes = {{0, {{Term::Kind::accumulator, 0}, {Term::Kind::product, 0}}},
                  {1, {{Term::Kind::product, 1}, {Term::Kind::node, 0}}}};
  for (const EvaluatorAnswer& answer : evaluators_of(d)) {
    const bool may_take = answer.name == "exact" || answer.name == "tree panels";
    if (!may_take) RC_ASSERT(answer.nodes == 0u);
  }
  expect_fast_equals_exact(d);
}

/// A sum that one step rounds to zero has that step's smallest exponent, if those after it go by the alignment.
RC_GTEST_PROP(Emulators, FastEqualsExactForZerosBeforeAStepFromTheAlignment, ()) {
  using enum FormatId;
  Datapath d;
  Numerics& n = d.numerics;
  n.c.format = n.result = *rc::gen::element(fp32, fp16);
  const RoundStep last = round_to(format(n.result), Rounding::toward_zero);
  RoundStep first = last, second;
  first.fraction_bits = 2;
  first.min_exponent += 10;
  second.fraction_bits = 6;
  second.from_alignment = true;
  n.nan.code = nan_code(format(n.result));
  n.units[0].fraction_bits = 20;
  n.units[0].result = {first, second};
  n.units[1].fraction_bits = 15;
  n.units[1].zero_exponent = {ZeroExponentKind::natural, 0};
  n.units[1].result = {last};
  d.unit_names = {"inner", "outer"};
  d.tree.k = 2;
  d.tree.nodes = {{0, {{Term::Kind::accumulator, 0}, {Term::Kind::product, 0}}},
                  {1, {{Term::Kind::product, 1}, {Term::Kind::node, 0}}}};
  expect_fast_equals_exact(d);
}

/// A zero c, beside products of which none is, takes part in the alignment with the exponent of zeros, in tiles of any
/// size.
TEST(Emulators, CutByTheExponentOfZerosWhereCIsZero) {
  Datapath d;
  Numerics& n = d.numerics;
  n.c.format = n.result = FormatId::fp32;
  n.nan.code = nan_code(format(n.result));
  n.units[0].result = {round_to(format(n.result), Rounding::toward_zero)};
  d.unit_names = {"sum"};
  d.tree.k = 3;
  d.tree.nodes = {{0, {{Term::Kind::accumulator, 0}}}};
  for (int k = 0; k < d.tree.k; ++k) d.tree.nodes[0].terms.push_back({Term::Kind::product, k});
  const std::uint64_t one = encode(format(n.a.format), false, 1, 0, false, Rounding::toward_zero);
  const std::uint64_t smallest = 1;
  for (const int fraction_bits : {8, 25, 60}) {  // sums in 32 bits, in 64, and more
    n.units[0].fraction_bits = fraction_bits;
    n.units[0].zero_exponent = {ZeroExponentKind::zeros, fraction_bits + 1};  // products of one are less than the cut
    for (const auto& [m, columns] : {std::pair{1, 1}, {1, 9}, {8, 40}}) {
      Tiles tiles = make_tiles(n.a.format, n.b.format, n.c.format, n.result, 1, static_cast<std::size_t>(m),
                               static_cast<std::size_t>(columns), static_cast<std::size_t>(d.tree.k));
      for (Codes* codes : {&tiles.a, &tiles.b}) {
        for (std::size_t i = 0; i < codes->size(); ++i) codes->set(i, one);
      }
      for (std::size_t i = 0; i < tiles.c.size(); i += 2) tiles.c.set(i, smallest);
      Tiles exact = tiles;
      Emulator(d).run(tiles);
      emulate_exact(d, exact);
      for (std::size_t i = 0; i < tiles.d.size(); ++i) {
        EXPECT_EQ(tiles.d[i], exact.d[i]) << fraction_bits << " bits, " << m << " × " << columns << ", element " << i;
        EXPECT_EQ(tiles.d[i] == 0, tiles.c[i] == 0) << fraction_bits;
      }
    }
  }
}

/// A product of an fp64 and another number, added exactly to c: of how many bits it is says who adds them.
TEST(Evaluators, PairsHaveRoomForTheirProducts) {
  using enum FormatId;
  for (const auto& [b, bits] : {std::pair{fp4e2m1, 64}, {fp8e5m2, 64}, {fp8e4m3, 128}, {fp16, 128}}) {
    Datapath d;
    Numerics& n = d.numerics;
    n.a.format = n.c.format = n.result = fp64;
    n.b.format = b;
    n.units[0].result = {round_to(format(fp64), Rounding::nearest_even)};
    n.nan.code = nan_code(format(fp64));
    d.unit_names = {"sum"};
    d.tree.k = 1;
    d.tree.nodes = {{0, {{Term::Kind::accumulator, 0}, {Term::Kind::product, 0}}}};
    const auto answers = evaluators_of(d);
    EXPECT_EQ(answers.at(static_cast<std::size_t>(bits == 64 ? CpuEvaluator::pairs_64 : CpuEvaluator::pairs_128)).nodes,
              1u)
        << format(b).name;
  }
}

/// Where zeros do not take part in the alignment, a product that is rounded to zero does not either.
TEST(Emulators, ProductsThatBecomeZeroDoNotAlign) {
  using enum FormatId;
  Datapath d;
  Numerics& n = d.numerics;
  n.a.format = n.b.format = n.c.format = n.result = fp32;
  n.product.round = {round_to(format(fp16), Rounding::nearest_even)};
  n.units[0].fraction_bits = 25;
  n.units[0].result = {round_to(format(fp32), Rounding::toward_zero)};
  n.nan.code = nan_code(format(fp32));
  d.unit_names = {"sum"};
  d.tree.k = 2;
  d.tree.nodes = {{0, {{Term::Kind::accumulator, 0}, {Term::Kind::product, 0}, {Term::Kind::product, 1}}}};
  const auto code = [](std::uint64_t significand, int exponent) {
    return encode(format(fp32), true, significand, exponent, false, Rounding::toward_zero);
  };
  for (const std::size_t columns : {1, 9, 40}) {
    Tiles tiles = make_tiles(fp32, fp32, fp32, fp32, 1, 8, columns, 2);
    for (Codes* codes : {&tiles.a, &tiles.b}) {
      for (std::size_t i = 0; i < codes->size(); ++i)
        codes->set(i, code(3, -20));  // of which products are below fp16's
    }
    for (std::size_t i = 0; i < tiles.c.size(); ++i) tiles.c.set(i, code(0x800001, -100));  // and far below its least
    Tiles exact = tiles;
    Emulator(d).run(tiles);
    emulate_exact(d, exact);
    EXPECT_EQ(exact.d, tiles.c) << columns;
    EXPECT_EQ(tiles.d, tiles.c) << columns;
  }
}

/// One dot product, its scales the same for all blocks.
struct OneDot {
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0, a_scale = 0, b_scale = 0;
};

/// Expects of a tile of nothing but one dot product the exact emulator's results, which are `expected`.
void expect_exact(const Datapath& d, const OneDot& dot, std::uint64_t expected, std::size_t rows = 8,
                  std::size_t columns = 40) {
  const Numerics& n = d.numerics;
  Tiles tiles = make_tiles(n.a.format, n.b.format, n.c.format, n.result, 1, rows, columns, dot.a.size());
  for (std::size_t k = 0; k < dot.a.size(); ++k) {
    for (std::size_t i = 0; i < rows; ++i) tiles.a.set(tiles.a_index(0, i, k), dot.a[k]);
    for (std::size_t j = 0; j < columns; ++j) tiles.b.set(tiles.b_index(0, k, j), dot.b[k]);
  }
  for (std::size_t i = 0; i < tiles.c.size(); ++i) tiles.c.set(i, dot.c);
  if (n.scales) {
    tiles.scale_block = n.scales->block_k;
    const std::size_t blocks = dot.a.size() / static_cast<std::size_t>(n.scales->block_k);
    tiles.sa = Codes(1, rows * blocks);
    tiles.sb = Codes(1, columns * blocks);
    for (std::size_t i = 0; i < tiles.sa.size(); ++i) tiles.sa.set(i, dot.a_scale);
    for (std::size_t i = 0; i < tiles.sb.size(); ++i) tiles.sb.set(i, dot.b_scale);
  }
  Tiles exact = tiles;
  emulate_exact(d, exact);
  Emulator(d).run(tiles);
  EXPECT_EQ(exact.d[0], expected);
  EXPECT_EQ(tiles.d, exact.d) << rows << " x " << columns;
}

/// A product that overflows to infinity, in a sum that block scales multiply by much, leaves the next sum infinite.
TEST(Emulators, InfiniteSumsTimesLargeScalesAreInfinite) {
  const auto json = nlohmann::ordered_json::parse(R"({
    "schema": "tcnum.datapath/1", "k": 4,
    "operands": {
      "a": {"format": "tf32", "subnormals": "flushed", "subnormal_exponent": "normalised"},
      "b": {"format": "fp6e2m3", "subnormals": "flushed", "subnormal_exponent": "normalised"},
      "c": {"format": "fp8e5m2", "subnormals": "kept", "subnormal_exponent": "normalised"}},
    "result": "fp8e5m2",
    "product": {"exponent": "sum", "round": [{"fraction_bits": 7, "from": "leading_bit", "max_exponent": -18,
      "rounding": "nearest_even", "subnormals": "kept", "overflow": "ieee"}]},
    "scales": {"format": "ue8m0", "block_k": 2},
    "units": {
      "products": {"fraction_bits": 7, "align_rounding": "up", "zero_exponent": {"zeros": -31}, "result": [],
        "zero_sign": "ieee", "underflow_sign": "positive", "scaled": true},
      "sum": {"fraction_bits": 30, "first_fraction_bits": 13, "align_rounding": "up", "zero_exponent": "natural",
        "result": [{"fraction_bits": 4, "from": "leading_bit", "min_exponent": -25, "max_exponent": -20,
          "rounding": "nearest_even", "subnormals": "flushed", "overflow": "ieee"},
          {"format": "fp8e5m2", "rounding": "toward_zero", "subnormals": "kept", "overflow": "ieee"}],
        "zero_sign": "positive", "underflow_sign": "positive"}},
    "tree": ["sum", "c", ["sum", ["products", "0..1"], ["products", "2..3"]]],
    "nan": {"code": "0xfe"}})");
  const Datapath d = datapath_from_json(json);
  expect_exact(d, {{0x74749336, 0x1103e92e, 0x29151bf5, 0x0d460034}, {0x08, 0x18, 0x15, 0x00}, 0x9c, 0xa6, 0xad}, 0x7c);
}

/// A sum that does not cut its first term may have any number of bits, also where it cuts the others.
TEST(Emulators, AnExactFirstTermIsNotShort) {
  const auto json = nlohmann::ordered_json::parse(R"({
    "schema": "tcnum.datapath/1", "k": 2,
    "operands": {
      "a": {"format": "fp16", "subnormals": "kept", "subnormal_exponent": "minimum"},
      "b": {"format": "fp16", "subnormals": "kept", "subnormal_exponent": "minimum"},
      "c": {"format": "fp32", "subnormals": "kept", "subnormal_exponent": "minimum"}},
    "result": "fp32",
    "units": {
      "u0": {"fraction_bits": 20, "first_fraction_bits": "exact", "align_rounding": "toward_zero", "zero_exponent": "none",
        "result": [], "zero_sign": "positive", "underflow_sign": "kept"},
      "u1": {"fraction_bits": "exact", "align_rounding": "toward_zero", "zero_exponent": "none",
        "result": [{"format": "fp32", "rounding": "nearest_even", "subnormals": "kept", "overflow": "ieee"}],
        "zero_sign": "positive", "underflow_sign": "kept"}},
    "tree": ["u1", ["u0", 0, ["u0", "c", 1]]],
    "nan": {"code": "0x7fffffff"}})");
  const Datapath d = datapath_from_json(json);
  expect_exact(d, {{0x3c00, 0x3c00}, {0x3c00, 0x3c00}, 0x7e000000, {}, {}}, 0x7e000000);
  for (const EvaluatorAnswer& answer : evaluators_of(d)) {
    const bool holds_128 = answer.name == "terms in 128 bits" || answer.name == "terms";
    EXPECT_TRUE(!holds_128 || !answer.why_not.empty()) << answer.name;
  }
}

/// fp64's operations make a signalling NaN quiet; a datapath whose own NaN is one gives it as it is.
TEST(Emulators, SignallingNansOfFp64StayWhatTheyAre) {
  auto json = nlohmann::ordered_json::parse(R"({
    "schema": "tcnum.datapath/1", "k": 2,
    "operands": {
      "a": {"format": "fp64", "subnormals": "kept", "subnormal_exponent": "minimum"},
      "b": {"format": "fp64", "subnormals": "kept", "subnormal_exponent": "minimum"},
      "c": {"format": "fp64", "subnormals": "kept", "subnormal_exponent": "minimum"}},
    "result": "fp64",
    "units": {
      "sum": {"fraction_bits": 30, "align_rounding": "toward_zero", "zero_exponent": "none",
        "result": [{"format": "fp64", "rounding": "nearest_even", "subnormals": "kept", "overflow": "ieee"}],
        "zero_sign": "positive", "underflow_sign": "kept"}},
    "tree": ["sum", "c", "0..1"],
    "nan": {"code": "0x7ff0000000000001", "propagate": ["a", "b", "c"]}})");
  for (const auto& bits : {nlohmann::ordered_json(30), nlohmann::ordered_json("exact")}) {
    json["units"]["sum"]["fraction_bits"] = bits;
    const Datapath d = datapath_from_json(json);
    for (const auto& [rows, columns] : {std::pair{1, 1}, {8, 32}, {16, 64}}) {
      Tiles tiles = make_tiles(FormatId::fp64, FormatId::fp64, FormatId::fp64, FormatId::fp64, 1,
                               static_cast<std::size_t>(rows), static_cast<std::size_t>(columns), 2);
      for (std::size_t i = 0; i < tiles.a.size(); ++i)
        tiles.a.set(i, i % 2 == 0 ? 0xfff0000000000000u : 0x3ff0000000000000u);
      Emulator(d).run(tiles);
      for (std::size_t i = 0; i < tiles.d.size(); ++i) ASSERT_EQ(tiles.d[i], 0x7ff0000000000001u) << rows;
    }
  }
}

/// A product that is rounded to a number of any exponent, and is zero, has the lowest exponent of all: where all of a
/// sum's are zero and take part in its alignment, that sum takes no part in another's.
TEST(Emulators, SumsOfZerosWithoutLeastExponentAlignNothing) {
  for (const bool scaled : {false, true}) {
    auto json = nlohmann::ordered_json::parse(R"({
      "schema": "tcnum.datapath/1", "k": 4,
      "operands": {
        "a": {"format": "fp16", "subnormals": "kept", "subnormal_exponent": "minimum"},
        "b": {"format": "fp16", "subnormals": "kept", "subnormal_exponent": "minimum"},
        "c": {"format": "fp16", "subnormals": "kept", "subnormal_exponent": "minimum"}},
      "result": "fp32",
      "product": {"exponent": "sum", "round": [{"fraction_bits": 7, "from": "leading_bit", "rounding": "nearest_even",
        "subnormals": "kept", "overflow": "ieee"}]},
      "units": {
        "products": {"fraction_bits": 20, "align_rounding": "up", "zero_exponent": "natural", "result": [],
          "zero_sign": "ieee", "underflow_sign": "kept"},
        "sum": {"fraction_bits": 8, "align_rounding": "toward_zero", "zero_exponent": "natural",
          "result": [{"format": "fp32", "rounding": "nearest_even", "subnormals": "kept", "overflow": "ieee"}],
          "zero_sign": "ieee", "underflow_sign": "kept"}},
      "tree": ["sum", "c", ["products", "0..1"], ["products", "2..3"]],
      "nan": {"code": "0x7fffffff"}})");
    if (scaled) {
      json["scales"] = {{"format", "ue8m0"}, {"block_k", 2}};
      json["units"]["products"]["scaled"] = true;
    }
    const Datapath d = datapath_from_json(json);
    SCOPED_TRACE(scaled ? "scaled" : "not scaled");
    constexpr std::uint64_t kSmall = 0x1400, kOne = 127;                                 // 2^−10
    expect_exact(d, {{0, 0, kSmall, 0}, {0, 0, kSmall, 0}, 0, kOne, kOne}, 0x35800000);  // 2^−20
  }
}

/// A block's exact sum, which its scales multiply, of a first product that is cut up to 2^−7 and of one that is rounded
/// to about 2^−132, has more bits than machine integers.
TEST(Emulators, ScaledExactSumsOfRoundedProductsKeepAllBits) {
  const Datapath d = datapath_from_json(nlohmann::ordered_json::parse(R"({
    "schema": "tcnum.datapath/1", "k": 4,
    "operands": {
      "a": {"format": "fp6e2m3", "subnormals": "kept", "subnormal_exponent": "normalised"},
      "b": {"format": "fp8e5m2", "subnormals": "kept", "subnormal_exponent": "minimum"},
      "c": {"format": "fp32", "subnormals": "kept", "subnormal_exponent": "minimum"}},
    "result": "fp32",
    "product": {"exponent": "sum", "round": [{"fraction_bits": 14, "from": "leading_bit", "min_exponent": -133,
      "max_exponent": -133, "rounding": "nearest_even", "subnormals": "kept", "overflow": "max_finite"}]},
    "scales": {"format": "ue4m3", "block_k": 4},
    "units": {
      "products": {"fraction_bits": "exact", "first_fraction_bits": 12, "align_rounding": "up",
        "zero_exponent": {"floor": 5}, "result": [{"format": "tf32", "rounding": "up", "subnormals": "kept",
        "overflow": "ieee"}], "zero_sign": "ieee", "underflow_sign": "positive", "scaled": true},
      "sum": {"fraction_bits": 20, "align_rounding": "toward_zero", "zero_exponent": "none",
        "result": [{"format": "fp32", "rounding": "nearest_even", "subnormals": "kept", "overflow": "ieee"}],
        "zero_sign": "ieee", "underflow_sign": "kept"}},
    "tree": ["sum", "c", ["products", "0..3"]],
    "nan": {"code": "0x7fffffff"}})"));
  constexpr std::uint64_t kOne = 0x38;
  const OneDot dot{{0x0a, 0, 0x28, 0}, {0x05, 0, 0x1b, 0}, 0, kOne, kOne};
  expect_exact(d, dot, 0x3c000000, 1, 1);  // 2^−7
  expect_exact(d, dot, 0x3c000000);
}

/// What a step leaves below 2^−108 the next rounds up to a unit of the alignment, which may be far above: the sum with
/// it is exact all the same.
TEST(Emulators, NumbersThatStepsRaiseToTheirAlignmentAreSummedExactly) {
  const Datapath d = datapath_from_json(nlohmann::ordered_json::parse(R"({
    "schema": "tcnum.datapath/1", "k": 2,
    "operands": {
      "a": {"format": "bf16", "subnormals": "kept", "subnormal_exponent": "minimum"},
      "b": {"format": "fp8e4m3", "subnormals": "kept", "subnormal_exponent": "minimum"},
      "c": {"format": "fp8e4m3", "subnormals": "kept", "subnormal_exponent": "minimum"}},
    "result": "fp32", "product": {"exponent": "normalised"},
    "units": {
      "products": {"fraction_bits": 38, "align_rounding": "up", "zero_exponent": "none",
        "result": [{"fraction_bits": 28, "from": "alignment", "min_exponent": -109, "max_exponent": -109,
          "rounding": "toward_zero", "subnormals": "flushed", "overflow": "max_finite"},
          {"fraction_bits": 23, "from": "alignment", "max_exponent": 0, "rounding": "up", "subnormals": "kept",
          "overflow": "infinity"},
          {"fraction_bits": 22, "from": "leading_bit", "min_exponent": -152, "rounding": "up", "subnormals": "kept",
          "overflow": "infinity"}], "zero_sign": "positive", "underflow_sign": "positive"},
      "sum": {"fraction_bits": "exact", "align_rounding": "toward_zero", "zero_exponent": "none",
        "result": [{"format": "fp32", "rounding": "nearest_even", "subnormals": "kept", "overflow": "ieee"}],
        "zero_sign": "positive", "underflow_sign": "kept"}},
    "tree": ["sum", ["products", 0, "c"], ["products", 1]],
    "nan": {"code": "0x7fc00000", "propagate": ["a", "b", "c"]}})"));
  constexpr std::uint64_t k2To12 = 0x4580, kOne = 0x38;
  expect_exact(d, {{0, k2To12}, {0, kOne}}, 0x3a000000);  // 2^−11
}

/// A result that is cut to fewer bits than the next sum keeps is cut before it.
TEST(Emulators, ResultsAreCutBeforeSumsThatKeepMoreBits) {
  const Datapath d = datapath_from_json(nlohmann::ordered_json::parse(R"({
    "schema": "tcnum.datapath/1", "k": 8,
    "operands": {
      "a": {"format": "fp6e3m2", "subnormals": "kept", "subnormal_exponent": "minimum"},
      "b": {"format": "fp6e3m2", "subnormals": "kept", "subnormal_exponent": "minimum"},
      "c": {"format": "fp32", "subnormals": "kept", "subnormal_exponent": "minimum"}},
    "result": "fp32", "product": {"exponent": "sum"},
    "units": {
      "long": {"fraction_bits": 18, "align_rounding": "toward_zero", "zero_exponent": "none",
        "result": [{"format": "fp32", "rounding": "toward_zero", "subnormals": "kept", "overflow": "max_finite"}],
        "zero_sign": "positive", "underflow_sign": "positive"},
      "short": {"fraction_bits": 13, "align_rounding": "toward_zero", "zero_exponent": "none",
        "result": [{"fraction_bits": 13, "from": "leading_bit", "min_exponent": -126, "max_exponent": 127,
          "rounding": "toward_zero", "subnormals": "kept", "overflow": "max_finite"}],
        "zero_sign": "positive", "underflow_sign": "positive"}},
    "tree": ["long", ["long", ["short", ["long", "c", "0..1"], "2..3"], "4..5"], "6..7"],
    "nan": {"code": "0x7fc00000"}})"));
  constexpr std::uint64_t kA = 0x13, kB = 0x1b, kMinusB = 0x3b, kBelow2To15 = 0x46ffffff;  // 3.5, 14, −14
  expect_exact(d, {std::vector(8, kA), {kMinusB, kB, kB, kB, kB, kB, kB, kB}, kBelow2To15}, 0x47012000);
}

/// Where zeros have their natural exponents, a product that is zero takes part in the alignment with its operands' two,
/// though products take part with their own leading bits.
TEST(Emulators, NormalisedProductsOfZeroKeepTheirExponent) {
  using enum FormatId;
  Datapath d;
  Numerics& n = d.numerics;
  n.c.format = n.result = fp32;
  n.product.exponent = ProductExponent::normalised;
  n.units[0].fraction_bits = 10;
  n.units[0].zero_exponent.kind = ZeroExponentKind::natural;
  n.units[0].result = {round_to(format(fp32), Rounding::toward_zero)};
  n.nan.code = nan_code(format(fp32));
  d.unit_names = {"sum"};
  d.tree.k = 2;
  d.tree.nodes = {{0, {{Term::Kind::product, 0}, {Term::Kind::product, 1}}}};
  const Format& half = format(fp16);
  const auto power = [&](int exponent) { return encode(half, false, 1, exponent, false, Rounding::toward_zero); };
  for (const std::size_t columns : {1, 9, 40}) {
    Tiles tiles = make_tiles(n.a.format, n.b.format, fp32, fp32, 1, 8, columns, 2);
    for (std::size_t i = 0; i < tiles.m; ++i) tiles.a.set(tiles.a_index(0, i, 1), power(-14));
    for (std::size_t j = 0; j < columns; ++j) {
      tiles.b.set(tiles.b_index(0, 0, j), power(15));  // times zero, which has the exponent −14
      tiles.b.set(tiles.b_index(0, 1, j), power(0));
    }
    Tiles exact = tiles;
    Emulator(d).run(tiles);
    emulate_exact(d, exact);
    const CpuEmulator emulator(d);
    const DecodedTiles decoded(tiles, n.a, n.b, n.c);
    for (std::size_t i = 0; i < tiles.d.size(); ++i) {
      EXPECT_EQ(tiles.d[i], exact.d[i]) << columns << " columns";
      EXPECT_EQ(emulator.dot(decoded, 0, i / columns, i % columns), exact.d[i]) << "alone";
    }
    EXPECT_EQ(exact.d[0], 0u);  // 2^−14, cut at 2^(1 − 10)
  }
}

std::int64_t signed_value(std::uint64_t code) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(code)); }

TEST(Integers, WrapAndSaturateAsTwosComplementDoes) {
  struct Case {
    int a, b;
    std::int32_t c, wrapped, saturated;
  };
  constexpr std::int32_t kMost = 0x7fffffff, kLeast = -kMost - 1;
  for (const auto& [a, b, c, wrapped, saturated] :
       {Case{1, 1, kMost, kLeast, kMost}, Case{-1, 1, kLeast, kMost, kLeast}, Case{-1, 1, kLeast + 1, kLeast, kLeast},
        Case{-128, -128, kMost, kLeast + 0x3fff, kMost}, Case{-128, 127, kLeast, kMost - 0x3f7f, kLeast},
        Case{0, -128, kLeast, kLeast, kLeast}, Case{5, -7, 0, -35, -35}}) {
    for (const bool wraps : {true, false}) {
      const Datapath d = integer_datapath(FormatId::s8, FormatId::s8, 1, wraps ? Overflow::wrap : Overflow::max_finite);
      Tiles tiles = make_tiles(FormatId::s8, FormatId::s8, FormatId::s32, FormatId::s32, 1, 1, 1, 1);
      tiles.a.set(0, static_cast<std::uint64_t>(a) & 0xff);
      tiles.b.set(0, static_cast<std::uint64_t>(b) & 0xff);
      tiles.c.set(0, static_cast<std::uint64_t>(c) & 0xffffffff);
      const std::int32_t expected = wraps ? wrapped : saturated;
      emulate_exact(d, tiles);
      EXPECT_EQ(signed_value(tiles.d[0]), expected) << a << " * " << b << " + " << c;
      Emulator(d).run(tiles);
      EXPECT_EQ(signed_value(tiles.d[0]), expected) << a << " * " << b << " + " << c;
    }
  }
}

/// A chain of sums of c and one product each.
Tree chain_of(int k) {
  Tree tree;
  tree.k = k;
  Term sum{Term::Kind::accumulator, 0};
  for (int i = 0; i < k; ++i) {
    tree.nodes.push_back({0, {sum, {Term::Kind::product, i}}});
    sum = {Term::Kind::node, i};
  }
  return tree;
}

/// What was worked out for one datapath's numerics must not outlive them.
TEST(CpuEmulator, KeepsNothingOfEarlierNumerics) {
  Datapath doubles, integers = integer_datapath(FormatId::s8, FormatId::s8, 4, Overflow::wrap);
  Numerics& n = doubles.numerics;
  n.a.format = n.b.format = n.c.format = n.result = FormatId::fp64;
  n.nan.code = nan_code(format(FormatId::fp64));
  n.units[0].result = {round_to(format(FormatId::fp64), Rounding::nearest_even)};
  doubles.unit_names = {"fma"};
  doubles.tree = integers.tree = chain_of(4);
  validate(doubles);
  validate(integers);
  CpuEmulator emulator(doubles);
  emulator.set_numerics(integers.numerics);
  Tiles exact = make_tiles(FormatId::s8, FormatId::s8, FormatId::s32, FormatId::s32, 2, 2, 2, 4);
  for (std::size_t i = 0; i < exact.a.size(); ++i) exact.a.set(i, i + 1);
  for (std::size_t i = 0; i < exact.b.size(); ++i) exact.b.set(i, 200 + i);
  for (std::size_t i = 0; i < exact.c.size(); ++i) exact.c.set(i, 1000 * i);
  Tiles fast = exact;
  emulator.run(fast);
  emulate_exact(integers, exact);
  EXPECT_EQ(fast.d, exact.d);
}

TEST(Integers, OfEverySignAreRead) {
  const std::uint64_t code = 0x8f;
  struct Case {
    FormatId a, b;
    int product;
  };
  using enum FormatId;
  for (const auto& [a, b, product] :
       {Case{s8, s8, 113 * 113}, Case{s8, u8, -113 * 143}, Case{u8, s8, -113 * 143}, Case{u8, u8, 143 * 143},
        Case{s4, s4, 1}, Case{s4, u4, -15}, Case{u4, u4, 225}, Case{b1, b1, 1}}) {
    const Datapath d = integer_datapath(a, b, 1, Overflow::wrap);
    Tiles tiles = make_tiles(a, b, s32, s32, 1, 1, 1, 1);
    tiles.a.set(0, code);
    tiles.b.set(0, code);
    Emulator(d).run(tiles);
    EXPECT_EQ(signed_value(tiles.d[0]), product) << format(a).name << " " << format(b).name;
  }
}

}  // namespace
}  // namespace tcnum
