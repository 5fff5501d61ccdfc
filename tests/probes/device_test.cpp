// The GPU oracle on a GPU: that each element of each operand goes where the layouts say.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "isa/sparsity.hpp"
#include "sparse_operands.hpp"
#include "src/questions/stream.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"
#include "tcnum/format.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/oracle.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {
namespace {

std::uint64_t encode_integer(FormatId id, int value) {
  return encode(format(id), value < 0, static_cast<uint128>(std::abs(value)), 0, false, Rounding::nearest_even);
}

/// NaN for everything that is not finite.
double value_of(FormatId id, std::uint64_t code) {
  const Decoded x = decode(format(id), code);
  if (!x.is_finite()) return std::nan("");
  const double magnitude = std::ldexp(static_cast<double>(x.significand), x.exponent - format(id).fraction_bits);
  return x.negative ? -magnitude : magnitude;
}

class DeviceTest : public testing::TestWithParam<const Instruction*> {
 protected:
  void SetUp() override {
    const GpuInfo info = gpu_info();
    if (!info.present) GTEST_SKIP() << info.why_not;
    const auto arch = find_arch(info.arch);
    if (!arch || !instruction().archs.contains(*arch)) GTEST_SKIP() << info.arch << " does not have this instruction";
  }

  const Instruction& instruction() const { return *GetParam(); }
  std::size_t rows() const { return static_cast<std::size_t>(instruction().m); }

  /// Dense problems; a sparse instruction gets them as scatter() chooses.
  Tiles zero_tiles(std::size_t count, std::size_t m, std::size_t n) const {
    return make_tiles(instruction().a, instruction().b, instruction().c, instruction().d, count, m, n,
                      static_cast<std::size_t>(instruction().products()));
  }
  Tiles small_integers(std::size_t count, std::size_t m, std::size_t n) const {
    return small_integers(zero_tiles(count, m, n));
  }

  /// −3 … 3, or as much of that as the format has: no sum of products of them is rounded by any accumulator.
  static Tiles small_integers(Tiles tiles) {
    std::mt19937 random(7);
    std::uniform_int_distribution<std::size_t> any(0, 6);
    const auto fill = [&](Codes& codes, FormatId id) {
      std::array<std::uint64_t, 7> small{};
      for (int value = -3; value <= 3; ++value) small[static_cast<std::size_t>(value + 3)] = encode_integer(id, value);
      for (std::size_t i = 0; i < codes.size(); ++i) codes.set(i, small[any(random)]);
    };
    fill(tiles.a, tiles.a_format);
    fill(tiles.b, tiles.b_format);
    fill(tiles.c, tiles.c_format);
    return tiles;
  }
};

double product(const Instruction& instruction, double a, double b) {
  return instruction.modifier == Modifier::xor_popc ? std::abs(a - b) : a * b;
}

double dot(const Instruction& instruction, const Tiles& tiles, std::size_t index) {
  const Problem problem = problem_at(tiles, index);
  double sum = value_of(tiles.c_format, problem.c);
  for (std::size_t k = 0; k < problem.a.size(); ++k) {
    sum += product(instruction, value_of(tiles.a_format, problem.a[k]), value_of(tiles.b_format, problem.b[k]));
  }
  return sum;
}

void expect_exact(const Instruction& instruction, const Tiles& tiles) {
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    ASSERT_EQ(value_of(tiles.d_format, tiles.d[i]), dot(instruction, tiles, i))
        << "tile " << i / (tiles.m * tiles.n) << ", row " << i / tiles.n % tiles.m << ", column " << i % tiles.n;
  }
}

TEST_P(DeviceTest, SmallIntegersAreExact) {
  const auto oracle = make_gpu_dot_oracle(instruction());
  EXPECT_EQ(oracle->kind(), OracleKind::gpu);
  struct Shape {
    std::size_t count, m, n;
  };
  for (const auto& [count, m, n] : {Shape{7, rows(), 8}, Shape{7, 8, 8}, Shape{3, 5, 3}, Shape{2, rows() + 3, 11},
                                    Shape{2, rows(), static_cast<std::size_t>(instruction().n) + 3}}) {
    Tiles tiles = small_integers(count, m, n);
    oracle->answer(tiles);
    expect_exact(instruction(), tiles);
  }
}

