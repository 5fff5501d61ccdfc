// Blind recovery with block scales: datapaths drawn from a space and hidden behind an oracle.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <string>

#include <fmt/format.h>

#include "blind.hpp"
#include "src/oracles/datapath_oracle.hpp"

namespace tcnum::scaled_blind {

struct Kind {
  const char* name;
  FormatId a, b;
  int k;
  FormatId scale;
  int block_k;
};
inline constexpr std::array kKinds = std::to_array<Kind>({
    {"mxfp8", FormatId::fp8e4m3, FormatId::fp8e4m3, 8, FormatId::ue8m0, 8},
    {"mxfp4", FormatId::fp4e2m1, FormatId::fp4e2m1, 8, FormatId::ue8m0, 4},
    {"nvfp4", FormatId::fp4e2m1, FormatId::fp4e2m1, 8, FormatId::ue4m3, 4},
    {"mixed", FormatId::fp8e5m2, FormatId::fp6e2m3, 4, FormatId::ue8m0, 2},
});

/// Draws first … first + count − 1, with c in the first sum: where it is added outside, so much of a sum of short
/// products is exact that a fit takes minutes. Every eighth has a structure that is looked at where no others explain
/// the answers.
inline void expect_recovered(const Kind& kind, int first, int count) {
  const Instruction dot =
      make_dot(FormatId::fp32, kind.a, kind.b, FormatId::fp32, kind.k, {ScaleKind::dot, kind.scale, kind.block_k});
  Space space(dot);
  const std::optional<int> rare = space.widen();
  const int first_rare = rare.value_or(space.count(Property::structure));
  int identified = 0;
  for (int n = first; n < first + count; ++n) {
    std::mt19937_64 random(static_cast<std::uint64_t>(n));
    const bool wants_rare = rare.has_value() && n % 8 == 7;
    Choice hidden;
    do {
      hidden = draw(space, random);
    } while ((Space::value(hidden, Property::structure) >= first_rare) != wants_rare ||
             space.structure(hidden).adds_apart());
    DatapathOracle oracle(space.datapath(hidden), dot, "hidden", 1);
    Fit fit(dot, &oracle, quick_options());
    const FitResult result = fit.run();
    SCOPED_TRACE(fmt::format("{}, draw {}:\n{}fitted as\n{}", dot.name(), n, in_words(space, space.canonical(hidden)),
                             in_words(fit.space(), result.choice)));
    ASSERT_NE(result.verdict, Verdict::unexplained);
    EXPECT_EQ(result.mismatches, 0u);
    if (result.verdict != Verdict::identified) {
      // Of a rare one, an ordinary one may explain all answers: the fit then looks no further.
      if (wants_rare && !fit.space().structure(result.choice).scaled.cut) continue;
      const Space wide = widened(fit.space());
      EXPECT_TRUE(leaves_open(result, wide.canonical(in_space(wide, space, hidden))));
      continue;
    }
    ++identified;
    // Two classes may be one where no rule says so.
    constexpr std::size_t kTiles = 100;
    if (result.datapath != space.datapath(space.canonical(hidden)))
      expect_same_results(dot, result.datapath, space.datapath(hidden), kTiles);
  }
  testing::Test::RecordProperty("identified", identified);
  std::cout << identified << " of " << count << " identified, the others left open\n";
}

// --- Datapaths of docs/datapaths, and what differs from them in one thing.

struct Neighbour {
  const char* name;
  const char* file;
  std::function<void(Datapath&)> change;
};

/// The unit that takes in c.
inline Unit& last_unit(Datapath& d) { return d.numerics.units[static_cast<std::size_t>(d.tree.nodes.back().unit)]; }
inline Unit& group_unit(Datapath& d) { return *std::ranges::find_if(d.numerics.units, &Unit::scaled); }

inline void expect_identified(const Neighbour& neighbour) {
  Datapath datapath = read_datapath(fmt::format("{}/docs/datapaths/{}.json", TCNUM_SOURCE_DIR, neighbour.file));
  neighbour.change(datapath);
  validate(datapath);
  tcnum::expect_identified(datapath);
}

}  // namespace tcnum::scaled_blind
