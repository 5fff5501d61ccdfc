// What the kernels of AMD's v_mfma and v_smfmac do before and after the instruction, on a CPU: their table against the
// catalogue's, and whole waves against an instruction that takes its operands from where AMD says they lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hashed_problems.hpp"
#include "probes/mfma_operands.hpp"
#include "probes/tile_oracle.hpp"

namespace tcnum {
namespace {

constexpr ArchSet kArchsOfKernels = archs({ArchId::gfx908, ArchId::gfx90a, ArchId::gfx942});

TEST(MfmaTable, EveryInstructionOfTheseArchitecturesHasARow) {
  std::size_t count = 0;
  for (const Instruction& in : instructions()) {
    const std::uint32_t wanted = in.archs.bits & kArchsOfKernels.bits;
    if (in.kind != InstructionKind::mfma || wanted == 0) continue;
    ++count;
    const auto row = std::ranges::find(kMfmaRows, in.name(), &MfmaRow::instruction);
    ASSERT_NE(row, kMfmaRows.end()) << in.name();
    EXPECT_EQ(row->archs.bits, wanted) << in.name();
    EXPECT_EQ(std::tuple(row->m, row->m, row->k, row->blocks), std::tuple(in.m, in.n, in.k, in.blocks)) << in.name();
    EXPECT_EQ(std::tuple(row->d, row->a, row->b, row->d), std::tuple(in.d, in.a, in.b, in.c)) << in.name();
    EXPECT_EQ(row->sparse(), in.sparse()) << in.name();
  }
  EXPECT_EQ(count, kMfmaRows.size()) << "of rows that are no instruction's, or an instruction's twice";
}

TEST(MfmaFragments, EveryElementIsPlacedOnce) {
  using Places = std::set<std::tuple<int, int, int>>;
  for (const MfmaRow& row : kMfmaRows) {
    SCOPED_TRACE(row.instruction);
    const MfmaGeometry geometry = row.geometry();
    const auto check = [&](int elements, int rows, int columns, const auto& at) {
      Places places;
      for (int lane = 0; lane < MfmaGeometry::kLanes; ++lane) {
        for (int e = 0; e < elements; ++e) {
          const BlockElement x = at(lane, e);
          ASSERT_TRUE(0 <= x.block && x.block < row.blocks && 0 <= x.row && x.row < rows && 0 <= x.column &&
                      x.column < columns)
              << "lane " << lane << ", element " << e;
          ASSERT_TRUE(places.emplace(x.block, x.row, x.column).second) << "lane " << lane << ", element " << e;
        }
      }
      EXPECT_EQ(places.size(), static_cast<std::size_t>(row.blocks * rows * columns));
    };
    check(geometry.a_elements(), row.m, geometry.a_columns(), [&](int l, int e) { return geometry.a(l, e); });
    check(geometry.b_elements(), row.k, row.m, [&](int l, int e) { return geometry.b(l, e); });
    check(geometry.accumulators(), row.m, row.m, [&](int l, int i) { return geometry.c(l, i); });
  }
}

// --- The instruction, on a CPU ----------------------------------------------------------------------------------

/// A lane, and a place among the elements that it has of a matrix.
struct Place {
  int lane, at;
};

// The mapping of elements to registers as AMD's Matrix Instruction Calculator prints it: "A[i][k].block Lane: …". It
// prints the same of B[k][j].block, and of the stored elements of a sparse A.
Place place_of_operand(const MfmaRow& row, int of_a_lane, int i, int k, int block) {
  if (row.d == FormatId::fp64 && row.m == 4) return {4 * block + 16 * k + i, 0};
  return {row.m * (row.blocks > 1 ? block : k / of_a_lane) + i, k % of_a_lane};
}
/// "C or D[i][j].block GPR: …, Lane: …".
Place place_of_result(const MfmaRow& row, int i, int j, int block) {
  if (row.d == FormatId::fp64) return row.m == 4 ? Place{16 * i + 4 * block + j, 0} : Place{16 * (i % 4) + j, i / 4};
  if (row.m == 32) return {32 * (i / 4) % 64 + j, 16 * block + 4 * (i / 8) + i % 4};
  if (row.m == 16) return {16 * (i / 4) + j, 4 * block + i % 4};
  return {4 * block + j, i % 4};
}

/// What is wrong with it: results of one block, or those with one part of the index register, have their lowest bit
/// flipped.
struct Fault {
  int block = -1, index_set = -1;
};

constexpr std::string_view kWays[] = {"way 0", "way 1", "way 2", "way 3"};

template <MfmaNumber kNumber>
class WaveOnCpu final : public TileOracle {
 public:
  using Op = MfmaOp<kNumber>;

  explicit WaveOnCpu(Fault fault)
      : TileOracle(*find_instruction(Op::kRow.instruction), std::span(kWays).first(variant_count<Op>()),
                   /*check_positions=*/true),
        fault_(fault) {}
  std::string device() const override { return "a CPU"; }

 private:
  using Operands = std::array<LaneOperands<Op>, MfmaGeometry::kLanes>;
  using Results = std::array<decltype(LaneOperands<Op>::c), MfmaGeometry::kLanes>;

  void run(PackedTiles& packed, int variant) override {
    const DeviceTiles tiles{packed.a.data(), packed.b.data(), packed.c.data(), packed.d.data(), packed.e.data(),
                            nullptr,         nullptr,         packed.count,    variant};
    for (std::size_t first = 0; first < tiles.count; first += Op::kGeometry.blocks) {
      Operands operands{};
      for (int lane = 0; lane < MfmaGeometry::kLanes; ++lane)
        operands[static_cast<std::size_t>(lane)] = load_lane<Op>(tiles, first, lane);
      const Results results = issue(operands, Op::kGeometry.sparse ? variant : 0);
      for (int lane = 0; lane < MfmaGeometry::kLanes; ++lane)
        store_lane<Op>(tiles, first, lane, results[static_cast<std::size_t>(lane)]);
    }
  }

