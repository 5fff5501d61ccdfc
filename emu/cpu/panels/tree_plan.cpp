#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "emu/gpu/requirements.hpp"
#include "emu/required_formats.hpp"
#include "emu/rounding_steps.hpp"
#include "emu/units.hpp"
#include "number_codes.hpp"
#include "trees.hpp"

namespace tcnum::panels {
namespace {

/// Of a double: its significand's, and how far exponents may go with room for grids above and units below.
constexpr int kDoubleBits = 53, kMostExponent = 800;
/// Most bits that a number may have in units of its last kept bit, where that is found by adding 1.5 · 2^52 of them.
constexpr int kGridBits = 51;
/// What is known of the signs of a node's products goes into one word.
constexpr std::size_t kMostSigned = 64;
/// Operands that are cut as products are below 2^this: times one, what a biased zero stands for is below every unit.
constexpr int kMostGrownTop = 148;
/// A product of biased operands is right if they have so many bits together.
constexpr int kMostGrownBits = 51;
/// Alignments of numbers that are not zero, as grids go.
constexpr int kLeastAlignment = -500;
/// Bits that the first of two sums keeps of the largest term, besides those that carries take.
constexpr int kFirstSumBits = 50;

/// Of bits that no limit is known for.
constexpr int kFar = 1 << 24;

/// Least number of bits that `count` carries fit.
int carries(std::size_t count) { return static_cast<int>(std::bit_width(count - 1)); }

/// What is known of every number that an operand, a product or a node's result can be.
struct Bounds {
  int lowest = 0;         ///< it is a multiple of 2^lowest
  int top = 0;            ///< it is below 2^top in magnitude
  int width = 0;          ///< bits of its significand, at most
  int most_exponent = 0;  ///< that it is aligned with
  int headroom = 1;       ///< it is below 2^(the exponent that it is aligned with + headroom)
  bool is_odd = false;    ///< it may be rounded to odd, as a sum that is to be cut
  int below = kFar;       ///< of a sum, it is a multiple of 2^(what it is aligned to - below)
};

Bounds bounds_of(const OperandRule& rule) {
  const Format& f = format(rule.format);
  const int top = f.max_exponent() + (f.floating ? 1 : 2);  // −2^31 is an integer, too
  return {f.min_exponent() - f.fraction_bits, top, f.fraction_bits + 1, std::max(f.max_exponent(), f.min_exponent())};
}

Bounds bounds_of_scale(FormatId id) { return bounds_of({id, Subnormals::kept, SubnormalExponent::minimum}); }

/// Of a number times a scale, aligned with both their exponents.
Bounds scaled_bounds(const Bounds& x, const Bounds& by) {
  // A power of two makes a significand neither longer nor larger; the smallest is below the format's normal numbers.
  const bool is_power = by.width == 1;
  const int smallest = is_power ? by.lowest - 1 : by.lowest;
  return {x.lowest + smallest,
          x.top + by.top,
          x.width + (is_power ? 0 : by.width),
          x.most_exponent + by.most_exponent,
          x.headroom + (is_power ? 0 : 1),
          x.is_odd,
          x.below + (is_power ? 0 : by.width - 1)};
}

Bounds bounds_of_product(const Bounds& a, const Bounds& b, ProductExponent exponent) {
  Bounds x{a.lowest + b.lowest, a.top + b.top, a.width + b.width, a.most_exponent + b.most_exponent};
  if (exponent == ProductExponent::sum)
    x.headroom = a.headroom + b.headroom;
  else
    x.most_exponent = std::max(x.most_exponent, x.top - 1);  // a zero has its operands'
  return x;
}

/// Exponents of integers are those of their formats, as of subnormal numbers.
OperandRule rule_of_numbers(const OperandRule& rule) {
  if (format(rule.format).floating) return rule;
  return {rule.format, Subnormals::kept, SubnormalExponent::minimum};
}

bool is_bounded(int exponent) { return std::abs(exponent) < kUnbounded; }
/// Whether a step's smallest normal number, or its largest, is where doubles have no room for units or grids: then no
/// number may come there.
bool is_least_far(const RoundStep& s) {
  return is_bounded(s.min_exponent) && std::abs(s.min_exponent) + s.fraction_bits > kMostExponent;
}
bool is_most_far(const RoundStep& s) { return is_bounded(s.max_exponent) && std::abs(s.max_exponent) > kMostExponent; }

FewStarts few_starts_of(int fraction_bits) {
  FewStarts to{};
  const auto bits = [](double x) { return std::bit_cast<std::int64_t>(x); };
  const std::int64_t grid = bits(std::ldexp(1.5, kDoubleBits - 1 - fraction_bits)) - bits(1.0);
  for (unsigned of_a = 0; of_a < std::size(to.at); ++of_a) {
    for (unsigned of_b = 0; of_b < std::size(to.at); ++of_b) to.at[of_a][of_b] = grid + std::popcount(of_a ^ of_b);
  }
  return to;
}

TreeStep make_step(const RoundStep& s) {
  TreeStep to;
  to.step = s;
  const RoundStep single = round_to(format(FormatId::fp32), Rounding::nearest_even);
  to.is_single = s == single || s == round_to(format(FormatId::fp32), Rounding::nearest_even, Overflow::infinity);
  if (is_bounded(s.min_exponent) && !is_least_far(s)) to.least = std::ldexp(1.0, s.min_exponent);
  if (!is_bounded(s.max_exponent) || is_most_far(s)) return to;
  to.overflow = std::ldexp(1.0, s.max_exponent + 1);
  const int last = std::max(s.max_exponent, s.min_exponent) - s.fraction_bits;  // evenly spaced numbers have one unit
  // Of more bits than a double it is rounded to odd, which those have whose bits are all set.
  const double most =
      s.fraction_bits < kDoubleBits ? to.overflow - std::ldexp(1.0, last) : std::nextafter(to.overflow, 0);
  for (const bool negative : {false, true}) to.beyond[negative ? 1 : 0] = to_infinity(s, negative) ? HUGE_VAL : most;
  if (s.twos_complement) to.beyond[1] = to.overflow;
  if (s.overflow == Overflow::wrap) to.most = std::ldexp(1.0, s.max_exponent);
  return to;
}

TreeSteps make_steps(const RoundSteps& steps, UnderflowSign underflow_sign, bool zeros_align) {
  TreeSteps to;
  for (const RoundStep& s : steps) {
    if (!s.from_alignment) to.last_own = to.steps.size();
    to.steps.push_back(make_step(s));
    if (zeros_align && is_bounded(s.min_exponent)) to.steps.back().power_of_zero = std::ldexp(1.0, s.min_exponent);
  }
  to.drops_sign_of_zero = underflow_sign == UnderflowSign::positive;
  return to;
}

class Planner {
 public:
  Planner(const Numerics& numerics, const SortedTree& tree) : n_(numerics), tree_(tree), why_not_(plan()) {}
  WhyNot why_not() const { return why_not_; }
  TreePlan take() { return std::move(plan_); }

