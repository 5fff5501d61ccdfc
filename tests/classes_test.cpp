// Classes of a space are neither too large nor too small: of neighbours, which differ in one property, those of one
// class give the same results, and those of two some input tells apart. (tests/equivalence_test.cpp has the first for
// any choices, and takes minutes.)
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>

#include "draw.hpp"
#include "src/fit/separate.hpp"

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
                    SpaceOf{"mma.m16n8k4.f32.tf32.tf32.f32", 0}, SpaceOf{"mma.m8n8k4.f64.f64.f64.f64", 0},
                    SpaceOf{"mma.m16n8k8.f32.bf16.bf16.f32", 1}, SpaceOf{"mma.m8n8k4.f32.f16.f16.f16", 0},
                    SpaceOf{"wmma.m16n16k16.f16.f16.f16.f32", 2}, SpaceOf{"mma.m16n8k16.f16.e5m2.e5m2.f16", 6},
                    SpaceOf{"mma.m16n8k16.f32.e4m3.e5m2.f32", 4}, SpaceOf{"mma.m8n8k16.s32.s8.s8.s32", 0},
                    SpaceOf{"mma.m8n8k128.s32.b1.b1.s32.and.popc", 0}),
    [](const auto& drawn) {
      std::string text = drawn.param.instruction;
      std::ranges::replace(text, '.', '_');
      return text;
    });

}  // namespace
}  // namespace tcnum
