// The fast emulator equals the exact one, bit for bit, on random datapaths and operands.
// Labels: threads sanitized
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "emu/cpu/cpu_emulator.hpp"
#include "emu/cpu/panels/product.hpp"
#include "generators.hpp"
#include "reference/any_datapath.hpp"
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

struct Generator {
  const char* name;
  Datapath (*draw)();
};
constexpr std::array<Generator, 7> kGenerators = {{{"sums", test::random_datapath},
                                                   {"integers", test::random_integer_datapath},
                                                   {"chains of integers", test::random_chain_of_integers},
                                                   {"FMA chains", test::random_fma_chain},
                                                   {"scaled blocks", test::random_scaled_datapath},
                                                   {"patches", test::random_patch_datapath},
                                                   {"any kind", test::datapath_of_any_kind}}};

/// And each row of the CPU's table is reached.
TEST(Emulators, FastEqualsExactOnDatapathsOfEveryGenerator) {
  constexpr std::size_t kRows = static_cast<std::size_t>(CpuEvaluator::exact) + 1;
  std::array<int, kRows> taken{};
  std::array<std::string_view, kRows> names;
  for (const Generator& generator : kGenerators) {
    EXPECT_TRUE(rc::check(generator.name, [&] {
      const Datapath datapath = generator.draw();
      expect_fast_equals_exact(datapath);
      const std::vector<EvaluatorAnswer> answers = evaluators_of(datapath);
      for (std::size_t row = 0; row < kRows; ++row) {
        taken[row] += answers[row].nodes > 0 ? 1 : 0;
        names[row] = answers[row].name;
      }
    }));
  }
  const bool has_panels = panels::are_here();
  for (std::size_t row = 0; row < kRows; ++row) {
    if (!has_panels && takes_wide_tiles_alone(static_cast<CpuEvaluator>(row))) continue;
    EXPECT_GT(taken[row], 5) << names[row];
  }
}

RC_GTEST_PROP(Evaluators, TheFirstThatCanTakesTheDatapath, ()) {
  const Datapath datapath = kGenerators[*rc::gen::inRange<std::size_t>(0, kGenerators.size())].draw();
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