 private:
  WhyNot plan() {
    plan_.scales = n_.scales;
    plan_.scales_sums = scales_sums(n_);
    for (const OperandRule* rule : {&n_.a, &n_.b, &n_.c}) {
      if (rule->format == FormatId::ue8m0) return "its operands are powers of two";
    }
    plan_.asks_for_usual_operands = n_.a.format == FormatId::fp64 || n_.b.format == FormatId::fp64;
    plan_.asks_for_usual_c = n_.c.format == FormatId::fp64;
    if (plan_.asks_for_usual_c) limit(kLeastUsualC, c_);
    plan_.a = rule_of_numbers(n_.a);
    plan_.b = rule_of_numbers(n_.b);
    plan_.c = rule_of_numbers(n_.c);
    plan_.normalises_small = n_.c.subnormal_exponent == SubnormalExponent::normalised;
    plan_.least_c = std::ldexp(1.0, format(n_.c.format).min_exponent());
    plan_.result = n_.result;
    plan_.operation = n_.product.operation;
    plan_.product_exponent = n_.product.exponent;
    find_wanted_exponents();
    const bool signals = n_.result == FormatId::fp64 && (n_.nan.code & kQuietNan) != kQuietNan;
    if (n_.nan.propagate && signals) return "its NaNs signal, and fp64 operations make them quiet";
    plan_.nan = n_.nan;
    plan_.nan.propagate = n_.nan.propagate && format(n_.result).floating;  // integers are no NaNs
    plan_.leaves_some = plan_.nan.propagate;
    plan_.depth = static_cast<std::size_t>(tree_.tree.k);
    plan_.datapath = {n_, {}, tree_.tree};
    if (const WhyNot why_not = plan_product(); !why_not.empty()) return why_not;
    plan_.has_plain_products = only_multiplies() && plan_.infinite_from == HUGE_VAL && !plan_.products_to_odd;
    find_signs_of_zeros();
    for (const Unit& unit : n_.units) plan_.few_starts.push_back(few_starts_of(unit.fraction_bits));
    results_.resize(tree_.nodes.size());
    places_.resize(tree_.nodes.size());
    for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
      if (const WhyNot why_not = plan_node(i); !why_not.empty()) return why_not;
    }
    // Nobody else asks.
    const bool has_near = std::ranges::any_of(plan_.nodes, [](const TreeNode& n) { return n.sum == TreeSum::near; });
    plan_.leaves_some = plan_.leaves_some || plan_.asks_for_usual_operands || plan_.asks_for_usual_c;
    find_accumulations();
    plan_.stays_finite = has_near && !plan_.scales_sums && product_.top <= std::ilogb(kOrdinary) &&
                         plan_.infinite_from == HUGE_VAL && std::ranges::all_of(plan_.nodes, overflows_late);
    plan_.rounds_to_single = plan_.stays_finite && std::ranges::all_of(plan_.nodes, [](const TreeNode& node) {
                               return node.sum == TreeSum::near && node.is_single;
                             });
    return {};
  }
  /// Accumulations, if the tree is built of nothing else, and its nodes add as those do.
  void find_accumulations() {
    if (plan_.scales || !gpu::why_no_accumulations(n_, tree_).empty()) return;
    std::vector<TreeAccumulation> all;
    for (const gpu::Accumulation& from : gpu::accumulations_of(tree_)) {
      TreeAccumulation to;
      to.in_pairs = from.pair >= 0;
      to.sum = static_cast<std::size_t>(from.sum);
      to.pair = static_cast<std::size_t>(std::max(from.pair, 0));
      for (std::size_t i = 0; i < (to.in_pairs ? 2 : 1); ++i) {
        to.products[i] = static_cast<std::size_t>(from.products[i]);
        const TreeNode& products = plan_.nodes[to.products[i]];
        if (products.sum != TreeSum::cut_products) return;
      }
      const TreeNode& sum = plan_.nodes[to.sum];
      // Of what is ordinary nothing is below that.
      const double least = std::ldexp(1.0, kLeastOrdinaryProduct);
      if (std::max(sum.floor_power, plan_.nodes[to.pair].floor_power) > least) return;
      if (sum.is_down_single && sum.result.steps.front().least > least) return;
      if (sum.sum != TreeSum::cut || !(sum.is_single || sum.is_down_single)) return;
      put_grids(sum, to);
      all.push_back(to);
    }
    plan_.accumulations = std::move(all);
  }

