#include <algorithm>
#include <array>
#include <initializer_list>

#include "src/questions/boundaries.hpp"
#include "src/questions/numbers.hpp"
#include "src/questions/packing.hpp"
#include "src/questions/stream.hpp"
#include "steps.hpp"
#include "tcnum/emulator.hpp"

namespace tcnum {
namespace {

void sort_and_unite(std::vector<int>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// Finds exponents and distances at which one of two datapaths begins to do something else.
class BoundarySearch {
 public:
  BoundarySearch(const Space& space, const Choice& one, const Choice& other)
      : space_(space),
        choices_{&one, &other},
        products_(space.instruction()),
        a_(format(space.instruction().a)),
        b_(format(space.instruction().b)),
        c_(format(space.instruction().c)),
        r_(format(space.instruction().d)) {}

  Boundaries find() && {
    add_formats();
    for (const Choice* choice : choices_) add_datapath(*choice);
    for (const PropertyRow& row : kPropertyTable) {
      if (Space::value(*choices_[0], row.property) != Space::value(*choices_[1], row.property)) focus_on(row.property);
    }
    if (found_.focus.empty()) found_.focus = found_.exponents;
    const Interval scales = space_.scales() ? scale_exponents(space_.instruction()) : Interval{0, 0};
    const int lowest = std::min(products_.lowest_subnormal() + scales.low, c_.min_exponent() - c_.fraction_bits);
    const int highest = std::max(products_.highest() + 1 + scales.high, c_.max_exponent());
    for (auto* exponents : {&found_.exponents, &found_.focus}) {
      for (int& e : *exponents) e = std::clamp(e, lowest, highest);
    }
    sort_and_unite(found_.exponents);
    sort_and_unite(found_.cuts);
    found_.distances.insert(found_.distances.end(), found_.cuts.begin(), found_.cuts.end());
    sort_and_unite(found_.distances);
    return std::move(found_);
  }

 private:
  static void add(std::vector<int>& to, std::initializer_list<int> values) { to.insert(to.end(), values); }

  void add_formats() {
    for (const Format* f : {&c_, &r_}) {
      add(found_.exponents, {f->min_exponent(), f->min_exponent() - f->fraction_bits, f->max_exponent(),
                             f->max_exponent() - f->fraction_bits});
      found_.distances.push_back(f->fraction_bits);
    }
    add(found_.exponents, {0, products_.lowest(), a_.min_exponent() + b_.max_exponent(),
                           b_.min_exponent() + a_.max_exponent(), products_.lowest_subnormal(), products_.highest()});
    add(found_.distances, {1, a_.fraction_bits, a_.fraction_bits + b_.fraction_bits});
  }

  void add_datapath(const Choice& choice) {
    const Numerics n = space_.numerics(choice);
    found_.blocks.push_back(space_.structure(choice).blocks);
    for (const Node& node : space_.structure(choice).tree.nodes) {
      const Unit& unit = n.units[static_cast<std::size_t>(node.unit)];
      const bool cuts = unit.fraction_bits != kExact;
      if (cuts) found_.cuts.push_back(unit.fraction_bits);
      if (unit.zero_exponent.kind == ZeroExponentKind::floor)
        add(found_.exponents, {unit.zero_exponent.value, unit.zero_exponent.value - unit.fraction_bits});
      for (const RoundStep& step : unit.result) {
        const int quantum = step.min_exponent - step.fraction_bits;
        found_.distances.push_back(step.fraction_bits);
        add(found_.exponents, {step.min_exponent, quantum});
        // Where the lowest kept bit is that of the smallest result.
        if (cuts) found_.exponents.push_back(quantum + unit.fraction_bits);
      }
    }
  }

  /// On the exponents that matter most to a property; of those without an entry none does.
  void focus_on(Property property) {
    switch (property) {
      case Property::zero_exponent:
        for (const Choice* choice : choices_) {
          const ZeroExponent& z = space_.zero_exponent(*choice);
          if (z.kind != ZeroExponentKind::floor) continue;
          add(found_.focus, {z.value, z.value - 1, z.value - 1, z.value - space_.fraction_bits(*choice)});
        }
        break;
      case Property::subnormal_inputs:
      case Property::subnormal_exponent:
        add(found_.focus, {c_.min_exponent() - 1, a_.min_exponent() + b_.max_exponent(),
                           b_.min_exponent() + a_.max_exponent(), products_.lowest()});
        break;
      case Property::subnormal_outputs:
        add(found_.focus, {r_.min_exponent() - 1});
        break;
      case Property::underflow_sign:
        add(found_.focus, {r_.min_exponent() - 1, r_.min_exponent() - r_.fraction_bits - 1});
        break;
      case Property::overflow:
        add(found_.focus, {r_.max_exponent(), r_.max_exponent() + 1});
        break;
      default:
        break;
    }
  }

  const Space& space_;
  std::array<const Choice*, 2> choices_;
  ProductMaker products_;
  const Format &a_, &b_, &c_, &r_;
  Boundaries found_;
};

}  // namespace

std::optional<Problem> separate(const Space& space, const Choice& one, const Choice& other, std::uint64_t seed,
                                std::size_t tiles, const std::function<void()>& go_on) {
  // Only distributions that reach the rules in which the two differ can separate them.
  std::uint32_t distributions = 0;
  for (const PropertyRow& row : kPropertyTable) {
    if (Space::value(one, row.property) != Space::value(other, row.property)) distributions |= row.distributions;
  }
  const Instruction& in = space.instruction();
  const Boundaries boundaries = BoundarySearch(space, one, other).find();
  const Emulator x(space.datapath(one)), y(space.datapath(other));
  const auto difference = [&](const Tiles& problems) -> std::optional<Problem> {
    Tiles mine = problems, others = problems;
    x.run(mine);
    y.run(others);
    for (std::size_t i = 0; i < problems.size(); ++i) {
      if (mine.d[i] != others.d[i]) return problem_at(problems, i);
    }
    return std::nullopt;
  };
  constexpr std::size_t kBatch = 4, kShare = 8;
  for (std::size_t done = 0; done < tiles; done += kBatch) {
    if (go_on) go_on();
    if (auto found =
            difference(make_boundary_tiles(in, boundaries, seed, kShare * done, kShare * kBatch, kPackSide, kPackSide)))
      return found;
    for (const Distribution distribution : kAllRandom) {
      if ((distributions & distributions_of({distribution})) == 0) continue;
      if (auto found = difference(make_random_tiles(in, distribution, seed, done, kBatch, kPackSide, kPackSide)))
        return found;
    }
  }
  return std::nullopt;
}

}  // namespace tcnum
