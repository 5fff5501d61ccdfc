#include "statements.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tcnum {
namespace {

using enum StatedProperty;

/// Of the instruction that either work computes with.
constexpr Statement report(std::string_view says, StatedValue read_as) {
  return {ArchId::sm_90,   "wgmma.m64n8k32.f32.e4m3.e4m3",
          "DeepSeek-V3",   "DeepSeek-AI, DeepSeek-V3 Technical Report (arXiv 2412.19437v2)",
          "section 3.5.2", says,
          read_as};
}
constexpr Statement insights(std::string_view says, StatedValue read_as) {
  Statement statement = report(says, read_as);
  statement.work = "Zhao et al.";
  statement.origin = "Zhao et al., Insights into DeepSeek-V3 (ISCA 2025, arXiv 2505.09343)";
  statement.where = "section 3.1.1";
  return statement;
}

// The leading bit is one of the report's 14 bits; the later work counts 13 below it.
constexpr auto kStatements = std::to_array<Statement>({
    report("aligning 32 mantissa products", {block_k, 32}),
    report("the highest 14 bits of each", {fraction_bits, 13}),
    report("truncates bits exceeding this range", {align_rounding, Rounding::toward_zero}),
    report("accumulation […] employs 14-bit precision", {output_fraction_bits, 13}),
    insights("aligning 32 mantissa products", {block_k, 32}),
    insights("their highest 13 fraction bits", {fraction_bits, 13}),
    insights("truncates bits exceeding this range", {align_rounding, Rounding::toward_zero}),
    insights("FP22 registers ([…] 13 mantissa bits)", {output_fraction_bits, 13}),
});

/// The tree of a chain: each node has c or the node before, and the next so many products.
Tree chain(int k, int block_k, int unit) {
  Tree tree{k, {}};
  for (int first = 0; first < k; first += block_k) {
    Node node{unit, {}};
    if (first == 0)
      node.terms.push_back({Term::Kind::accumulator, 0});
    else
      node.terms.push_back({Term::Kind::node, static_cast<int>(tree.nodes.size()) - 1});
    for (int p = first; p < std::min(first + block_k, k); ++p) node.terms.push_back({Term::Kind::product, p});
    tree.nodes.push_back(std::move(node));
  }
  return tree;
}

/// How many products its blocks have, if the tree is a chain.
std::optional<int> block_of(const Tree& tree) {
  const Node& first = tree.nodes.front();
  const int block_k = static_cast<int>(first.terms.size()) - 1;
  if (block_k < 1 || tree != chain(tree.k, block_k, first.unit)) return std::nullopt;
  return block_k;
}

auto& unit_of(auto& datapath) {
  return datapath.numerics.units[static_cast<std::size_t>(datapath.tree.nodes.front().unit)];
}

}  // namespace

std::string_view name(StatedProperty property) {
  static constexpr std::array<std::string_view, 4> kNames = {"block_k", "fraction_bits", "align_rounding",
                                                             "output_fraction_bits"};
  return kNames[static_cast<std::size_t>(property)];
}

std::string StatedValue::text() const {
  return property == align_rounding ? std::string(tcnum::name(static_cast<Rounding>(value))) : std::to_string(value);
}

std::vector<StatedValue> StatedValue::alternatives() const {
  switch (property) {
    case block_k:
      return {{property, value / 2}};  // one of twice as many is the same, where these are all that there are
    case fraction_bits:
    case output_fraction_bits:
      return {{property, value - 1}, {property, value + 1}};
    case align_rounding:
      break;
  }
  std::vector<StatedValue> others;
  for (const Rounding each : {Rounding::toward_zero, Rounding::down, Rounding::nearest_even}) {
    if (static_cast<int>(each) != value) others.emplace_back(property, each);
  }
  return others;
}

std::span<const Statement> statements() { return kStatements; }

std::optional<StatedValue> stated_value(const Datapath& datapath, StatedProperty property) {
  const std::optional<int> block = block_of(datapath.tree);
  const Unit& unit = unit_of(datapath);
  if (!block || unit.result.empty()) return std::nullopt;
  switch (property) {
    case block_k:
      return StatedValue{property, *block};
    case fraction_bits:
      return StatedValue{property, unit.fraction_bits};
    case align_rounding:
      return StatedValue{property, unit.align_rounding};
    case output_fraction_bits:
      break;
  }
  return StatedValue{property, (unit.result.end() - 1)->fraction_bits};
}

std::optional<Datapath> with(Datapath datapath, const StatedValue& stated) {
  if (!stated_value(datapath, stated.property)) return std::nullopt;
  Unit& unit = unit_of(datapath);
  switch (stated.property) {
    case block_k:
      datapath.tree = chain(datapath.tree.k, stated.value, datapath.tree.nodes.front().unit);
      break;
    case fraction_bits:
      unit.fraction_bits = stated.value;
      break;
    case align_rounding:
      unit.align_rounding = static_cast<Rounding>(stated.value);
      break;
    case output_fraction_bits:
      unit.result.step[static_cast<std::size_t>(unit.result.count) - 1].fraction_bits = stated.value;
      break;
  }
  return datapath;
}

}  // namespace tcnum