  /// What an accumulation's numbers are cut by.
  void put_grids(const TreeNode& sum, TreeAccumulation& to) const {
    const auto grid = [](int fraction_bits) { return std::ldexp(1.5, kDoubleBits - 1 - fraction_bits); };
    const auto grid_of_node = [&](std::size_t node) { return grid(plan_.nodes[node].unit.fraction_bits); };
    for (std::size_t i = 0; i < 2; ++i) to.grid_of_products[i] = grid_of_node(to.products[i]);
    to.grid_of_pair = grid_of_node(to.pair);
    to.c_is_coarse = sum.terms[1].fraction_bits <= sum.terms[0].fraction_bits;
    to.coarse_grid = grid(sum.terms[to.c_is_coarse ? 1 : 0].fraction_bits);
    to.fine_grid = grid(sum.terms[to.c_is_coarse ? 0 : 1].fraction_bits);
    to.coarse_to_fine = to.fine_grid - to.coarse_grid;
    to.single_grid = grid(format(FormatId::fp32).fraction_bits);
    if (sum.is_down_single) to.down_grid = grid(sum.result.steps.front().step.fraction_bits);
    to.down_to_single = to.single_grid - to.down_grid;
  }

  /// Whether no sum of ordinary numbers is too large for a node's results.
  static bool overflows_late(const TreeNode& node) {
    constexpr int kSpareBits = 20;  // more than 1,025 terms and 3 roundings need, from 2^100 on
    return std::ranges::all_of(node.result.steps,
                               [](const TreeStep& s) { return s.overflow >= kOrdinary * (1 << kSpareBits); });
  }