TEST_P(DeviceTest, WithoutTheCheckOfPositionsTheAnswerIsTheSame) {
  // More tiles than the largest grid has warps (mma) or blocks (wgmma).
  Tiles checked = small_integers(instruction().kind == InstructionKind::wgmma ? 5000 : 20000, rows(), 8);
  Tiles bulk = checked;
  make_gpu_dot_oracle(instruction())->answer(checked);
  make_gpu_dot_oracle(instruction(), false)->answer(bulk);
  EXPECT_EQ(checked.d, bulk.d);
}

TEST_P(DeviceTest, OneOfARowAndOneOfAColumnMeetAtOneElement) {
  // A tile for each (i, k) of A; together they visit each (k, j) of B too.
  const std::size_t depth = static_cast<std::size_t>(instruction().products());
  Tiles tiles = zero_tiles(rows() * depth, rows(), 8);
  const auto column_of = [](std::size_t i, std::size_t k) { return (i + 3 * k) % 8; };
  for (std::size_t i = 0; i < rows(); ++i) {
    for (std::size_t k = 0; k < depth; ++k) {
      const std::size_t tile = i * depth + k;
      tiles.a.set(tiles.a_index(tile, i, k), encode_integer(tiles.a_format, 1));
      tiles.b.set(tiles.b_index(tile, k, column_of(i, k)), encode_integer(tiles.b_format, 1));
    }
  }
  make_gpu_dot_oracle(instruction())->answer(tiles);
  const std::uint64_t one = encode_integer(tiles.d_format, 1);
  for (std::size_t tile = 0; tile < tiles.count; ++tile) {
    const std::size_t i = tile / depth, k = tile % depth;
    for (std::size_t row = 0; row < tiles.m; ++row) {
      for (std::size_t column = 0; column < tiles.n; ++column) {
        const double met = product(instruction(), row == i ? 1 : 0, column == column_of(i, k) ? 1 : 0);
        ASSERT_EQ(tiles.d[tiles.c_index(tile, row, column)], met != 0 ? one : 0)
            << "A(" << i << ", " << k << "), B(" << k << ", " << column_of(i, k) << "), D(" << row << ", " << column
            << ")";
      }
    }
  }
}

TEST_P(DeviceTest, ZeroAccumulatorsGiveTheBitsOfTheCatalogue) {
  // Where a wgmma can leave out C, one of the ways that the oracle compares does.
  const auto entries = catalogue(*find_arch(gpu_info().arch), instruction());
  if (entries.empty() || !entries[0].fitted) GTEST_SKIP() << "no datapath of " << instruction().name() << " is fitted";
  const auto oracle = make_gpu_dot_oracle(instruction());
  const Emulator emulator(entries[0].datapath);
  for (const Distribution distribution : {Distribution::narrow, Distribution::wide, Distribution::tiny,
                                          Distribution::signed_zeros, Distribution::specials}) {
    Tiles tiles = make_random_tiles(instruction(), distribution, 3, 0, 100, rows(), 8);
    tiles.c = Codes(tiles.c.bytes_each(), tiles.c.size());
    Tiles expected = tiles;
    oracle->answer(tiles);
    emulator.run(expected);
    EXPECT_EQ(tiles.d, expected.d) << name(distribution);
  }
}

/// Sparse tiles as they are, each group of each row with metadata of its own.
class SparseDeviceTest : public DeviceTest {
 protected:
  Tiles with_random_metadata(std::size_t count, std::size_t m, std::size_t n) const {
    Tiles tiles = make_operands(instruction(), count, m, n);
    std::mt19937_64 random(11);
    draw_positions(instruction(), tiles, random);
    return tiles;
  }
};

TEST_P(SparseDeviceTest, SmallIntegersAreExactWithAnyMetadata) {
  const auto oracle = make_gpu_oracle(instruction());
  struct Shape {
    std::size_t count, m, n;
  };
  for (const auto& [count, m, n] : {Shape{500, 16, 8}, Shape{50, 8, 8}, Shape{20, 5, 3}, Shape{20, 19, 11}}) {
    Tiles tiles = small_integers(with_random_metadata(count, m, n));
    oracle->answer(tiles);
    expect_exact(instruction(), tiles);
  }
}

