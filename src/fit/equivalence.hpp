// Which datapaths of a space are one and the same: the rules that docs/equivalence.md states and proves, by its
// numbers.
#pragma once

#include "space.hpp"

namespace tcnum {

/// Passes over the rules until none applies any more, as one can make another apply.
template <class Pass>
Choice settled(Choice choice, const Pass& pass) {
  for (;;) {
    const Choice next = pass(choice);
    if (next == choice) return choice;
    choice = next;
  }
}

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