  /// Of those numbers that these panels are for.
  static void limit(double least_usual, Bounds& x) {
    const int most = -std::ilogb(least_usual);
    x.lowest = std::max(x.lowest, -most - x.width + 1);
    x.top = std::min(x.top, most);
    x.most_exponent = std::min(x.most_exponent, most);
  }
  WhyNot plan_product() {
    Bounds a = bounds_of(n_.a), b = bounds_of(n_.b);
    if (n_.scales && !plan_.scales_sums) {
      const Bounds by = bounds_of_scale(n_.scales->format);
      a = scaled_bounds(a, by);
      b = scaled_bounds(b, by);
      if (std::max(a.width, b.width) > kDoubleBits) return "its operands times their scales are no doubles";
    }
    if (plan_.asks_for_usual_operands || a.lowest + b.lowest < kLeastAlignment) {
      plan_.asks_for_usual_operands = true;
      for (Bounds* x : {&a, &b}) limit(kLeastUsualOperand, *x);
    }
    product_ = bounds_of_product(a, b, n_.product.exponent);
    plan_.products_to_odd = product_.is_odd = product_.width > kDoubleBits;
    grows_products_ = std::max(a.top, b.top) <= kMostGrownTop && product_.width <= kMostGrownBits;
    if (n_.product.infinite_from && *n_.product.infinite_from < product_.top) {
      if (*n_.product.infinite_from < -kMostExponent) return "tiny products are infinite";
      plan_.infinite_from = std::ldexp(1.0, *n_.product.infinite_from);
    }
    if (!plan_.wants_exponents && std::ranges::all_of(n_.product.round, [&](const RoundStep& s) {
          return !s.from_alignment && s.subnormals == Subnormals::kept && product_.width <= s.fraction_bits + 1 &&
                 product_.lowest >= s.min_exponent - s.fraction_bits && product_.top <= s.max_exponent + 1;
        }))
      n_.product.round = {};  // all products are numbers that the steps leave, and nothing is aligned with them
    plan_.product = make_steps(n_.product.round, UnderflowSign::kept, plan_.zeros_align);
    return round(n_.product.round, 0, product_, plan_.product);
  }

  /// What rounding makes of a number; `carry_bits`: how many it may have above the alignment, beside its headroom.
  /// rounds_first: the first step is done before, with all of the number's bits.
  WhyNot round(const RoundSteps& steps, int carry_bits, Bounds& x, TreeSteps& to, bool rounds_first = false) const {
    const char* const kTooManyBits = "a result keeps more bits than doubles hold";
    const int alignment = x.most_exponent;
    int above = x.headroom + carry_bits;  // it is below 2^(the alignment + above)
    bool has_own_exponent = false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(steps.count); ++i) {
      const RoundStep& s = steps.step[i];
      const bool wraps = s.overflow == Overflow::wrap;
      if (wraps && x.top + 1 - x.lowest > kDoubleBits - 1) return kTooManyBits;
      // Rounding may take a number to the next power of two, and to the unit whatever is less.
      const bool may_be_small = is_bounded(s.min_exponent) && x.lowest < s.min_exponent;
      const bool is_directed = s.rounding == Rounding::up || s.rounding == Rounding::down;
      if (is_directed && (s.from_alignment || may_be_small))
        x.top = std::max(x.top, (s.from_alignment ? alignment : s.min_exponent) - s.fraction_bits);
      const bool may_be_large = is_bounded(s.max_exponent) && x.top > s.max_exponent;
      if ((is_least_far(s) && may_be_small) || (is_most_far(s) && may_be_large))
        return "a result's exponents are beyond what doubles hold";
      const bool has_largest = may_be_large && !(to_infinity(s, false) && to_infinity(s, true));
      if (s.from_alignment) {
        to.steps[i].keeps_all = s.fraction_bits >= x.below;
        if (s.fraction_bits + above > kGridBits - 2 && !to.steps[i].keeps_all) return kTooManyBits;
        x.is_odd = x.is_odd && to.steps[i].keeps_all;
        x.width = std::min(x.width, s.fraction_bits + above + 1);
        x.below = std::min(x.below, s.fraction_bits);
        x.headroom = !has_own_exponent ? above + 1 : is_directed ? kFar : x.headroom + 1;
      } else {
        const bool is_fixed = s.min_exponent > s.max_exponent;  // all numbers are evenly spaced
        if (is_fixed && !x.is_odd && x.lowest >= s.min_exponent - s.fraction_bits) {
          to.steps[i].keeps_all = to.steps[i].keeps_small = true;
        } else if (s.fraction_bits > kGridBits - 1) {
          // Nothing is rounded but what is below the least normal number.
          const bool is_done = rounds_first && i == 0;
          if ((!is_done && x.width > s.fraction_bits + 1) || (x.is_odd && may_be_small)) return kTooManyBits;
          to.steps[i].keeps_all = true;
          to.steps[i].keeps_small = is_done;
          x.is_odd = x.is_odd && !is_done;
        }
        if (may_be_small && is_directed) above = kFar;
        x.is_odd = x.is_odd && to.steps[i].keeps_all;
        x.width = std::min(x.width, s.fraction_bits + 1);
        if (wraps) x.width = std::max(x.width, s.fraction_bits + 2);
        x.headroom = 1;
        has_own_exponent = true;
        if (may_be_small) x.lowest = std::max(x.lowest, s.min_exponent - s.fraction_bits);
      }
      // To nearest it grows to its double at most.
      ++above;
      ++x.top;
      if (has_largest) {
        x.below = kFar;
        x.width = std::max(x.width, s.fraction_bits + 1);
        x.is_odd = x.is_odd || s.fraction_bits >= kDoubleBits;
      }
      if (may_be_large) {
        x.top = std::min(x.top, s.max_exponent + (s.twos_complement ? 2 : 1));
        x.lowest = std::min(x.lowest, s.max_exponent - s.fraction_bits);  // of the largest
      }
      if (s.from_alignment) continue;
      x.most_exponent = is_bounded(s.min_exponent) ? std::max(x.top - 1, s.min_exponent) : x.top - 1;
    }
    return {};
  }

