// Which datapaths of a space are one and the same: the rules that docs/equivalence.md states and proves, by its
// numbers.
#pragma once

#include <string_view>
#include <vector>

#include "space.hpp"

namespace tcnum {

/// A rule of docs/equivalence.md.
struct EquivalenceRule {
  int number;
  std::string_view title;
};
/// Those of a table, of which each row has the number and the title of a rule.
template <class Table>
std::vector<EquivalenceRule> rules_of(const Table& table) {
  std::vector<EquivalenceRule> rules;
  for (const auto& row : table) rules.push_back({row.number, row.title});
  return rules;
}

/// Passes over the rules until none applies any more, as one can make another apply.
template <class Pass>
Choice settled(Choice choice, const Pass& pass) {
  for (;;) {
    const Choice next = pass(choice);
    if (next == choice) return choice;
    choice = next;
  }
}

/// In the order in which they are applied.
std::vector<EquivalenceRule> floating_rules();
std::vector<EquivalenceRule> integer_rules();
std::vector<EquivalenceRule> apart_rules();
std::vector<EquivalenceRule> scaled_rules();

/// The representative of a choice's class, of sums of floating-point numbers and of integers.
Choice canonical_floating(const Space& space, const Choice& choice);
Choice canonical_integers(const Space& space, const Choice& choice);
/// Of sums of floating-point numbers that are summed apart from c.
Choice canonical_apart(const Space& space, const Choice& choice);
/// Where there are block scales.
Choice canonical_scaled(const Space& space, const Choice& choice);
/// Whether no rule that holds for any edge rules replaces its core.
bool is_first_scaled_core(const Space& space, const Choice& choice);

}  // namespace tcnum
