#include "separate.hpp"

#include <algorithm>

#include "src/questions/boundaries.hpp"
#include "src/questions/families.hpp"
#include "src/questions/numbers.hpp"
#include "src/questions/packing.hpp"
#include "tcnum/emulator.hpp"

namespace tcnum {
namespace {

/// Exponents and distances at which one of the datapaths begins to do something else.
Boundaries boundaries_of(const Space& space, const Choice& one, const Choice& other) {
  const Instruction& in = space.instruction();
  const Format& a = format(in.a);
  const Format& b = format(in.b);
  const Format& c = format(in.c);
  const Format& r = format(in.d);
  const ProductMaker products(in);
  const int lowest = std::min(products.lowest_subnormal(), c.min_exponent() - c.fraction_bits);
  const int highest = std::max(products.highest() + 1, c.max_exponent());

  Boundaries found;
  const auto add_format = [&](const Format& f) {
    found.exponents.insert(found.exponents.end(), {f.min_exponent(), f.min_exponent() - f.fraction_bits,
                                                   f.max_exponent(), f.max_exponent() - f.fraction_bits});
    found.distances.push_back(f.fraction_bits);
  };
  add_format(c);
  add_format(r);
  found.exponents.insert(found.exponents.end(),
                         {0, products.lowest(), a.min_exponent() + b.max_exponent(),
                          b.min_exponent() + a.max_exponent(), products.lowest_subnormal(), products.highest()});
  found.distances.insert(found.distances.end(), {1, a.fraction_bits, a.fraction_bits + b.fraction_bits});
  for (const Choice& choice : {one, other}) {
    const Numerics n = space.numerics(choice);
    found.blocks.push_back(space.structure(choice).blocks);
    for (const Node& node : space.structure(choice).tree.nodes) {
      const Unit& unit = n.units[static_cast<std::size_t>(node.unit)];
      if (unit.fraction_bits != kExact) found.cuts.push_back(unit.fraction_bits);
      if (unit.zero_exponent.kind == ZeroExponentKind::floor) {
        found.exponents.insert(found.exponents.end(),
                               {unit.zero_exponent.value, unit.zero_exponent.value - unit.fraction_bits});
      }
      for (const RoundStep& step : unit.result) {
        found.distances.push_back(step.fraction_bits);
        found.exponents.insert(found.exponents.end(), {step.min_exponent, step.min_exponent - step.fraction_bits});
        // Where the lowest kept bit is that of the smallest result.
        if (unit.fraction_bits != kExact)
          found.exponents.push_back(step.min_exponent - step.fraction_bits + unit.fraction_bits);
      }
    }
  }
  const auto unique = [](std::vector<int>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  };
  for (std::size_t i = 0; i < kProperties; ++i) {
    if (one[i] == other[i]) continue;
    switch (static_cast<Property>(i)) {
      case Property::zero_exponent:
        for (const Choice& choice : {one, other}) {
          const ZeroExponent& z = space.zero_exponent(choice);
          if (z.kind != ZeroExponentKind::floor) continue;
          found.focus.insert(found.focus.end(),
                             {z.value, z.value - 1, z.value - 1, z.value - space.fraction_bits(choice)});
        }
        break;
      case Property::subnormal_inputs:
      case Property::subnormal_exponent:
        found.focus.insert(found.focus.end(), {c.min_exponent() - 1, a.min_exponent() + b.max_exponent(),
                                               b.min_exponent() + a.max_exponent(), products.lowest()});
        break;
      case Property::subnormal_outputs:
        found.focus.push_back(r.min_exponent() - 1);
        break;
      case Property::underflow_sign:
        found.focus.insert(found.focus.end(), {r.min_exponent() - 1, r.min_exponent() - r.fraction_bits - 1});
        break;
      case Property::overflow:
        found.focus.insert(found.focus.end(), {r.max_exponent(), r.max_exponent() + 1});
        break;
      default:
        break;
    }
  }
  if (found.focus.empty()) found.focus = found.exponents;
  for (auto* exponents : {&found.exponents, &found.focus}) {
    for (int& e : *exponents) e = std::clamp(e, lowest, highest);
  }
  unique(found.exponents);
  unique(found.cuts);
  found.distances.insert(found.distances.end(), found.cuts.begin(), found.cuts.end());
  unique(found.distances);
  return found;
}

}  // namespace

std::optional<Problem> separate(const Space& space, const Choice& one, const Choice& other, std::uint64_t seed,
                                std::size_t tiles) {
  // Only families that reach the rules in which the two differ can separate them.
  Families families = Families::none();
  for (const PropertyRow& row : kPropertyTable) {
    if (Space::value(one, row.property) != Space::value(other, row.property)) families |= row.families;
  }
  const Instruction& in = space.instruction();
  const Boundaries boundaries = boundaries_of(space, one, other);
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
    if (auto found =
            difference(make_boundary_tiles(in, boundaries, seed, kShare * done, kShare * kBatch, kPackSide, kPackSide)))
      return found;
    for (std::size_t f = 0; f < kFamilies; ++f) {
      if (!families.contains(static_cast<Family>(f))) continue;
      if (auto found =
              difference(make_family_tiles(in, static_cast<Family>(f), seed, done, kBatch, kPackSide, kPackSide)))
        return found;
    }
  }
  return std::nullopt;
}

}  // namespace tcnum