TEST_P(SparseDeviceTest, AnyOperandsWithAnyMetadataGiveTheBitsOfTheCatalogue) {
  const auto entries = catalogue(*find_arch(gpu_info().arch), instruction());
  if (entries.empty() || !entries[0].fitted) GTEST_SKIP() << "no datapath of " << instruction().name() << " is fitted";
  const auto oracle = make_gpu_oracle(instruction());
  const Emulator emulator(entries[0].datapath);
  for (const Distribution distribution :
       {Distribution::narrow, Distribution::wide, Distribution::uniform_bits, Distribution::tiny}) {
    Tiles tiles = with_random_metadata(200, 16, 8);
    // B has twice the depth of the problems that are made: its halves are two problems.
    const Tiles even = make_random_tiles(instruction(), distribution, 1, 0, 200, 16, 8);
    const Tiles odd = make_random_tiles(instruction(), distribution, 2, 0, 200, 16, 8);
    tiles.a = even.a;
    tiles.c = even.c;
    for (std::size_t t = 0; t < tiles.count; ++t) {
      for (std::size_t k = 0; k < tiles.k; ++k) {
        const Tiles& from = k % 2 == 0 ? even : odd;
        for (std::size_t j = 0; j < tiles.n; ++j) {
          tiles.b.set(tiles.b_index(t, k, j), from.b[from.b_index(t, k / 2, j)]);
        }
      }
    }
    oracle->answer(tiles);
    Tiles expected = gather(tiles);
    emulator.run(expected);
    EXPECT_EQ(tiles.d, expected.d) << name(distribution);
  }
}

#ifdef TCNUM_HIP

std::vector<const Instruction*> of_cdna(bool sparse_alone) {
  std::vector<const Instruction*> rows;
  const ArchSet kernels = archs({ArchId::gfx908, ArchId::gfx90a, ArchId::gfx942});
  for (const Instruction& row : instructions()) {
    const bool wanted = row.kind == InstructionKind::mfma && (row.archs.bits & kernels.bits) != 0;
    if (wanted && (row.sparse() || !sparse_alone)) rows.push_back(&row);
  }
  return rows;
}

#else

/// The wgmma rows at some larger N, too, of those that every build has.
std::vector<const Instruction*> hopper() {
  std::vector<const Instruction*> rows = instructions_of(ArchId::sm_90);
  for (const Instruction& row : instructions()) {
    if (row.kind == InstructionKind::wgmma && (row.n == 64 || row.n == 256)) rows.push_back(&row);
  }
  return rows;
}

std::vector<const Instruction*> sparse_hopper() {
  std::vector<const Instruction*> rows = instructions_of(ArchId::sm_90);
  std::erase_if(rows, [](const Instruction* row) { return !row->sparse(); });
  return rows;
}

#endif

std::string test_name(const testing::TestParamInfo<const Instruction*>& test) {
  std::string name = test.param->name();
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

#ifdef TCNUM_HIP
INSTANTIATE_TEST_SUITE_P(Cdna, DeviceTest, testing::ValuesIn(of_cdna(false)), test_name);
INSTANTIATE_TEST_SUITE_P(Cdna, SparseDeviceTest, testing::ValuesIn(of_cdna(true)), test_name);
#else
INSTANTIATE_TEST_SUITE_P(Hopper, DeviceTest, testing::ValuesIn(hopper()), test_name);
INSTANTIATE_TEST_SUITE_P(Hopper, SparseDeviceTest, testing::ValuesIn(sparse_hopper()), test_name);
#endif

TEST(Device, WhatTheGpuLacksIsUnavailable) {
  Instruction other = *find_instruction("mma.m16n8k8.f32.f16.f16.f32");
  other.archs = archs({ArchId::gfx1200});
  EXPECT_THROW(make_gpu_oracle(other), UnavailableError);
}

TEST(Device, TheGpuIsNamedOrTheReasonGiven) {
  const GpuInfo info = gpu_info();
  if (!info.present) {
    EXPECT_FALSE(info.why_not.empty());
    EXPECT_EQ(info.why_not.find('\n'), std::string::npos);
    GTEST_SKIP() << info.why_not;
  }
  const bool by_cuda = !cuda_compiler().empty();
  EXPECT_TRUE(info.arch.starts_with(by_cuda ? "sm_" : "gfx")) << info.arch;
  EXPECT_FALSE(info.device.empty());
  EXPECT_FALSE(info.driver.empty());
  if (by_cuda) {
    EXPECT_EQ(info.cuda.find('.'), info.cuda.size() - 2) << info.cuda;
  }
}

}  // namespace
}  // namespace tcnum
