// Which datapaths that sum integers are one and the same. docs/equivalence.md, "Integers", states and proves each rule.
#include <algorithm>
#include <array>
#include <numeric>

#include "equivalence.hpp"
#include "src/questions/numbers.hpp"

namespace tcnum {
namespace {

/// What the rules know of a datapath.
struct IntegerFacts {
  bool in_a_chain;         ///< c in the first block
  bool wraps;              ///< the last node does
  bool wraps_inside;       ///< the others do
  bool sums_may_overflow;  ///< of products alone
  bool products_one_sign;  ///< none is negative; of bits: whatever their operation

  IntegerFacts(const Space& space, const Choice& choice) {
    const Instruction& in = space.instruction();
    const ExtremeProducts products = extreme_products(format(in.a), format(in.b));
    const std::int64_t most = std::max(-products.least.product(), products.largest.product()) * in.products();
    in_a_chain = !space.structure(choice).adds_apart();
    wraps = space.overflow(choice) == Overflow::wrap;
    wraps_inside = space.inner_overflow(choice) == Overflow::wrap;
    sums_may_overflow = most > range_of(format(in.d)).highest;
    products_one_sign = products.least.product() >= 0;
  }
};

/// What a datapath to which a rule applies is the same as.
enum class SameAs : std::uint8_t { one_block, any_chain_with_its_last_block };

struct IntegerRule {
  SameAs same_as;
  bool (*applies)(const IntegerFacts&);
};
/// Numbered from 1 on.
constexpr std::array<IntegerRule, 5> kIntegerRules = {{
    {SameAs::one_block, [](const IntegerFacts& f) { return f.wraps && f.wraps_inside; }},
    {SameAs::one_block, [](const IntegerFacts& f) { return !f.in_a_chain && !f.sums_may_overflow; }},
    {SameAs::one_block,
     [](const IntegerFacts& f) { return f.in_a_chain && f.products_one_sign && !f.wraps && !f.wraps_inside; }},
    {SameAs::any_chain_with_its_last_block, [](const IntegerFacts& f) { return f.in_a_chain && f.wraps_inside; }},
    {SameAs::any_chain_with_its_last_block,
     [](const IntegerFacts& f) { return f.in_a_chain && f.wraps && f.products_one_sign; }},
}};

/// The first structure of the space that is a chain with that last block.
int chain_that_ends_with(const Space& space, const std::vector<int>& block) {
  const auto found = std::ranges::find_if(space.structures(), [&](const Structure& s) {
    return s.combination == Combination::chain && s.blocks.back() == block;
  });
  return static_cast<int>(found - space.structures().begin());
}

}  // namespace

Choice canonical_integers(const Space& space, const Choice& choice) {
  const IntegerFacts facts(space, choice);
  const auto rule = std::ranges::find_if(kIntegerRules, [&](const IntegerRule& r) { return r.applies(facts); });
  if (rule == kIntegerRules.end()) return choice;
  Choice c = choice;
  std::vector<int> last = space.structure(choice).blocks.back();
  if (rule->same_as == SameAs::one_block) {
    last.resize(static_cast<std::size_t>(space.instruction().products()));
    std::iota(last.begin(), last.end(), 0);
    space.put<Property::inner_result>(c, InnerResult::as_output);
  }
  Space::set(c, Property::structure, chain_that_ends_with(space, last));
  return c;
}

}  // namespace tcnum
