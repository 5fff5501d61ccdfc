#include "choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "layout.hpp"
#include "short_datapath.hpp"
#include "tcnum/tcnum.hpp"

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

/// Whether chains of them, with as many products, are the same.
bool alike(const Datapath& one, const Datapath& other) {
  if (one.numerics != other.numerics) return false;
  const int k = std::lcm(one.tree.k, other.tree.k);
  return chained(one.tree, k / one.tree.k) == chained(other.tree, k / other.tree.k);
}

void add(std::vector<DatapathClass>& classes, CatalogueEntry entry) {
  const auto its = std::ranges::find_if(
      classes, [&](const DatapathClass& each) { return alike(each.front().datapath, entry.datapath); });
  if (its == classes.end())
    classes.push_back({{std::move(entry)}});
  else
    its->entries.push_back(std::move(entry));
}

bool is_like(const Instruction& in, const Instruction& other) {
  return !in.sparse() && !in.scaled() && in.modifier == other.modifier && in.a == other.a && in.b == other.b &&
         in.c == other.c && in.d == other.d;
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

std::vector<DatapathClass> classes_like(ArchId arch, const Instruction& instruction) {
  std::vector<DatapathClass> classes;
  add_like(arch, instruction, classes);
  return classes;
}

std::vector<DatapathClass> classes_of(FormatId operands) {
  std::vector<DatapathClass> classes;
  for (const Arch& each : kArchs) {
    try {
      add_like(each.id, instruction_for(each.name, operands, operands), classes);
    } catch (const InputError&) {
      continue;  // it has none
    }
  }
  return classes;
}

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
