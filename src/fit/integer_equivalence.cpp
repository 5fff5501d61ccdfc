// Which datapaths that sum integers are one and the same. docs/space.md, "Integers", states and proves each rule; the
// numbers refer to it.
#include <algorithm>
#include <numeric>

#include "space.hpp"
#include "src/questions/factors.hpp"

namespace tcnum {

/// The first structure of the space that is a chain with that last block.
int Space::chain_that_ends_with(const std::vector<int>& block) const {
  const auto found = std::ranges::find_if(structures(), [&](const Structure& s) {
    return s.combination == Combination::chain && s.blocks.back() == block;
  });
  return static_cast<int>(found - structures().begin());
}

Choice Space::merge_integers(const Choice& choice) const {
  const Structure& s = structure(choice);
  const ExtremeProducts products = extreme_products(format(instruction_->a), format(instruction_->b));
  const std::int64_t most = std::max(-products.least.product(), products.largest.product()) * instruction_->products();
  const bool sums_may_overflow = most > range_of(format(instruction_->d)).highest;
  const bool one_sign = products.least.product() >= 0;  // of bits: whatever their operation
  const bool wraps = overflow(choice) == Overflow::wrap;
  const bool wraps_inside = inner_overflow(choice) == Overflow::wrap;

  const bool residue = wraps && wraps_inside;                                              // rule 1
  const bool only_c_overflows = s.adds_apart() && !sums_may_overflow;                      // rule 2
  const bool never_returns = !s.adds_apart() && one_sign && !wraps && !wraps_inside;       // rule 3
  const bool last_block_alone = !s.adds_apart() && (wraps_inside || (wraps && one_sign));  // rules 4 and 5
  Choice c = choice;
  if (residue || only_c_overflows || never_returns) {
    std::vector<int> all(static_cast<std::size_t>(s.tree.k));
    std::iota(all.begin(), all.end(), 0);
    set(c, Property::structure, chain_that_ends_with(all));
    put<Property::inner_result>(c, InnerResult::as_output);
  } else if (last_block_alone) {
    set(c, Property::structure, chain_that_ends_with(s.blocks.back()));
  }
  return c;
}

}  // namespace tcnum
