// Which datapaths that sum integers are one and the same. docs/space.md, "Integers", states and proves each rule; the
// numbers refer to it.
#include <algorithm>

#include "integers.hpp"
#include "tcnum/space.hpp"

namespace tcnum {

Choice Space::merge_integers(const Choice& choice) const {
  const ExtremeProducts products = extreme_products(format(instruction_->a), format(instruction_->b));
  const std::int64_t most = std::max(-products.least.product(), products.largest.product()) * instruction_->k;
  const bool sums_may_overflow = most > range_of(format(instruction_->d)).highest;
  const bool one_sign = products.least.product() >= 0;  // of bits: whatever their operation

  const bool wraps = overflow(choice) == Overflow::wrap;                          // rule 1
  const bool clamps_once = structure(choice).adds_apart() && !sums_may_overflow;  // rule 2
  const bool never_returns = !structure(choice).adds_apart() && one_sign;         // rule 3
  if (!wraps && !clamps_once && !never_returns) return choice;

  Choice c = choice;
  const auto one_block = std::ranges::find_if(
      structures_, [](const Structure& s) { return s.combination == Combination::chain && s.blocks.size() == 1; });
  set(c, Property::structure, static_cast<int>(one_block - structures_.begin()));
  return c;
}

}  // namespace tcnum
