#include "needed_bits.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "emu/bit_width.hpp"
#include "emu/rounding_steps.hpp"
#include "emu/units.hpp"

namespace tcnum::panels {
namespace {

/// So many always stay: every evaluator has room for them.
constexpr int kFewBits = 32;
/// An exact sum's terms may be cut to so many instead, if that suffices.
constexpr int kMostOfExact = 48;
/// Of exponents, and of bits, that no limit is known for.
constexpr int kFar = 1 << 24;

/// What is known of all numbers that an operand, a product or a sum can be.
struct Extent {
  int lowest = 0;         ///< it is a multiple of 2^lowest
  int top = 0;            ///< and below 2^top
  int width = 0;          ///< bits from its leading one to its last, at most
  int most_exponent = 0;  ///< it takes part in alignments with no higher exponent
  int headroom = 1;       ///< it is below 2^(that exponent + headroom)
  int below = kFar;       ///< of a sum, it is a multiple of 2^(what it was aligned to − below)
};

Extent extent_of(FormatId id) {
  const Format& f = format(id);
  const bool is_power = f.floating && f.fraction_bits == 0;  // the smallest is below the normal numbers
  Extent x;
  x.lowest = f.min_exponent() - f.fraction_bits - (is_power ? 1 : 0);
  x.top = f.max_exponent() + (f.floating ? 1 : 2);  // −2^31 is an integer, too
  x.width = f.fraction_bits + 1;
  x.most_exponent = std::max(f.max_exponent(), f.min_exponent());
  return x;
}

int carries(std::size_t count) { return bit_width(static_cast<std::uint64_t>(count - 1)); }

/// The most bits that are needed of a step or of a cut, of all nodes that have it.
class Needed {
 public:
  void add(int bits) { most_ = std::max(most_, bits); }
  /// All numbers that the step meets are multiples of 2^lowest.
  void meets(int lowest) { lowest_ = std::min(lowest_, lowest); }
  /// The step's largest exponent, of results' at most. Where all numbers but zeros are beyond it, and become infinite,
  /// any below theirs does: one that is not as far from other numbers as it may be.
  int largest_of(const RoundStep& s, int of_results) const {
    const bool is_plain = !s.from_alignment && !s.twos_complement && s.overflow != Overflow::wrap;
    const bool meets_some = lowest_ < kFar;  // some node has it
    const bool are_beyond = lowest_ > s.max_exponent && lowest_ >= s.min_exponent;
    if (!is_plain || !meets_some || !are_beyond || !to_infinity(s, false) || !to_infinity(s, true))
      return s.max_exponent;
    return std::max(s.max_exponent, std::min(lowest_ - 1, of_results));
  }
  int of(int fraction_bits) const {
    const bool stays = fraction_bits == kExact && most_ > kMostOfExact;
    return stays ? kExact : std::min(fraction_bits, std::max(most_, kFewBits));
  }

 private:
  int most_ = 0, lowest_ = kFar;
};

class Survey {
 public:
  Survey(const Numerics& numerics, const SortedTree& tree) : n_(numerics) {
    c_ = extent_of(n_.c.format);
    product_ = times(extent_of(n_.a.format), extent_of(n_.b.format));
    if (n_.scales && !scales_sums(n_)) scale(product_);
    if (n_.product.exponent == ProductExponent::normalised) {
      product_.most_exponent = std::max(product_.most_exponent, product_.top - 1);  // a zero has its operands'
      product_.headroom = 1;
    }
    round(n_.product.round, 0, product_steps_, product_);
    for (const SortedNode& node : tree.nodes) results_.push_back(sum(node));
  }

  const std::vector<SumReach>& sums() const { return sums_; }
  Numerics numerics() const {
    Numerics fewer = n_;
    take_off(product_steps_, fewer.product.round);
    for (std::size_t i = 0; i < kMaxUnits; ++i) {
      Unit& unit = fewer.units[i];
      take_off(steps_[i], unit.result);
      // Of terms that are never cut nothing has to be kept, unless others are.
      if (!cuts_terms(unit) && !unit.drop_below) continue;
      unit.fraction_bits = cuts_[i].of(unit.fraction_bits);
      if (unit.first_fraction_bits) unit.first_fraction_bits = first_cuts_[i].of(*unit.first_fraction_bits);
      if (unit.first_fraction_bits == unit.fraction_bits) unit.first_fraction_bits.reset();
    }
    return fewer;
  }

 private:
  using StepsNeeded = std::array<Needed, 3>;

  void take_off(const StepsNeeded& needed, RoundSteps& steps) const {
    for (std::size_t i = 0; i < static_cast<std::size_t>(steps.count); ++i) {
      RoundStep& s = steps.step[i];
      s.max_exponent = needed[i].largest_of(s, format(n_.result).max_exponent());
      s.fraction_bits = needed[i].of(s.fraction_bits);
    }
  }

  static Extent times(const Extent& x, const Extent& y) {
    return {x.lowest + y.lowest,     x.top + y.top, x.width + y.width, x.most_exponent + y.most_exponent,
            x.headroom + y.headroom, kFar};
  }
  /// Times two scales, aligned with their exponents too.
  void scale(Extent& x) const {
    const Extent by = extent_of(n_.scales->format);
    const int below = x.below + 2 * format(n_.scales->format).fraction_bits;
    x = times(times(x, by), by);
    x.below = below;
  }

