// The host's half of a probe: problems put on instruction tiles and taken back, against a simulated instruction.
#include "probes/placement.hpp"
#include "isa/sparsity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "hashed_problems.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

std::uint64_t code_at(const std::vector<std::byte>& from, std::size_t index, FormatId id) {
  const auto size = static_cast<std::size_t>(format(id).storage_bytes());
  std::uint64_t code = 0;
  std::memcpy(&code, from.data() + index * size, size);
  return code;
}

/// An instruction; with a wrong position, one whose result there has its lowest bit flipped.
struct Simulated {
  const Instruction& instruction;
  int wrong_row = -1, wrong_column = -1;

  void run(PackedTiles& p) const {
    const auto& [kind, m, n, k, d, a, b, c, archs, modifier, sparsity, scales, blocks, stationary] = instruction;
    const int depth = instruction.products();
    const auto size = static_cast<std::size_t>(format(d).storage_bytes());
    for (std::size_t t = 0; t < p.count; ++t) {
      for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
          Hash hash;
          for (int s = 0; s < depth; ++s) {
            const std::size_t from_a = (t * m + i) * depth + s;
            int kk = s;
            if (instruction.sparse()) {
              const SparseGroup group = group_of(instruction);
              kk = s / group.stored() * group.size + std::to_integer<int>(p.e[from_a]);
            }
            hash.add(code_at(p.a, from_a, a));
            hash.add(code_at(p.b, (t * k + kk) * n + j, b));
          }
          const std::size_t at = (t * m + i) * n + j;
          hash.add(code_at(p.c, at, c));
          const auto scale_blocks = static_cast<std::size_t>(instruction.scale_blocks());
          for (std::size_t s = 0; s < scale_blocks; ++s) {
            hash.add(code_at(p.sa, (t * m + i) * scale_blocks + s, scales.format));
            hash.add(code_at(p.sb, (t * scale_blocks + s) * n + j, scales.format));
          }
          const std::uint64_t code = hash.code(d) ^ (i == wrong_row && j == wrong_column ? 1u : 0u);
          std::memcpy(p.d.data() + at * size, &code, size);
        }
      }
    }
  }
};

/// Fills tiles.d as the GPU oracle does, in pieces of `step` instruction tiles.
void answer(const Simulated& gpu, Tiles& tiles, std::size_t step) {
  const Placement straight(gpu.instruction, tiles), rotated(gpu.instruction, tiles, Rotation{.rows = 5, .columns = 3});
  PackedTiles packed;
  for (std::size_t first = 0; first < straight.tile_count(); first += step) {
    const std::size_t count = std::min(step, straight.tile_count() - first);
    straight.pack(tiles, first, count, packed);
    gpu.run(packed);
    straight.store(packed, first, tiles);
    straight.compare(packed, first, tiles);
    rotated.pack(tiles, first, count, packed);
    gpu.run(packed);
    rotated.compare(packed, first, tiles);
  }
}

struct Shape {
  std::size_t count, m, n;
};
constexpr Shape kShapes[] = {{1, 1, 1},  {3, 8, 8},   {2, 5, 3},   {2, 8, 19},  {2, 9, 8}, {1, 16, 8},
                             {2, 17, 9}, {1, 64, 16}, {2, 70, 11}, {2, 64, 30}, {0, 8, 8}};

class PlacementTest : public testing::TestWithParam<const char*> {
 protected:
  const Instruction& instruction() const { return *find_instruction(GetParam()); }
};

TEST_P(PlacementTest, EveryProblemComesBackWithItsOwnResult) {
  for (const auto& [count, m, n] : kShapes) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{100}}) {
      Tiles tiles = random_tiles(instruction(), count, m, n);
      ASSERT_NO_THROW(answer(Simulated{instruction()}, tiles, step));
      for (std::size_t i = 0; i < tiles.size(); ++i) {
        ASSERT_EQ(tiles.d[i], expected(tiles, i)) << count << " x " << m << " x " << n << ", element " << i;
      }
    }
  }
}