  /// Whose exponents some sum that cuts its terms, or stays unrounded, asks for.
  void find_wanted_exponents() {
    wanted_.assign(tree_.nodes.size(), false);
    plan_.zeros_align = n_.product.operation == ProductOperation::exclusive_or;  // of zeros too
    for (std::size_t i = tree_.nodes.size(); i-- > 0;) {
      const Unit& unit = unit_of(i);
      const bool passes_on = unit.result.empty() && !unit.scale_exponents_alone && wanted_[i];
      const bool aligns = cuts_terms(unit) || unit.drop_below || passes_on;
      if (!aligns) continue;
      if (unit.zero_exponent.kind == ZeroExponentKind::natural || unit.zero_exponent.kind == ZeroExponentKind::zeros)
        plan_.zeros_align = true;
      for (const Term& t : tree_.nodes[i].terms) {
        if (t.kind == Term::Kind::node) wanted_[static_cast<std::size_t>(t.index)] = true;
        if (t.kind == Term::Kind::product) plan_.wants_exponents = true;
        if (t.kind == Term::Kind::accumulator) plan_.wants_exponent_of_c = true;
      }
    }
  }

  /// Which nodes' zeros have signs that the root's depend on.
  void find_signs_of_zeros() {
    has_sign_.assign(tree_.nodes.size(), false);
    has_sign_.back() = true;
    for (std::size_t i = tree_.nodes.size(); i-- > 0;) {
      has_sign_[i] = has_sign_[i] && unit_of(i).zero_sign == ZeroSign::ieee;
      for (const Term& t : tree_.nodes[i].others) {
        if (t.kind == Term::Kind::node) has_sign_[static_cast<std::size_t>(t.index)] = has_sign_[i];
      }
    }
  }

  const Unit& unit_of(std::size_t node) const { return n_.units[static_cast<std::size_t>(tree_.nodes[node].unit)]; }
  const Bounds& bounds_of_term(const Term& t) const {
    return t.kind == Term::Kind::product ? product_
           : t.kind == Term::Kind::node  ? results_[static_cast<std::size_t>(t.index)]
                                         : c_;
  }

