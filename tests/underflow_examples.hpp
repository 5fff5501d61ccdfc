// Dot products in fp32's own operations with sums that underflow, or are exactly zero, where the sign of the one is
// kept and that of the other is always positive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum::test {

struct UnderflowExample {
  const char* name;
  Datapath datapath;
  std::vector<std::uint64_t> a, b;
  std::uint64_t c, d;

  /// A tile of that dot problem alone.
  Tiles tile(std::size_t m, std::size_t n) const {
    const Numerics& x = datapath.numerics;
    Tiles t = make_tiles(x.a.format, x.b.format, x.c.format, x.result, 1, m, n, a.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
      for (std::size_t i = 0; i < m; ++i) t.a.set(t.a_index(0, i, k), a[k]);
      for (std::size_t j = 0; j < n; ++j) t.b.set(t.b_index(0, k, j), b[k]);
    }
    for (std::size_t i = 0; i < m * n; ++i) t.c.set(i, c);
    return t;
  }
};

inline std::vector<UnderflowExample> underflow_examples() {
  using enum FormatId;
  constexpr auto kKept = Subnormals::kept, kFlushed = Subnormals::flushed;
  const auto single = [](Subnormals s) { return round_to(format(fp32), Rounding::nearest_even, Overflow::ieee, s); };
  const auto product = [](int k) { return Term{Term::Kind::product, k}; };
  const auto node = [](int i) { return Term{Term::Kind::node, i}; };
  const Term c{Term::Kind::accumulator, 0};
  // Unit 0 rounds to fp32, and its zeros are positive; unit 1 is IEEE 754's.
  const auto datapath = [&](OperandRule a, OperandRule b, OperandRule of_c, Subnormals of_sums, Tree tree) {
    Datapath d;
    Numerics& n = d.numerics;
    n.a = a;
    n.b = b;
    n.c = of_c;
    n.result = fp32;
    n.nan.code = nan_code(format(fp32));
    n.units[0].result = {single(of_sums)};
    n.units[0].zero_sign = ZeroSign::positive;
    n.units[1].result = {single(kKept)};
    d.unit_names = {"positive", "ieee"};
    d.tree = std::move(tree);
    return d;
  };
  const auto operand = [](FormatId f, Subnormals s) {
    OperandRule rule;
    rule.format = f;
    rule.subnormals = s;
    return rule;
  };
  const auto with_products_rounded = [&](Datapath d, Subnormals s) {
    d.numerics.product.round = {single(s)};
    return d;
  };

  std::vector<UnderflowExample> all;
  {
    Tree tree{8, {{0, {product(0)}}, {0, {node(0), c}}}};
    for (int k = 1; k < 4; ++k) tree.nodes.push_back({0, {product(k), node(k)}});
    tree.nodes.push_back({0, {product(4)}});
    tree.nodes.push_back({0, {node(5), node(4)}});
    tree.nodes.push_back({0, {product(5), node(6)}});
    tree.nodes.push_back({0, {product(6), node(7)}});
    tree.nodes.push_back({0, {product(7)}});
    tree.nodes.push_back({1, {node(9), node(8)}});
    Datapath d = datapath(operand(tf32, kKept), operand(tf32, kKept), operand(fp16, kFlushed), kFlushed, tree);
    d.numerics.result = fp16;
    d.numerics.nan.code = nan_code(format(fp16));
    d.numerics.units[1].result = {single(kFlushed), round_to(format(fp16), Rounding::nearest_even)};
    all.push_back({"flushed sums of tiny products",
                   d,
                   {0x2000, 0x2000, 0x81000000, 0x80014000, 0x4000, 0x2000, 0x80002000, 0x2000},
                   {0x40000, 0x80004000, 0x8002a000, 0x2000, 0xc000, 0x2000, 0x4000, 0x80004000},
                   0x5,
                   0x8000});
  }
  {
    const Tree tree{2, {{1, {product(0), c}}, {0, {product(1), node(0)}}}};
    all.push_back({"a flushed sum",
                   datapath(operand(fp32, kFlushed), operand(tf32, kFlushed), operand(fp32, kKept), kFlushed, tree),
                   {0x80000003, 0x80000219},
                   {0x4000, 0x2000},
                   0x80000800,
                   0x80000000});
  }
  const auto of_fp32 = [&](Tree tree) {
    return datapath(operand(fp32, kKept), operand(fp32, kKept), operand(fp32, kKept), kKept, std::move(tree));
  };
  constexpr std::uint64_t kTiny = 0x0d800000, kNegative = 0x80000000, kOne = 0x3f800000;  // kTiny²: 2^-200
  const Tree fma{1, {{0, {product(0), c}}, {1, {node(0)}}}}, alone{1, {{0, {product(0)}}, {1, {node(0), c}}}};
  all.push_back({"an FMA that underflows", of_fp32(fma), {kNegative | kTiny}, {kTiny}, 0, kNegative});
  all.push_back({"an FMA that underflows beside -0", of_fp32(fma), {kNegative | kTiny}, {kTiny}, kNegative, kNegative});
  all.push_back({"an FMA of zeros", of_fp32(fma), {kNegative}, {kOne}, kNegative, 0});
  all.push_back({"a product that underflows", of_fp32(alone), {kNegative | kTiny}, {kTiny}, kNegative, kNegative});
  all.push_back({"a product of zero", of_fp32(alone), {kNegative}, {kOne}, kNegative, 0});
  all.push_back({"a rounded product, then a zero",
                 with_products_rounded(of_fp32(alone), kKept),
                 {kNegative | kTiny},
                 {kTiny},
                 kNegative,
                 0});
  const Tree two{2, {{0, {product(0), product(1)}}, {1, {node(0), c}}}};
  all.push_back({"two rounded products, then zeros",
                 with_products_rounded(of_fp32(two), kFlushed),
                 {kNegative | kTiny, kNegative},
                 {kTiny, kOne},
                 kNegative,
                 0});
  Datapath flushes = with_products_rounded(of_fp32(two), kKept);
  flushes.numerics.units[0].result = {single(kFlushed)};
  all.push_back({"two rounded products that underflow", flushes, {0x80000001, 0}, {kOne, kOne}, kNegative, kNegative});
  return all;
}

}  // namespace tcnum::test
