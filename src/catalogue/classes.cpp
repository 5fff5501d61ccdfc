#include "classes.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "operand_formats.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

/// The tree of so many evaluations one after the other, each with the one before's result for its c.
Tree chained(const Tree& tree, int times) {
  Tree chain{tree.k * times, {}};
  const auto size = static_cast<int>(tree.nodes.size());
  for (int i = 0; i < times; ++i) {
    for (Node node : tree.nodes) {
      for (Term& term : node.terms) {
        if (term.kind == Term::Kind::product)
          term.index += i * tree.k;
        else if (term.kind == Term::Kind::node)
          term.index += i * size;
        else if (i > 0)
          term = {Term::Kind::node, i * size - 1};
      }
      chain.nodes.push_back(std::move(node));
    }
  }
  return chain;
}

void add(std::vector<DatapathClass>& classes, CatalogueEntry entry) {
  const auto its = std::ranges::find_if(
      classes, [&](const DatapathClass& each) { return same_chain(each.front().datapath, entry.datapath); });
  if (its == classes.end())
    classes.push_back({{std::move(entry)}});
  else
    its->entries.push_back(std::move(entry));
}

bool is_like(const Instruction& in, const Instruction& other) {
  return !in.sparse() && in.scales == other.scales && in.modifier == other.modifier && in.a == other.a &&
         in.b == other.b && in.c == other.c && in.d == other.d;
}

void add_like(ArchId arch, const Instruction& instruction, std::vector<DatapathClass>& classes) {
  std::vector<const Instruction*> all = {&instruction};
  for (const Instruction* in : instructions_of(arch)) {
    if (in != &instruction && is_like(*in, instruction)) all.push_back(in);
  }
  for (const Instruction* in : all) {
    std::vector<CatalogueEntry> entries = catalogue(arch, *in);
    if (!entries.empty()) add(classes, std::move(entries.front()));
  }
}

}  // namespace

bool same_chain(const Datapath& one, const Datapath& other) {
  if (one.numerics != other.numerics) return false;
  const int k = std::lcm(one.tree.k, other.tree.k);
  return chained(one.tree, k / one.tree.k) == chained(other.tree, k / other.tree.k);
}

std::vector<DatapathClass> classes_like(ArchId arch, const Instruction& instruction) {
  std::vector<DatapathClass> classes;
  add_like(arch, instruction, classes);
  return classes;
}

std::vector<DatapathClass> classes_of(std::string_view operands) {
  std::vector<DatapathClass> classes;
  for (const Arch& each : kArchs) {
    const std::optional<Operands> taken = find_operands(operands, each.id);
    if (!taken) continue;
    try {
      for (const Instruction* in : instructions_for(*taken)) add_like(each.id, *in, classes);
    } catch (const InputError&) {
      continue;  // no datapath is known of them
    }
  }
  return classes;
}

}  // namespace tcnum