  Extent sum(const SortedNode& node) {
    const auto number = static_cast<std::size_t>(node.unit);
    const Unit& unit = n_.units[number];
    Extent all{kFar, -kFar, 0, 0, 1, kFar};  // aligned to 2^0 if to nothing
    const ZeroExponent& zero = unit.zero_exponent;
    const bool has_value = zero.kind == ZeroExponentKind::floor || zero.kind == ZeroExponentKind::zeros;
    if (has_value) all.most_exponent = std::max(all.most_exponent, zero.value);
    for (const Term& t : node.terms) {
      const Extent& x = term(t);
      all.lowest = std::min(all.lowest, x.lowest);
      all.top = std::max(all.top, x.top);
      all.most_exponent = std::max(all.most_exponent, x.most_exponent);
      all.headroom = std::max(all.headroom, x.headroom);
    }
    const int first_bits = unit.first_fraction_bits.value_or(unit.fraction_bits);
    first_cuts_[number].add(all.most_exponent - term(node.terms.front()).lowest);
    cuts_[number].add(all.most_exponent - all.lowest);
    const int most_bits = std::max(first_bits, unit.fraction_bits),
              least_bits = std::min(first_bits, unit.fraction_bits);
    if (least_bits < kFar / 16 && least_bits != kExact) all.top = std::max(all.top, all.most_exponent - least_bits + 1);
    all.top += carries(node.terms.size());
    all.width = all.top - all.lowest;
    if (most_bits != kExact) {
      all.below = most_bits;
      all.width = std::min(all.width, most_bits + all.headroom + carries(node.terms.size()));
      if (zero.kind == ZeroExponentKind::floor) all.lowest = std::max(all.lowest, zero.value - most_bits);
    }
    sums_.push_back({all.lowest, all.top});
    all.headroom += carries(node.terms.size());
    if (unit.scaled) {
      scale(all);
      if (unit.scale_exponents_alone) all.headroom = kFar;
    }
    round(unit.result, all.most_exponent, steps_[number], all);
    return all;
  }

  const Extent& term(const Term& t) const {
    return t.kind == Term::Kind::product ? product_
           : t.kind == Term::Kind::node  ? results_[static_cast<std::size_t>(t.index)]
                                         : c_;
  }

  /// What is left of numbers by rounding steps, and how many bits these need to leave as much.
  static void round(const RoundSteps& steps, int most_alignment, StepsNeeded& needed, Extent& x) {
    const bool outgrow = outgrow_exponent(steps);
    int most_of_zeros = x.most_exponent;  // steps leave zeros alone, of which others before them may have made some
    for (std::size_t i = 0; i < static_cast<std::size_t>(steps.count); ++i) {
      const RoundStep& s = steps.step[i];
      needed[i].meets(x.lowest);
      const bool has_least = s.min_exponent > -kUnbounded, has_most = s.max_exponent < kUnbounded;
      const bool is_fixed = s.min_exponent > s.max_exponent || s.twos_complement || s.overflow == Overflow::wrap;
      // What numbers beyond the largest become has so many bits.
      const bool may_be_largest =
          has_most && x.top > s.max_exponent + 1 && !(to_infinity(s, false) && to_infinity(s, true));
      if (is_fixed || may_be_largest)
        needed[i].add(s.fraction_bits);
      else if (s.from_alignment)
        needed[i].add(std::min(x.below, most_alignment - x.lowest));
      else
        needed[i].add(std::max(x.width - 1, has_least ? s.min_exponent - x.lowest : 0));
      x = after(s, most_alignment, x);
      most_of_zeros = std::max(most_of_zeros, x.most_exponent);
    }
    if (outgrow) x.headroom = kFar;
    const bool keeps_zeros = !steps.empty() && steps.step[static_cast<std::size_t>(steps.count - 1)].from_alignment;
    if (keeps_zeros) x.most_exponent = most_of_zeros;
  }
  static Extent after(const RoundStep& s, int most_alignment, Extent x) {
    const bool has_least = s.min_exponent > -kUnbounded, has_most = s.max_exponent < kUnbounded;
    const int unit_of_tiny = (s.from_alignment ? most_alignment : has_least ? s.min_exponent : -kFar) - s.fraction_bits;
    x.top = std::max(x.top, unit_of_tiny) + 1;
    if (s.from_alignment) {
      x.below = std::min(x.below, s.fraction_bits);
      ++x.headroom;  // to nearest it grows to its double at most
    } else {
      if (has_least) x.lowest = std::max(x.lowest, s.min_exponent - s.fraction_bits);
      x.width = std::min(x.width, s.fraction_bits + 1);
    }
    if (s.overflow == Overflow::wrap) x.width = std::max(x.width, s.fraction_bits + 2);
    if (has_most && x.top > s.max_exponent + 1) {
      x.top = std::min(x.top, s.max_exponent + 2);
      x.lowest = std::min(x.lowest, std::max(s.max_exponent, s.min_exponent) - s.fraction_bits);
      x.width = std::max(x.width, s.fraction_bits + 1);
      x.below = kFar;
    }
    if (s.from_alignment) return x;
    x.most_exponent = has_least ? std::max(x.top - 1, s.min_exponent) : x.top - 1;
    x.headroom = 1;
    x.below = kFar;
    return x;
  }

  const Numerics& n_;
  Extent c_, product_;
  std::vector<Extent> results_;
  std::vector<SumReach> sums_;
  StepsNeeded product_steps_;
  std::array<StepsNeeded, kMaxUnits> steps_;
  std::array<Needed, kMaxUnits> cuts_, first_cuts_;
};

}  // namespace

NeededBits needed_bits(const Numerics& numerics, const SortedTree& tree) {
  const Survey survey(numerics, tree);
  return {survey.numerics(), survey.sums()};
}

}  // namespace tcnum::panels