  Results issue(const Operands& lanes, int index_set) const {
    constexpr MfmaRow kRow = Op::kRow;
    const int depth = Op::kGeometry.a_columns(), of_a = kRow.m * depth * kRow.blocks / 64;
    const int of_b = kRow.m * kRow.k * kRow.blocks / 64;
    Results results{};
    for (int block = 0; block < kRow.blocks; ++block) {
      for (int i = 0; i < kRow.m; ++i) {
        for (int j = 0; j < kRow.m; ++j) {
          Hash hash;
          for (int s = 0; s < depth; ++s) {
            const auto [lane_a, at_a] = place_of_operand(kRow, of_a, i, s, block);
            const auto& with_a = lanes[static_cast<std::size_t>(lane_a)];
            int k = s;
            if (kRow.sparse()) k = s / 2 * 4 + static_cast<int>(with_a.index >> 2 * (index_set * of_a + at_a) & 3);
            const auto [lane_b, at_b] = place_of_operand(kRow, of_b, j, k, block);
            hash.add(with_a.a.of[at_a]);
            hash.add(lanes[static_cast<std::size_t>(lane_b)].b.of[at_b]);
          }
          const auto [lane, at] = place_of_result(kRow, i, j, block);
          hash.add(lanes[static_cast<std::size_t>(lane)].c.of[at]);
          const bool wrong = block == fault_.block || index_set == fault_.index_set;
          results[static_cast<std::size_t>(lane)].of[at] =
              static_cast<typename Op::ResultCode>(hash.code(kRow.d) ^ (wrong ? 1u : 0u));
        }
      }
    }
    return results;
  }

  Fault fault_;
};

/// The oracle of each row.
using Make = std::unique_ptr<Oracle> (*)(Fault);
template <std::size_t... kIndices>
constexpr auto makers(std::index_sequence<kIndices...>) {
  return std::array<Make, sizeof...(kIndices)>{[](Fault fault) -> std::unique_ptr<Oracle> {
    return std::make_unique<WaveOnCpu<static_cast<MfmaNumber>(kIndices)>>(fault);
  }...};
}
constexpr auto kMakers = makers(std::make_index_sequence<kMfmaRows.size()>{});

TEST(MfmaWaves, EveryProblemComesBackWithItsOwnResult) {
  struct Shape {
    std::size_t count, m, n;
  };
  for (std::size_t at = 0; at < kMfmaRows.size(); ++at) {
    SCOPED_TRACE(kMfmaRows[at].instruction);
    const auto oracle = kMakers[at]({});
    for (const auto& [count, m, n] : {Shape{1, 1, 1}, {3, 8, 8}, {19, 5, 3}, {2, 9, 8}, {2, 33, 17}}) {
      Tiles tiles = random_tiles(*find_instruction(kMfmaRows[at].instruction), count, m, n);
      ASSERT_NO_THROW(oracle->answer(tiles));
      for (std::size_t i = 0; i < tiles.size(); ++i) {
        ASSERT_EQ(tiles.d[i], expected(tiles, i)) << count << " x " << m << " x " << n << ", element " << i;
      }
    }
  }
}

TEST(MfmaWaves, ABlockThatComputesOtherwiseIsFound) {
  for (std::size_t at = 0; at < kMfmaRows.size(); ++at) {
    const MfmaRow& row = kMfmaRows[at];
    for (int block = 0; row.blocks > 1 && block < row.blocks; ++block) {
      // As many instruction tiles as there are blocks.
      Tiles tiles = random_tiles(*find_instruction(row.instruction), static_cast<std::size_t>(row.blocks),
                                 static_cast<std::size_t>(row.m), static_cast<std::size_t>(row.m));
      EXPECT_THROW(kMakers[at]({.block = block})->answer(tiles), std::runtime_error)
          << row.instruction << ", block " << block;
    }
  }
}

TEST(MfmaWaves, ABlockWithoutATileGivesNoResult) {
  int rows = 0;
  for (std::size_t at = 0; at < kMfmaRows.size(); ++at) {
    const MfmaRow& row = kMfmaRows[at];
    if (row.blocks <= 2) continue;  // one tile visits both
    ++rows;
    const auto size = static_cast<std::size_t>(row.m);
    Tiles tiles = random_tiles(*find_instruction(row.instruction), 1, size, size);
    ASSERT_NO_THROW(kMakers[at]({.block = row.blocks - 1})->answer(tiles)) << row.instruction;
    for (std::size_t i = 0; i < tiles.size(); ++i) ASSERT_EQ(tiles.d[i], expected(tiles, i)) << row.instruction;
  }
  EXPECT_GT(rows, 0);
}

TEST(MfmaWaves, APartOfTheIndexRegisterThatIsReadOtherwiseIsFound) {
  int parts = 0;
  for (std::size_t at = 0; at < kMfmaRows.size(); ++at) {
    const MfmaRow& row = kMfmaRows[at];
    for (int set = 0; row.sparse() && set < row.geometry().index_sets(); ++set, ++parts) {
      Tiles tiles = random_tiles(*find_instruction(row.instruction), 1, 8, 8);
      EXPECT_THROW(kMakers[at]({.index_set = set})->answer(tiles), std::runtime_error)
          << row.instruction << ", part " << set;
    }
  }
  // CDNA3 ISA, "Sparse Matrices": four parts of 8 bits for 16-bit formats, two of 16 for 8-bit ones.
  EXPECT_EQ(parts, 4 * 4 + 10 * 2);
}

}  // namespace
}  // namespace tcnum
