// Which datapaths of a space are one and the same: the rules that docs/space.md states and proves, by its numbers.
#pragma once

#include <string_view>
#include <vector>

#include "space.hpp"

namespace tcnum {

/// A rule of docs/space.md.
struct EquivalenceRule {
  int number;
  std::string_view title;
};
/// In the order in which they are applied.
std::vector<EquivalenceRule> floating_rules();
std::vector<EquivalenceRule> integer_rules();

/// The representative of a choice's class, of sums of floating-point numbers and of integers.
Choice canonical_floating(const Space& space, const Choice& choice);
Choice canonical_integers(const Space& space, const Choice& choice);

}  // namespace tcnum