TEST_P(PlacementTest, AnyPositionThatComputesOtherwiseIsFound) {
  for (const std::size_t m : {std::size_t{8}, static_cast<std::size_t>(instruction().m)}) {
    for (int row = 0; row < instruction().m; ++row) {
      for (int column = 0; column < instruction().n; ++column) {
        Tiles tiles = random_tiles(instruction(), 1, m, 8);
        ASSERT_THROW(answer(Simulated{instruction(), row, column}, tiles, 1), std::runtime_error)
            << m << " rows, position (" << row << ", " << column << ")";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Instructions, PlacementTest,
    testing::Values("mma.m8n8k4.f64.f64.f64.f64", "mma.m16n8k16.f16.f16.f16.f16", "mma.m16n8k8.f32.tf32.tf32.f32",
                    "wgmma.m64n8k32.f32.e4m3.e5m2", "wgmma.m64n24k8.f32.tf32.tf32", "mma.m8n8k16.s32.s8.u8.s32",
                    "mma.m16n8k32.s32.s4.u4.s32.satfinite", "mma.m8n8k128.s32.b1.b1.s32.xor.popc",
                    "mma.sp.m16n8k32.f32.f16.f16.f32", "mma.sp::ordered_metadata.m16n8k8.f32.tf32.tf32.f32",
                    "mma.sp.m16n8k64.s32.u4.s4.s32", "mma.m8n8k4.f32.f16.f16.f16",
                    "mma.m16n8k32.mxf8f6f4.1x.f32.e4m3.e2m1.f32.ue8m0",
                    "mma.m16n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3",
                    "mma.sp::ordered_metadata.m16n8k128.mxf4.2x.f32.e2m1.e2m1.f32.ue8m0", "v_mfma_f32_4x4x4_16b_f16",
                    "v_mfma_f32_32x32x2_f32", "v_smfmac_f32_16x16x64_fp8_bf8", "wmma.m16n16k16.f16.f16.f16.f32",
                    "wmma.m32n8k16.f32.f16.f16.f16", "wmma.m8n32k16.f16.f16.f16.f32"));

TEST(Placement, RowsThatAreNotFilledHaveLegalMetadata) {
  for (const char* name : {"mma.sp.m16n8k32.f32.f16.f16.f32", "mma.sp::ordered_metadata.m16n8k16.f32.tf32.tf32.f32",
                           "mma.sp::ordered_metadata.m16n8k128.s32.s4.s4.s32"}) {
    const Instruction& instruction = *find_instruction(name);
    for (const std::size_t m : {1, 5, 11}) {
      const Tiles tiles = random_tiles(instruction, 2, m, 8);
      PackedTiles packed;
      Placement(instruction, tiles).pack(tiles, 0, 2, packed);
      Codes positions(1, packed.e.size());
      std::ranges::copy(packed.e, positions.bytes().begin());
      EXPECT_EQ(positions.size(), 2u * 16 * static_cast<std::size_t>(instruction.products()));
      EXPECT_EQ(first_illegal_group(instruction, positions), positions.size()) << name;
    }
  }
}

TEST(Placement, ADifferenceIsNamed) {
  const Instruction& instruction = *find_instruction("mma.m16n8k16.f32.f16.f16.f32");
  Tiles tiles = random_tiles(instruction, 1, 8, 8);
  try {
    answer(Simulated{instruction, 9, 2}, tiles, 1);
    FAIL() << "no difference was found";
  } catch (const std::runtime_error& error) {
    // Row 9 is row 1 of the second group, which is rotated by one: source row 2.
    const std::string what = error.what();
    EXPECT_NE(what.find(instruction.name()), std::string::npos) << what;
    EXPECT_NE(what.find("a result depends on its position: tile 0, element (2, 2)"), std::string::npos) << what;
    EXPECT_NE(what.find("row 2, column 2"), std::string::npos) << what;
    EXPECT_NE(what.find("row 9, column 2"), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace tcnum
