// Operands that are not what the datapath takes: every public call of the emulators says so, in one line, and reads
// nothing.
// Labels: sanitized
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"
#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

constexpr int kDepth = 16, kBlock = 8;
constexpr std::size_t kCount = 2, kRows = 3, kColumns = 5;

/// One sum of c and all products.
Datapath plain_datapath() {
  Datapath d;
  d.numerics.units[0].fraction_bits = 24;
  d.numerics.units[0].result = {round_to(format(FormatId::fp32), Rounding::toward_zero)};
  d.numerics.c.format = FormatId::fp32;
  d.unit_names = {"sum"};
  d.tree.k = kDepth;
  Node node{0, {{Term::Kind::accumulator, 0}}};
  for (int k = 0; k < kDepth; ++k) node.terms.push_back({Term::Kind::product, k});
  d.tree.nodes = {node};
  validate(d);
  return d;
}

Datapath scaled_datapath() {
  Datapath d = plain_datapath();
  d.numerics.scales = ScaleRule{FormatId::ue8m0, kBlock};
  validate(d);
  return d;
}

Tiles tiles_for(const Datapath& d) {
  const Numerics& n = d.numerics;
  Tiles tiles = make_tiles(n.a.format, n.b.format, n.c.format, n.result, kCount, kRows, kColumns,
                           static_cast<std::size_t>(d.tree.k));
  if (n.scales) {
    const auto blocks = static_cast<std::size_t>(d.tree.k / n.scales->block_k);
    tiles.scale_block = n.scales->block_k;
    tiles.sa = Codes(1, kCount * kRows * blocks);
    tiles.sb = Codes(1, kCount * blocks * kColumns);
  }
  return tiles;
}

