// Which products share a block, and in which order the blocks come, from answers made for it.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "evidence.hpp"
#include "src/questions/numbers.hpp"
#include "src/questions/packing.hpp"

namespace tcnum {
namespace {

constexpr const char* kOrigin = "order";

/// From what swallows what: with +big in one place, −big in another and a unit everywhere else, the units that meet the
/// large value before it is gone are lost (after FPRev, Xie et al.). The number that is left tells how much was summed
/// up to the later of the two places.
class Swallowing {
 public:
  explicit Swallowing(Asker& asker)
      : asker_(asker),
        in_(asker.instruction()),
        make_(in_),
        d_(format(in_.d)),
        big_(std::min({make_.highest(), format(in_.c).max_exponent() - 6, d_.max_exponent() - 6})),
        unit_(std::max({make_.lowest(), d_.min_exponent(), big_ - 60})) {}

  Blocks blocks() {
    // The pivot that comes earliest tells most. c first; then a product, and of those that come no later, another.
    std::vector<int> everything(static_cast<std::size_t>(in_.products()));
    std::iota(everything.begin(), everything.end(), 0);
    int pivot = kAccumulator;
    Blocks best;
    constexpr int kMostPivots = 6;
    for (int round = 0; round < kMostPivots; ++round) {
      std::vector<int> partners = everything;
      std::erase(partners, pivot);
      Blocks blocks = blocks_after(pivot, partners);
      if (blocks.empty()) break;
      if (blocks.size() > best.size()) best = blocks;
      const std::vector<int>& first = blocks.front();
      if (first.size() <= 1) break;
      pivot = pivot == kAccumulator ? 0 : (first.front() != pivot ? first.front() : first.back());
    }
    return best;
  }

 private:
  static constexpr int kAccumulator = -1;  // as a pivot: c
  static constexpr std::size_t kVariants = 4;

  /// The signs of the unit and of the pivot.
  static bool unit_negative(std::size_t variant) { return (variant & 1) != 0; }
  static bool pivot_negative(std::size_t variant) { return (variant & 2) != 0; }

  Problem problem(int pivot, int partner, std::size_t variant) const {
    Problem p = zero_problem(in_);
    for (int i = 0; i < in_.products(); ++i) make_.put(p, i, unit_negative(variant), unit_);
    p.c = make_.accumulator(unit_negative(variant), unit_);
    if (pivot == kAccumulator)
      p.c = make_.accumulator(pivot_negative(variant), big_);
    else
      make_.put(p, pivot, pivot_negative(variant), big_);
    make_.put(p, partner, !pivot_negative(variant), big_);
    return p;
  }

  /// How many units are left, if it is a whole number of them: directed roundings leave a remainder of the large value
  /// in some variants.
  std::optional<int> units_left(std::uint64_t answer, std::size_t variant) const {
    const Decoded r = decode(d_, answer);
    if (!r.is_finite()) return std::nullopt;
    const double value =
        (r.negative ? -1 : 1) * std::ldexp(static_cast<double>(r.significand), r.exponent - d_.fraction_bits);
    const double units = value / std::ldexp(1.0, unit_) * (unit_negative(variant) ? -1 : 1);
    if (units < 0 || units > in_.products() || units != std::floor(units)) return std::nullopt;
    return static_cast<int>(units);
  }

  /// The partners of a pivot by the number of units left; the most units left: earliest. Empty, if some do not tell.
  Blocks blocks_after(int pivot, const std::vector<int>& partners) {
    std::vector<Problem> problems;
    for (int partner : partners) {
      for (std::size_t variant = 0; variant < kVariants; ++variant) {
        problems.push_back(problem(pivot, partner, variant));
      }
    }
    const auto answers = asker_.ask(problems, kOrigin);
    std::map<int, std::vector<int>, std::greater<>> by_units;
    for (std::size_t i = 0; i < partners.size(); ++i) {
      std::optional<int> most;
      for (std::size_t variant = 0; variant < kVariants; ++variant) {
        const auto& answer = answers[kVariants * i + variant];
        if (answer) most = std::max(most, units_left(*answer, variant));
      }
      if (!most) return {};
      by_units[*most].push_back(partners[i]);
    }
    Blocks blocks;
    for (auto& [units, members] : by_units) blocks.push_back(std::move(members));
    if (pivot != kAccumulator && !blocks.empty()) {
      blocks.front().push_back(pivot);
      std::ranges::sort(blocks.front());
    }
    return blocks;
  }

  Asker& asker_;
  const Instruction& in_;
  ProductMaker make_;
  const Format& d_;
  int big_, unit_;  // exponents
};

}  // namespace

Blocks find_blocks(Asker& asker) {
  const Instruction& in = asker.instruction();
  if (!format(in.d).floating) return {};  // nothing swallows an integer
  const Blocks found = Swallowing(asker).blocks();
  if (found.size() <= 1) return {};
  const std::size_t size = found.front().size();
  const bool regular =
      found.back().size() <= size &&
      std::all_of(found.begin(), found.end() - 1, [&](const auto& block) { return block.size() == size; });
  if (regular) return found;
  if (found.size() + size - 1 != static_cast<std::size_t>(in.products())) return {};
  // Single products, the first of which the pivot could not tell apart.
  Blocks singles;
  for (const auto& block : found) {
    for (int k : block) singles.push_back({k});
  }
  return singles;
}

}  // namespace tcnum
