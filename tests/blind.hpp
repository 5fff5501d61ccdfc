// What tests share that hide a drawn datapath behind an oracle and ask a fit which it is.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "draw.hpp"
#include "src/fit/chain.hpp"
#include "src/fit/fit.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "src/questions/packing.hpp"
#include "tcnum/emulator.hpp"

namespace tcnum {

/// What so short a search as the usual one leaves open, the searches of other tests find.
inline FitOptions quick_options(std::size_t search_tiles = 2) {
  FitOptions options;
  options.search_tiles = search_tiles;
  options.tiles_per_distribution = 8;
  return options;
}

/// The fit's space, widened if the fit had no need to.
inline Space widened(const Space& space) {
  Space wide = space;
  (void)widen_fully(wide);
  return wide;
}

/// The same datapath in another space of that instruction, which may have its structures in another order.
inline Choice in_space(const Space& space, const Space& from, Choice choice) {
  const Structure& wanted = from.structure(choice);
  const std::string shape = shape_of(wanted.tree, true);
  const auto found = std::ranges::find_if(space.structures(), [&](const Structure& s) {
    return s.scaled == wanted.scaled && shape_of(s.tree, true) == shape;
  });
  EXPECT_NE(found, space.structures().end());
  Space::set(choice, Property::structure, static_cast<int>(found - space.structures().begin()));
  return choice;
}

/// What a choice is, for the message of a failure.
inline std::string in_words(const Space& space, const Choice& choice) {
  std::string text;
  for (const PropertyRow& row : kPropertyTable) {
    if (space.observable(choice, row.property))
      text += fmt::format("{} = {}\n", row.name, space.value_text(row.property, Space::value(choice, row.property)));
  }
  return text;
}

/// Whether the hidden datapath is among those that the result leaves open.
inline bool leaves_open(const FitResult& result, const Choice& hidden) {
  for (std::size_t p = 0; p < kProperties; ++p) {
    const auto property = static_cast<Property>(p);
    if (result.choice[p] == hidden[p]) continue;
    if (std::ranges::none_of(result.undetermined, [&](const Undetermined& open) {
          return open.property == property && std::ranges::find(open.values, hidden[p]) != open.values.end();
        })) {
      return false;
    }
  }
  return true;
}

/// On problems that no fit has seen.
inline void expect_same_results(const Instruction& dot, const Datapath& one, const Datapath& other,
                                std::size_t tiles_each) {
  constexpr std::uint64_t kOtherSeed = 77;
  const Emulator x(one), y(other);
  for (const Distribution each : kAllRandom) {
    Tiles tiles = make_random_tiles(dot, each, kOtherSeed, 0, tiles_each, kPackSide, kPackSide);
    Tiles others = tiles;
    x.run(tiles);
    y.run(others);
    EXPECT_EQ(tiles.d, others.d) << name(each);
  }
}

/// Hidden behind an oracle of its dot product.
inline void expect_identified(const Datapath& datapath) {
  const Instruction dot = dot_of(datapath, datapath.tree.k);
  DatapathOracle oracle(datapath, dot, "hidden", 1);
  Fit fit(dot, &oracle, quick_options());
  const FitResult result = fit.run();
  EXPECT_EQ(result.verdict, Verdict::identified);
  EXPECT_EQ(result.mismatches, 0u);
  constexpr std::size_t kTiles = 40;
  expect_same_results(dot, datapath, result.datapath, kTiles);
}

}  // namespace tcnum