  WhyNot plan_node(std::size_t number) {
    const SortedNode& from = tree_.nodes[number];
    TreeNode node;
    node.number = number;
    node.unit = unit_of(number);
    node.few_starts = static_cast<std::size_t>(tree_.nodes[number].unit);
    node.result = make_steps(node.unit.result, node.unit.underflow_sign, plan_.zeros_align);
    if (plan_.zeros_align && node.result.last_own && node.result.steps.back().step.from_alignment)
      return "its zeros keep the exponents that they had before a step";
    node.rounds_down = !node.unit.result.empty() && node.result.steps.back().step.rounding == Rounding::down;
    node.wants_exponent = wanted_[number];
    node.has_sign_of_zero = has_sign_[number];
    if (node.unit.scale_exponents_alone && (!plan_.has_plain_products || from.products.size() > kMostSigned))
      return "its scales align sums of many products, or of products that are rounded";
    node.carry_bits = carries(from.terms.size());
    const Unit& unit = node.unit;
    const ZeroExponent& zero = unit.zero_exponent;
    const bool has_value = zero.kind == ZeroExponentKind::floor || zero.kind == ZeroExponentKind::zeros;
    if (has_value && zero.value > kMostExponent) return "an alignment is beyond what doubles hold";
    // Far below all numbers they align nothing but zeros.
    const double power = std::ldexp(1.0, std::max(zero.value, -kMostExponent));
    if (zero.kind == ZeroExponentKind::zeros) node.zero_power = power;
    if (zero.kind == ZeroExponentKind::floor) node.floor_power = power;
    if (unit.drop_below) node.drop_power = std::ldexp(1.0, -*unit.drop_below);
    const int first_bits = unit.first_fraction_bits.value_or(unit.fraction_bits);
    Bounds all{kMostExponent, -kMostExponent};  // aligned with 2^0, if with nothing
    if (has_value) all.most_exponent = std::max(all.most_exponent, zero.value);
    for (std::size_t i = 0; i < from.terms.size(); ++i) {
      const Term& t = from.terms[i];
      const Bounds& x = bounds_of_term(t);
      all.lowest = std::min(all.lowest, x.lowest);
      all.top = std::max(all.top, x.top);
      all.width = std::max(all.width, x.width);
      all.most_exponent = std::max(all.most_exponent, x.most_exponent);
      all.headroom = std::max(all.headroom, x.headroom);
      all.is_odd = all.is_odd || x.is_odd;
      if (x.lowest < -kMostExponent || x.top > kMostExponent) return "a sum has terms beyond what doubles hold";
      const int at = t.kind == Term::Kind::product ? t.index
                     : t.kind == Term::Kind::node  ? places_[static_cast<std::size_t>(t.index)]
                                                   : kPlaceOfC;
      const bool by_scales_alone =
          t.kind == Term::Kind::node && unit_of(static_cast<std::size_t>(t.index)).scale_exponents_alone;
      node.terms.push_back({t.kind == Term::Kind::product, at, i == 0 ? first_bits : unit.fraction_bits,
                            i > 0 && unit.drop_below.has_value(), by_scales_alone});
    }
    node.products = from.products;
    std::ranges::copy_if(node.terms, std::back_inserter(node.others), [](const TreeTerm& t) { return !t.is_product; });
    const bool is_root = number + 1 == tree_.nodes.size();  // which is the next k-step's c
    if (const WhyNot why_not = plan_sum(from, all, node); !why_not.empty()) return why_not;
    cut_once(node);
    if (unit.result.empty() && !unit.scale_exponents_alone) all.headroom += node.carry_bits;
    if (is_root && all.is_odd) return "an exact sum is not rounded";
    results_[number] = all;
    for (const Term& t : from.terms) {
      if (t.kind == Term::Kind::node) free_.push_back(places_[static_cast<std::size_t>(t.index)]);
    }
    node.place = places_[number] = is_root ? kPlaceOfC : new_place();
    plan_.puts_exponents = is_root && plan_.wants_exponent_of_c && is_aligned_as_c(node);
    node.wants_exponent = node.wants_exponent || plan_.puts_exponents;
    plan_.leaves_some = plan_.leaves_some || node.sum == TreeSum::far;
    plan_.cuts_products = plan_.cuts_products || node.sum == TreeSum::cut_products;
    plan_.nodes.push_back(std::move(node));
    return {};
  }

  /// Whether what the last node's result is aligned with, as a result, is what it is aligned with as the next k-step's
  /// c.
  bool is_aligned_as_c(const TreeNode& last) const {
    const bool is_known = format(n_.c.format).floating || !plan_.normalises_small;
    return is_known && !plan_.zeros_align && n_.c.subnormals == Subnormals::kept && n_.c.format == n_.result &&
           !last.result.steps.empty() && !last.result.steps.back().step.from_alignment &&
           last.result.steps.back().least == plan_.least_c;
  }

  /// How a node adds its terms, of which this is known; then it is what is known of its result.
  WhyNot plan_sum(const SortedNode& from, Bounds& all, TreeNode& node) {
    const Unit& unit = node.unit;
    if (const WhyNot why_not = choose_sum(from, all, node); !why_not.empty()) return why_not;
    if (unit.scaled) {
      if (unit.scale_exponents_alone) {
        all.most_exponent = 0;
        all.headroom = std::max(all.top, 1);
        all.below = kFar;
      }
      if (const WhyNot why_not = scale(all); !why_not.empty()) return why_not;
      node.scale_block = static_cast<std::size_t>(from.terms.front().index / n_.scales->block_k);
    }
    return round(unit.result, node.carry_bits, all, node.result, node.rounds_to_double);
  }

