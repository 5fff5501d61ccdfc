#include "datapath_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tcnum {
namespace {

/// Nodes of one unit that have products for terms, or of one that have none.
struct NodeGroup {
  int unit = 0;
  bool has_products = false, takes_c = false, takes_nodes = false;
  int nodes = 0;
  std::vector<int> sizes;  ///< numbers of products, each once
};

/// In the order of evaluation.
std::vector<NodeGroup> groups_of(const Tree& tree) {
  std::vector<NodeGroup> groups;
  for (const Node& node : tree.nodes) {
    const auto count = [&](Term::Kind kind) {
      return static_cast<int>(std::ranges::count(node.terms, kind, &Term::kind));
    };
    const int products = count(Term::Kind::product);
    auto group = std::ranges::find_if(
        groups, [&](const NodeGroup& g) { return g.unit == node.unit && g.has_products == (products > 0); });
    if (group == groups.end()) {
      groups.push_back({node.unit, products > 0, false, false, 0, {}});
      group = groups.end() - 1;
    }
    ++group->nodes;
    group->takes_c = group->takes_c || count(Term::Kind::accumulator) > 0;
    group->takes_nodes = group->takes_nodes || count(Term::Kind::node) > 0;
    if (std::ranges::find(group->sizes, products) == group->sizes.end()) group->sizes.push_back(products);
  }
  return groups;
}

/// " RZ m31→RN".
std::string steps_text(const RoundSteps& steps, const Format& result) {
  if (steps.empty()) return "";
  if (!result.floating) {
    const bool wraps = std::ranges::any_of(steps, [](const RoundStep& s) { return s.overflow == Overflow::wrap; });
    return wraps ? " wraps" : " saturates";
  }
  std::vector<std::string> each;
  for (const RoundStep& step : steps) {
    each.push_back(
        fmt::format("{}{}", short_text(step.rounding),
                    step.fraction_bits == result.fraction_bits ? "" : fmt::format(" m{}", step.fraction_bits)));
  }
  return fmt::format(" {}", fmt::join(each, "→"));
}

/// " F=24|32 RD".
std::string cut_text(const Unit& unit) {
  if (unit.fraction_bits == kExact) return "";
  std::string text = fmt::format(" F={}", unit.fraction_bits);
  if (unit.first_fraction_bits) text += fmt::format("|{}", *unit.first_fraction_bits);
  if (unit.align_rounding != Rounding::toward_zero) text += fmt::format(" cut {}", short_text(unit.align_rounding));
  return text;
}

std::string group_text(const NodeGroup& group, const Unit& unit, const Format& result, bool scaled) {
  const std::string rest = cut_text(unit) + steps_text(unit.result, result);
  if (!group.has_products) {
    if (group.nodes == 1 && group.takes_c) return "+c" + rest;
    return fmt::format("{} add{}{}", group.nodes, group.nodes == 1 ? "" : "s", rest);
  }
  const bool exact = unit.fraction_bits == kExact;
  const bool multiply_add = exact && group.sizes == std::vector{1} && (group.takes_c || group.takes_nodes);
  return fmt::format("{}×{}{}{}{}", group.nodes, fmt::join(group.sizes, "/"),
                     multiply_add ? " FMA" : (exact ? " exact" : ""), scaled ? " scaled" : "", rest);
}

bool flushes(const Datapath& datapath) {
  const Numerics& n = datapath.numerics;
  const auto flushed = [](const RoundStep& step) { return step.subnormals == Subnormals::flushed; };
  return std::ranges::any_of(std::array{n.a, n.b, n.c},
                             [](const OperandRule& rule) { return rule.subnormals == Subnormals::flushed; }) ||
         std::ranges::any_of(n.units, [&](const Unit& unit) { return std::ranges::any_of(unit.result, flushed); });
}

}  // namespace

std::string_view short_text(Rounding mode) {
  static constexpr std::array<std::string_view, 5> kShort = {"RZ", "RN", "RA", "RU", "RD"};
  return kShort[static_cast<std::size_t>(mode)];
}

std::string short_text(const Datapath& datapath) {
  const Numerics& numerics = datapath.numerics;
  const Format& result = format(numerics.result);
  std::vector<std::string> parts;
  if (!numerics.product.round.empty()) parts.push_back("products" + steps_text(numerics.product.round, result));
  const bool sums_scaled = std::ranges::any_of(numerics.units, &Unit::scaled);  // else each product is
  for (const NodeGroup& group : groups_of(datapath.tree)) {
    const Unit& unit = numerics.units[static_cast<std::size_t>(group.unit)];
    parts.push_back(group_text(group, unit, result, sums_scaled ? unit.scaled : numerics.scales.has_value()));
  }
  if (flushes(datapath)) parts.emplace_back("no subnormals");
  return fmt::format("{}", fmt::join(parts, ", "));
}

// --- The instruction that stands for a format

std::string marked_name(std::string_view instruction, std::string_view lowered_to) {
  return lowered_to.empty() ? std::string(instruction) : fmt::format("{} (lowered to {})", instruction, lowered_to);
}

std::string choice_text(ArchId id, const Instruction& chosen) {
  const auto name = [](const CatalogueEntry& entry) {
    return marked_name(entry.instruction->name(), entry.lowered_to);
  };
  const std::vector<DatapathClass> classes = classes_like(id, chosen);
  const std::string_view library = library_of(id, chosen);
  std::string text = fmt::format("{} on {}: {}", format(chosen.a).name, arch(id).name,
                                 classes.empty() ? chosen.name() : name(classes.front().front()));
  if (!library.empty()) text += fmt::format(", of which {} makes large products", library);
  std::vector<std::string> others;
  for (std::size_t i = 1; i < classes.size(); ++i) {
    const CatalogueEntry& entry = classes[i].front();
    others.push_back(fmt::format("{} [{}]", name(entry), short_text(entry.datapath)));
  }
  if (!others.empty()) text += fmt::format(". Others whose datapath differs: {}", fmt::join(others, ", "));
  return wrapped(text, 0) + "\n";
}

}  // namespace tcnum
