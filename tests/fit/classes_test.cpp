// Classes of a space are neither too large nor too small: of neighbours, which differ in one property, those of one
// class give the same results, and those of two some input tells apart. (tests/fit/equivalence_test.cpp has the first
// for any choices, and takes minutes.)
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "draw.hpp"
#include "src/fit/steps.hpp"
#include "src/questions/battery.hpp"
#include "src/questions/packing.hpp"
#include "tcnum/emulator.hpp"

namespace tcnum {
namespace {

struct SpaceOf {
  const char* instruction;
  int hard;  ///< of its pairs, those that only a longer search than this would tell apart
};

class Classes : public testing::TestWithParam<SpaceOf> {};

TEST_P(Classes, AreThoseThatInputsTellApart) {
  const Space space(*find_instruction(GetParam().instruction));
  constexpr int kPairs = 150;
  constexpr std::size_t kTiles = 16, kMoreTiles = 100;
  std::mt19937_64 random(1);
  int apart = 0, together = 0, hard = 0;
  while (apart < kPairs) {
    const Choice one = draw(space, random);
    Choice other = one;
    const auto property = static_cast<Property>(random() % kProperties);
    const auto values = static_cast<std::uint64_t>(space.count(property));
    Space::set(other, property, static_cast<int>(random() % values));
    if (other == one || !space.contains(other)) continue;
    const std::string pair =
        fmt::format("{}: {} and {}", name(property), space.value_text(property, Space::value(one, property)),
                    space.value_text(property, Space::value(other, property)));
    if (space.canonical(one) == space.canonical(other)) {
      if (++together > kPairs) continue;
      EXPECT_FALSE(separate(space, one, other, 1, kTiles)) << pair;
    } else {
      ++apart;
      hard += separate(space, one, other, 1, kTiles) || separate(space, one, other, 2, kMoreTiles) ? 0 : 1;
    }
  }
  EXPECT_GT(together, 0);
  EXPECT_LE(hard, GetParam().hard);
}

INSTANTIATE_TEST_SUITE_P(
    Instructions, Classes,
    testing::Values(SpaceOf{"mma.m8n8k4.f32.f16.f16.f32", 0}, SpaceOf{"mma.m8n8k4.f16.f16.f16.f16", 1},
                    SpaceOf{"mma.m16n8k4.f32.tf32.tf32.f32", 0}, SpaceOf{"mma.m8n8k4.f64.f64.f64.f64", 1},
                    SpaceOf{"mma.m16n8k8.f32.bf16.bf16.f32", 1}, SpaceOf{"mma.m8n8k4.f32.f16.f16.f16", 0},
                    SpaceOf{"wmma.m16n16k16.f16.f16.f16.f32", 3}, SpaceOf{"mma.m16n8k16.f16.e5m2.e5m2.f16", 6},
                    SpaceOf{"mma.m16n8k16.f32.e4m3.e5m2.f32", 4}, SpaceOf{"mma.m8n8k16.s32.s8.s8.s32", 0},
                    SpaceOf{"mma.m8n8k128.s32.b1.b1.s32.and.popc", 0}),
    [](const auto& drawn) {
      std::string text = drawn.param.instruction;
      std::ranges::replace(text, '.', '_');
      return text;
    });

/// Gives a property a value.
using Setting = std::function<void(const Space&, Choice&)>;
template <Property P>
Setting setting(const Value<P>& value) {
  return [value](const Space& space, Choice& c) { space.put<P>(c, value); };
}

/// Two choices at the bound of a rule of docs/equivalence.md.
struct AtABound {
  const char* name;
  const char* instruction;
  Combination combination;
  std::vector<Setting> both, one, other;
  bool same;
  int block_k = 2;