  /// What a sum that its block's scales multiply is then.
  WhyNot scale(Bounds& sum) {
    const Bounds by = bounds_of_scale(n_.scales->format);
    // A sum that is rounded to odd stays so times a power of two alone.
    if (by.width > 1 && sum.is_odd) return "a sum that its scales multiply is no double";
    sum = scaled_bounds(scaled_bounds(sum, by), by);
    if (sum.width > kDoubleBits) return "a sum times its scales is no double";
    const bool is_far = sum.lowest < kLeastAlignment || sum.top > kMostExponent;
    return is_far ? "a sum times its scales is beyond what doubles hold" : WhyNot();
  }

  /// Where terms are cut down and their sum is cut down again, at most one of them has bits that the second cut takes:
  /// that term may lose them with the first. A sum that vanishes so is positive, as one of its terms is.
  static void cut_once(TreeNode& node) {
    std::vector<TreeStep>& steps = node.result.steps;
    if (node.sum == TreeSum::cut && node.unit.align_rounding == Rounding::down && steps.size() > 1 &&
        !node.rounds_down && !node.scale_block) {
      const RoundStep& again = steps.front().step;
      const RoundStep cut_alone{again.fraction_bits, true,          -kUnbounded, kUnbounded, false, Rounding::down,
                                Subnormals::kept,    again.overflow};
      const auto has_more = [&](const TreeTerm& t) { return t.fraction_bits > again.fraction_bits; };
      if (again == cut_alone && std::ranges::count_if(node.terms, has_more) <= 1) {
        for (TreeTerm& t : node.terms) t.fraction_bits = std::min(t.fraction_bits, again.fraction_bits);
        steps.erase(steps.begin());
        if (node.result.last_own) --*node.result.last_own;
      }
    }
    node.is_single = steps.size() == 1 && steps.front().is_single && !node.result.drops_sign_of_zero;
    if (steps.size() == 2 && steps.back().is_single && !node.result.drops_sign_of_zero) {
      const TreeStep& first = steps.front();
      node.is_down_single = !first.keeps_all && first.step.rounding == Rounding::down && !first.step.from_alignment &&
                            first.step.fraction_bits > 0 && first.step.subnormals == Subnormals::kept &&
                            first.overflow == HUGE_VAL;
    }
    if (steps.size() == 1) {
      const RoundStep& s = steps.front().step;
      node.is_cut =
          s.rounding == Rounding::toward_zero && !s.from_alignment && s.fraction_bits > 0 && !steps.front().keeps_all;
    }
  }

  /// A result may replace its node's terms: those of a column are read before it is written.
  int new_place() {
    if (free_.empty()) return static_cast<int>(plan_.places++);
    const int place = free_.back();
    free_.pop_back();
    return place;
  }

