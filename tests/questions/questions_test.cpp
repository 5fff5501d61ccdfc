// Questions: problems are the same on every machine, and of the products that an instruction has.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "src/questions/boundaries.hpp"
#include "src/questions/random_numbers.hpp"
#include "src/questions/stream.hpp"

namespace tcnum {
namespace {

const Instruction& instruction(const char* name) { return *find_instruction(name); }

/// Boundaries such as two datapaths of any floating-point instruction may have.
Boundaries some_boundaries() {
  Boundaries found;
  found.exponents = {-149, -126, -24, -14, 0, 15, 127};
  found.focus = {-14, 0};
  found.distances = {1, 10, 13, 20, 23, 24};
  found.cuts = {13, 24};
  return found;
}

std::uint64_t hash_of(const Tiles& tiles, std::uint64_t hash) {
  for (const Codes* codes : {&tiles.a, &tiles.b, &tiles.c}) {
    for (std::size_t i = 0; i < codes->size(); ++i) hash = (hash ^ (*codes)[i]) * 0xff51afd7ed558ccdu + 1;
  }
  return hash;
}

/// Whoever changes a number here changes what a live oracle is asked, and must show that fits are as good as before
/// (tests/fit/blind_test.cpp, tests/fit/integer_fit_test.cpp).
TEST(Questions, AreTheSameOnEveryMachine) {
  std::uint64_t random = 0, boundaries = 0;
  for (const char* each : {"mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k8.f32.tf32.tf32.f32",
                           "mma.m16n8k16.f16.e4m3.e5m2.f16", "mma.m16n8k16.s32.s8.u8.s32.satfinite"}) {
    const Instruction& in = instruction(each);
    for (const Distribution distribution : kAllRandom)
      random = hash_of(make_random_tiles(in, distribution, 1, 2, 4, 8, 8), random);
    boundaries = hash_of(make_boundary_tiles(in, some_boundaries(), 1, 2, 32, 8, 8), boundaries);
  }
  EXPECT_EQ(random, 0x8eed6d00aa8a91a3u);
  EXPECT_EQ(boundaries, 0xdf8a8e9e0b39c592u);
}

/// A sparse instruction's k counts what is not stored too, but its problems have the stored products only.
TEST(Questions, BoundaryProblemsOfSparseInstructionsAreThoseOfTheirProducts) {
  const Instruction &sparse = instruction("mma.sp.m16n8k32.f32.f16.f16.f32"),
                    &dense = instruction("mma.m16n8k16.f32.f16.f16.f32");
  ASSERT_EQ(sparse.products(), dense.products());
  const Tiles of_sparse = make_boundary_tiles(sparse, some_boundaries(), 3, 0, 64, 8, 8),
              of_dense = make_boundary_tiles(dense, some_boundaries(), 3, 0, 64, 8, 8);
  EXPECT_EQ(of_sparse.a, of_dense.a);
  EXPECT_EQ(of_sparse.b, of_dense.b);
  EXPECT_EQ(of_sparse.c, of_dense.c);
}

TEST(Questions, RandomNumbersArePickedByTheirWeights) {
  constexpr std::array<Weighted<int>, 3> kTable = {{{0, 1}, {1, 0}, {2, 3}}};
  std::array<int, 3> counts{};
  RandomNumbers random(1, 0, 0);
  constexpr int kDraws = 4000;
  for (int n = 0; n < kDraws; ++n) ++counts[static_cast<std::size_t>(random.pick(kTable))];
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[0], kDraws / 4, kDraws / 40);
  EXPECT_EQ(counts[0] + counts[2], kDraws);
}

TEST(Questions, RandomNumbersOfSeveralSeriesDiffer) {
  EXPECT_NE(RandomNumbers(1, 0, 7).next64(), RandomNumbers(1, 1, 7).next64());
  EXPECT_NE(RandomNumbers(1, 0, 7).next64(), RandomNumbers(1, 0, 8).next64());
  EXPECT_NE(RandomNumbers(1, 0, 7).next64(), RandomNumbers(2, 0, 7).next64());
  EXPECT_EQ(RandomNumbers(1, 0, 7).next64(), RandomNumbers(1, 0, 7).next64());
}

}  // namespace
}  // namespace tcnum