  friend void PrintTo(const AtABound& bound, std::ostream* out) { *out << bound.name; }
};

/// Whether a crafted problem of those for rare datapaths tells them apart.
bool rare_battery_separates(const Space& space, const Choice& one, const Choice& other) {
  std::vector<Problem> problems;
  for (CraftedProblem& crafted : rare_battery(space.instruction())) problems.push_back(std::move(crafted.problem));
  Tiles ones = pack(space.instruction(), problems), others = ones;
  Emulator(space.datapath(one)).run(ones);
  Emulator(space.datapath(other)).run(others);
  return ones.d != others.d;
}

class ClassBounds : public testing::TestWithParam<AtABound> {};

TEST_P(ClassBounds, AreWhereInputsTellChoicesApart) {
  const AtABound& bound = GetParam();
  Space space(*find_instruction(bound.instruction));
  const bool rare = bound.combination > Combination::tree_then_c;
  if (rare) (void)widen_fully(space);
  const auto choice = [&](const std::vector<Setting>& settings) {
    Choice c{};
    Space::set(c, Property::structure, find_structure(space, bound.combination, bound.block_k));
    for (const auto* some : {&bound.both, &settings}) {
      for (const Setting& each : *some) each(space, c);
    }
    return c;
  };
  const Choice one = choice(bound.one), other = choice(bound.other);
  ASSERT_TRUE(space.contains(one) && space.contains(other));
  EXPECT_EQ(space.canonical(one) == space.canonical(other), bound.same);
  constexpr std::size_t kTiles = 100, kMoreTiles = 2000;
  const bool separated = (rare && rare_battery_separates(space, one, other)) ||
                         separate(space, one, other, 1, bound.same ? kTiles : kMoreTiles).has_value();
  EXPECT_EQ(separated, !bound.same);
}

std::vector<AtABound> bounds() {
  using enum Property;
  constexpr const char* kSingle = "mma.m8n8k4.f32.f16.f16.f32";
  constexpr const char* kTf32 = "mma.m16n8k8.f32.tf32.tf32.f32";
  constexpr const char* kBf16 = "mma.m16n8k8.f32.bf16.bf16.f32";
  constexpr const char* kHalf = "mma.m8n8k4.f16.f16.f16.f16";
  const Setting floor = setting<zero_exponent>({ZeroExponentKind::floor, -128});
  const Setting all_normalised = setting<subnormal_exponent>(NormalisedSubnormals::all);
  const Setting cut_down = setting<align_rounding>(Rounding::down);
  const Setting rounded_away = setting<output_rounding>({std::nullopt, Rounding::nearest_away});
  const Setting rounded_down = setting<output_rounding>({std::nullopt, Rounding::down});
  const Setting as_short = setting<output_fraction_bits>(SumWidth::of_its_terms);
  const Setting positive_zeros = setting<zero_sign>(ZeroSums::positive);
  const Setting exact = setting<fraction_bits>(kExact);
  const auto floor_of = [](int exponent) {
    return std::vector{setting<zero_exponent>({ZeroExponentKind::floor, exponent})};
  };
  const auto apart_of = [](int of_sum, TotalBits of_total, Rounding cut) {
    return std::vector{setting<fraction_bits>(24),
                       setting<output_rounding>({std::nullopt, Rounding::nearest_even}),
                       setting<c_bits>(24),
                       setting<sum_bits>(of_sum),
                       setting<total_bits>(of_total),
                       setting<join_rounding>(cut),
                       setting<zero_sign>(ZeroSums::ieee)};
  };
  const std::vector<Setting> all_of_31 = apart_of(31, {}, Rounding::down);
  const std::vector<Setting> all_of_31_toward_zero = apart_of(31, {}, Rounding::toward_zero);
  const std::vector<Setting> of_leading_bit = apart_of(32, {TotalBits::From::leading_bit, 31}, Rounding::down);
  return {
      // Sums apart from c that a floor cuts: rounded to zero all the same, or cut by the total as well.
      {"FloorsThatActOnWhatIsRoundedToZero", kTf32, Combination::apart, all_of_31, floor_of(-146), {}, true, 4},
      {"FloorsThatActOnWhatIsNot", kTf32, Combination::apart, all_of_31, floor_of(-145), {}, false, 4},
      {"FloorsThatActOnLongerBlocks", kBf16, Combination::apart, all_of_31, floor_of(-146), {}, false, 8},
      {"FloorsThatMakeZerosPositive", kTf32, Combination::apart, all_of_31_toward_zero, floor_of(-130), {}, false, 4},
      {"FloorsThatCutWhatTheTotalCuts", kTf32, Combination::apart, of_leading_bit, floor_of(-125), {}, true, 4},
      {"FloorsThatCutC", kTf32, Combination::apart, of_leading_bit, floor_of(-124), {}, false, 4},
      // An accumulator alone is cut by the floor, and rounded: the cut shows or not.
      {"CutTowardZeroThenRoundedAway",
       kSingle,
       Combination::chain,
       {setting<fraction_bits>(18), rounded_away, as_short, all_normalised, positive_zeros},
       {floor},
       {},
       true},
      {"CutDownThenRoundedAway",
       kSingle,
       Combination::chain,
       {setting<fraction_bits>(18), cut_down, rounded_away, as_short, all_normalised, positive_zeros},
       {floor},
       {},
       false},
      // Two products: so many bits are enough, one less is not.
      {"EnoughBitsCutDownThenRoundedDown",
       kSingle,
       Combination::adds_then_c,
       {rounded_down},
       {setting<fraction_bits>(24), cut_down, setting<product_exponent>(ProductExponent::normalised)},
       {exact},
       true},
      {"TooFewBitsCutDownThenRoundedDown",
       kSingle,
       Combination::adds_then_c,
       {rounded_down},
       {setting<fraction_bits>(23), cut_down, setting<product_exponent>(ProductExponent::normalised)},
       {exact},
       false},
      // The same of products that have the exponents of their leading bits only where they are subnormal.
      {"SubnormalsByLeadingBitsCutDownThenRoundedDown",
       kSingle,
       Combination::adds_then_c,
       {rounded_down},
       {setting<fraction_bits>(25), cut_down, all_normalised},
       {exact},
       true},
      {"SubnormalsByTheSmallestExponentCutDownThenRoundedDown",
       kSingle,
       Combination::adds_then_c,
       {rounded_down},
       {setting<fraction_bits>(25), cut_down},
       {exact},
       false},
      // The first of two block sums fits fp32, that of a result and more products does not.
      {"ResultsThatGoOn",
       kHalf,
       Combination::chain_then_c,
       {setting<fraction_bits>(22), setting<align_rounding>(Rounding::nearest_even),
        setting<product_exponent>(ProductExponent::normalised)},
       {setting<inner_result>(InnerResult::fp32_nearest_even)},
       {setting<inner_result>(InnerResult::fp32_toward_zero)},
       false},
  };
}

INSTANTIATE_TEST_SUITE_P(Rules, ClassBounds, testing::ValuesIn(bounds()),
                         [](const auto& bound) { return std::string(bound.param.name); });

}  // namespace
}  // namespace tcnum