  /// Chooses how a node adds, and says in `all`, the terms' bounds, what its sum is before it is rounded.
  WhyNot choose_sum(const SortedNode& from, Bounds& all, TreeNode& node) const {
    const Unit& unit = node.unit;
    const int first_bits = unit.first_fraction_bits.value_or(unit.fraction_bits);
    const int most_bits = std::max(first_bits, unit.fraction_bits);  // kExact is above all
    const int least_bits = std::min(first_bits, unit.fraction_bits);
    const bool is_directed = unit.align_rounding == Rounding::up || unit.align_rounding == Rounding::down;
    // Whatever is less than a unit becomes one.
    if (is_directed && least_bits != kExact) all.top = std::max(all.top, all.most_exponent - least_bits + 1);
    const int span = all.top + node.carry_bits - all.lowest;
    all.top += node.carry_bits;
    if (most_bits != kExact && most_bits + all.headroom + node.carry_bits <= kGridBits - 1) {
      // Units are then at least eight times the last bit of any term that is rounded to odd.
      all.is_odd = false;
      node.sum = cuts_products_alone(unit) && !from.products.empty() && from.products.size() <= kMostSigned
                     ? TreeSum::cut_products
                     : TreeSum::cut;
      node.cuts_first = true;
      all.width = most_bits + all.headroom + node.carry_bits + 1;
      all.below = most_bits;
      return {};
    }
    const bool is_alone = from.terms.size() == 1;
    const bool cuts = is_alone ? first_bits != kExact : unit.drop_below || least_bits != kExact;
    // That has the alignment, too, which steps may ask for though nothing is cut.
    node.cuts_first = cuts || std::ranges::any_of(unit.result, [](const RoundStep& s) { return s.from_alignment; });
    all.below = most_bits == kExact ? kFar : most_bits;
    node.has_long_product = is_sum_with_long_product(from, unit);
    if (all.is_odd && (is_alone ? cuts : !node.has_long_product)) return "an exact sum is not rounded";
    if (span <= kDoubleBits - 1 || is_alone) {
      node.sum = TreeSum::exact;
      if (!is_alone) all.width = span;
      return {};
    }
    all.is_odd = true;
    if (from.terms.size() == 2) {
      // Of two numbers of at most 24 bits a double's 53 suffice to round to fp32 twice (docs/panels.md).
      const Format fp32 = format(FormatId::fp32);
      const bool to_single = unit.result.count == 1 && node.result.steps.front().is_single;
      const bool of_singles =
          all.width <= fp32.fraction_bits + 1 && all.lowest >= fp32.min_exponent() - fp32.fraction_bits;
      node.sum = to_single && of_singles && !unit.scaled ? TreeSum::exact : TreeSum::pair;
      const RoundStep& first = unit.result.step[0];
      node.rounds_to_double =
          !unit.result.empty() && !first.from_alignment && first.fraction_bits == kDoubleBits - 1 && !unit.scaled;
      all.width = span;
      return {};
    }
    all.width = span;
    node.sum = TreeSum::far;
    const bool plain_products = only_multiplies() && plan_.infinite_from == HUGE_VAL && !node.cuts_first;
    if (from.products.empty() || from.others.size() > 1 || !plain_products) return {};
    const int last_bit = product_.top + carries(from.products.size()) - kFirstSumBits;
    node.grid = std::ldexp(1.5, last_bit + kDoubleBits - 1);
    const int rest = last_bit - 1 + carries(from.products.size()) - product_.lowest;
    constexpr int kMostBitsOfOther = 50;
    const bool short_other = from.others.empty() || bounds_of_term(from.others[0]).width <= kMostBitsOfOther;
    if (rest <= kDoubleBits - 1 && short_other) node.sum = TreeSum::near;
    return {};
  }

  /// Whether it is a sum of two of which one is a product that has more bits than a double, and is cut, if it is, at
  /// bits that a double has of it.
  bool is_sum_with_long_product(const SortedNode& from, const Unit& unit) const {
    const bool is_nearest =
        unit.align_rounding == Rounding::nearest_even || unit.align_rounding == Rounding::nearest_away;
    const auto is_in_double = [&](int bits) {
      return bits == kExact || (!is_nearest && bits + product_.headroom <= kDoubleBits - 1);
    };
    return plan_.products_to_odd && only_multiplies() && plan_.infinite_from == HUGE_VAL && from.terms.size() == 2 &&
           from.products.size() == 1 && !bounds_of_term(from.others[0]).is_odd && !unit.scaled &&
           is_in_double(unit.fraction_bits) && is_in_double(unit.first_fraction_bits.value_or(kExact));
  }

  /// Whether nothing is done to products before they are cut or added.
  bool only_multiplies() const {
    return n_.product.operation == ProductOperation::multiply && n_.product.round.empty();
  }

  bool cuts_products_alone(const Unit& unit) const {
    const ZeroExponentKind zero = unit.zero_exponent.kind;
    return grows_products_ && only_multiplies() && n_.product.exponent == ProductExponent::sum &&
           (plan_.infinite_from == HUGE_VAL || !plan_.scales) && !plan_.zeros_align &&
           (zero == ZeroExponentKind::none || zero == ZeroExponentKind::floor) &&
           unit.align_rounding == Rounding::toward_zero && !unit.drop_below && !unit.first_fraction_bits &&
           !unit.scale_exponents_alone;  // whose words of flags say something else
  }

  Numerics n_;
  const SortedTree& tree_;
  TreePlan plan_;
  Bounds product_, c_ = bounds_of(n_.c);
  std::vector<Bounds> results_;
  std::vector<bool> wanted_, has_sign_;
  std::vector<int> places_, free_;
  bool grows_products_ = false;
  WhyNot why_not_;
};

}  // namespace

WhyNot why_no_tree_panels(const Numerics& numerics, const SortedTree& tree) {
  if (const WhyNot why_not = why_no_own_formats(numerics); !why_not.empty()) return why_not;
  return Planner(numerics, tree).why_not();
}

TreePlan make_tree_plan(const Numerics& numerics, const SortedTree& tree) { return Planner(numerics, tree).take(); }

}  // namespace tcnum::panels