/// What a call says of it; "" if it does not object.
std::string complaint(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void expect_complaint(const std::function<void()>& call, const std::string& expected) {
  EXPECT_EQ(complaint(call), expected);
  EXPECT_EQ(expected.find('\n'), std::string::npos);
}

struct Misuse {
  bool scaled;
  std::function<void(Tiles&)> spoil;
  std::string complaint;
};

std::vector<Misuse> misuses_of_tiles() {
  using enum FormatId;
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max() / 4;
  return {
      {false, [](Tiles& t) { t.k = 8; }, "tiles: k is 8; expected 16, the datapath's"},
      {false, [](Tiles& t) { t.k = 0; }, "tiles: k is 0; expected 16, the datapath's"},
      {false, [](Tiles& t) { t = make_tiles(fp16, fp16, fp32, fp32, kCount, kRows, kColumns, 32); },
       "tiles: k is 32; expected 16, the datapath's"},
      {false, [](Tiles& t) { t.a_format = bf16; }, "tiles: a_format is bf16; expected fp16, the datapath's"},
      {false, [](Tiles& t) { t.b_format = fp8e4m3; },
       "tiles: b_format is fp8e4m3; expected fp16, the datapath's"},
      {false, [](Tiles& t) { t.c_format = fp16; }, "tiles: c_format is fp16; expected fp32, the datapath's"},
      {false, [](Tiles& t) { t.d_format = fp64; }, "tiles: d_format is fp64; expected fp32, the datapath's"},
      {false, [](Tiles& t) { t.a = Codes(2, 95); },
       "tiles: a has 95 elements; expected 96: count 2 x m 3 x k 16"},
      {false, [](Tiles& t) { t.b = Codes(2, 1); }, "tiles: b has 1 elements; expected 160: count 2 x k 16 x n 5"},
      {false, [](Tiles& t) { t.c = Codes(4, 29); }, "tiles: c has 29 elements; expected 30: count 2 x m 3 x n 5"},
      {false, [](Tiles& t) { t.d = Codes(4, 15); }, "tiles: d has 15 elements; expected 30: count 2 x m 3 x n 5"},
      {false, [](Tiles& t) { t.d = Codes(); }, "tiles: d has 0 elements; expected 30: count 2 x m 3 x n 5"},
      {false, [](Tiles& t) { t.a = Codes(2, 97); },
       "tiles: a has 97 elements; expected 96: count 2 x m 3 x k 16"},
      {false, [](Tiles& t) { t.a = Codes(1, 96); }, "tiles: a has codes of 1 bytes; expected 2, which fp16 has"},
      {false, [](Tiles& t) { t.d = Codes(2, 30); }, "tiles: d has codes of 2 bytes; expected 4, which fp32 has"},
      {false, [](Tiles& t) { t.count = 1000000; },
       "tiles: a has 96 elements; expected 48000000: count 1000000 x m 3 x k 16"},
      {false, [](Tiles& t) { t.count = kHuge; },
       "tiles: a has 96 elements; expected more than a memory can hold: count 4611686018427387903 x m 3 x k 16"},
      {false, [](Tiles& t) { t.m = 4; }, "tiles: a has 96 elements; expected 128: count 2 x m 4 x k 16"},
      {false, [](Tiles& t) { t.n = 4; }, "tiles: b has 160 elements; expected 128: count 2 x k 16 x n 4"},
      {false, [](Tiles& t) { t.sparse_group = 4; },
       "tiles: a is sparse; expected dense tiles, which gather() makes"},
      {false, [](Tiles& t) { t.scale_block = 8; }, "tiles: scale_block is 8; expected 0: the datapath has none"},
      {true, [](Tiles& t) { t.scale_block = 0; }, "tiles: scale_block is 0; expected 8, the datapath's"},
      {true, [](Tiles& t) { t.scale_block = 4; }, "tiles: scale_block is 4; expected 8, the datapath's"},
      {true, [](Tiles& t) { t.sa = Codes(1, 11); },
       "tiles: sa has 11 elements; expected 12: count 2 x m 3 x blocks 2"},
      {true, [](Tiles& t) { t.sb = Codes(); }, "tiles: sb has 0 elements; expected 20: count 2 x blocks 2 x n 5"},
      {true, [](Tiles& t) { t.sb = Codes(2, 20); },
       "tiles: sb has codes of 2 bytes; expected 1, which ue8m0 has"},
  };
}

TEST(Misuse, OfTilesIsRefusedByBothEmulators) {
  for (const Misuse& each : misuses_of_tiles()) {
    const Datapath datapath = each.scaled ? scaled_datapath() : plain_datapath();
    Tiles tiles = tiles_for(datapath);
    each.spoil(tiles);
    const Tiles before = tiles;
    expect_complaint([&] { Emulator(datapath).run(tiles); }, each.complaint);
    expect_complaint([&] { Emulator(datapath).run(tiles, 3); }, each.complaint);
    expect_complaint([&] { emulate_exact(datapath, tiles); }, each.complaint);
    EXPECT_EQ(tiles.d, before.d);
  }
}

TEST(Misuse, WhatIsRightIsAccepted) {
  for (const Datapath& datapath : {plain_datapath(), scaled_datapath()}) {
    Tiles tiles = tiles_for(datapath);
    EXPECT_EQ(complaint([&] { Emulator(datapath).run(tiles, 2); }), "");
    EXPECT_EQ(complaint([&] { emulate_exact(datapath, tiles); }), "");
  }
}

TEST(Misuse, RulesOfFp32ReadTf32) {
  Datapath datapath = plain_datapath();
  datapath.numerics.a.format = datapath.numerics.b.format = FormatId::fp32;
  Tiles tiles = tiles_for(datapath);
  tiles.a_format = tiles.b_format = FormatId::tf32;
  EXPECT_EQ(complaint([&] { Emulator(datapath).run(tiles); }), "");
  tiles.c_format = FormatId::tf32;
  EXPECT_EQ(complaint([&] { Emulator(datapath).run(tiles); }), "");
}

TEST(Misuse, EmptyTilesAreNone) {
  const Datapath datapath = plain_datapath();
  for (const auto& [count, m, n] : {std::array<std::size_t, 3>{0, 3, 5}, {2, 0, 5}, {2, 3, 0}, {0, 0, 0}}) {
    Tiles tiles = make_tiles(FormatId::fp16, FormatId::fp16, FormatId::fp32, FormatId::fp32, count, m, n, kDepth);
    EXPECT_EQ(complaint([&] { Emulator(datapath).run(tiles, 2); }), "");
    EXPECT_EQ(complaint([&] { emulate_exact(datapath, tiles); }), "");
    EXPECT_TRUE(tiles.d.empty());
  }
  Tiles none;
  EXPECT_EQ(complaint([&] { Emulator(datapath).run(none); }), "");
  EXPECT_EQ(complaint([&] { emulate_exact(datapath, none); }), "");
}

TEST(Misuse, OfOneProblemIsRefused) {
  struct Case {
    bool scaled;
    std::size_t a, b, sa, sb;
    std::string complaint;
  };
  for (const Case& each : {
           Case{false, 15, 16, 0, 0, "dot problem: a has 15 elements; expected 16, the datapath's k"},
           Case{false, 17, 16, 0, 0, "dot problem: a has 17 elements; expected 16, the datapath's k"},
           Case{false, 16, 0, 0, 0, "dot problem: b has 0 elements; expected 16, the datapath's k"},
           Case{false, 16, 16, 2, 0, "dot problem: sa has 2 elements; expected 0, the datapath's scale blocks"},
           Case{true, 16, 16, 0, 0, "dot problem: sa has 0 elements; expected 2, the datapath's scale blocks"},
           Case{true, 16, 16, 2, 1, "dot problem: sb has 1 elements; expected 2, the datapath's scale blocks"},
           Case{true, 16, 16, 2, 2, ""},
       }) {
    const Datapath datapath = each.scaled ? scaled_datapath() : plain_datapath();
    const std::vector<std::uint64_t> a(each.a), b(each.b), sa(each.sa), sb(each.sb);
    std::vector<TracedNode> trace;
    expect_complaint([&] { emulate_exact(datapath, a, b, 0, sa, sb); }, each.complaint);
    expect_complaint([&] { trace_exact(datapath, a, b, 0, trace, sa, sb); }, each.complaint);
  }
}

/// A datapath made in code that contradicts itself.
TEST(Misuse, OfADatapathIsRefused) {
  Datapath no_tree = plain_datapath(), beyond = plain_datapath(), no_unit = plain_datapath();
  no_tree.tree.nodes.clear();
  beyond.tree.nodes[0].terms.back().index = kDepth;
  no_unit.tree.nodes[0].unit = 3;
  const std::vector<std::uint64_t> a(kDepth), b(kDepth);
  std::vector<TracedNode> trace;
  for (const Datapath& datapath : {no_tree, beyond, no_unit}) {
    Tiles tiles = tiles_for(plain_datapath());
    EXPECT_THROW(Emulator{datapath}, InputError);
    EXPECT_THROW(emulate_exact(datapath, tiles), InputError);
    EXPECT_THROW(emulate_exact(datapath, a, b, 0), InputError);
    EXPECT_THROW(trace_exact(datapath, a, b, 0, trace), InputError);
    EXPECT_THROW(evaluators_of(datapath), InputError);
  }
}

}  // namespace
}  // namespace tcnum
