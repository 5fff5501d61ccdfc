// tcnum/tcnum.hpp: matrix products equal chains of the instruction, made by hand with the exact emulator; what is wrong
// is named.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "refusal.hpp"
#include "src/gemm/performer.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/tcnum.hpp"

namespace tcnum::matmul_test {
namespace {

Matrix random_matrix(FormatId id, std::size_t rows, std::size_t columns, std::mt19937_64& random,
                     std::uint64_t bits = ~std::uint64_t{0}) {
  Matrix matrix(id, rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) matrix.set(i, j, random() & format(id).code_mask() & bits);
  }
  return matrix;
}

/// Element (i, j) as the header promises it.
std::uint64_t chained(const Datapath& datapath, const Matrix& a, const Matrix& b, std::uint64_t c, std::size_t i,
                      std::size_t j) {
  const auto depth = static_cast<std::size_t>(datapath.tree.k);
  for (std::size_t first = 0; first < a.columns(); first += depth) {
    std::vector<std::uint64_t> row(depth, 0), column(depth, 0);
    for (std::size_t k = first; k < std::min(a.columns(), first + depth); ++k) {
      row[k - first] = a(i, k);
      column[k - first] = b(k, j);
    }
    c = emulate_exact(datapath, row, column, c);
  }
  return c;
}

struct Shape {
  std::size_t m, n, k;
};

class Matmul : public testing::TestWithParam<std::tuple<const char*, Shape>> {};

TEST_P(Matmul, EqualsTheChainByHand) {
  const auto& [name, shape] = GetParam();
  const auto& [m, n, k] = shape;
  const Instruction& in = *find_instruction(name);
  const Datapath datapath = catalogue(ArchId::sm_90, in).at(0).datapath;
  std::mt19937_64 random(m + 100 * n + 10000 * k);
  const Matrix a = random_matrix(in.a, m, k, random), b = random_matrix(in.b, k, n, random);
  const Matrix c = random_matrix(in.c, m, n, random);
  const MatmulOptions options = {.arch = "sm_90", .instruction = name, .threads = 2};
  const Matrix d = matmul(a, b, c, options), without_c = matmul(a, b, options);
  ASSERT_EQ(d.format(), in.d);
  ASSERT_EQ(d.rows(), m);
  ASSERT_EQ(d.columns(), n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      ASSERT_EQ(d(i, j), chained(datapath, a, b, c(i, j), i, j)) << i << ", " << j;
      ASSERT_EQ(without_c(i, j), chained(datapath, a, b, 0, i, j)) << i << ", " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Hopper, Matmul,
                         testing::Combine(testing::Values("mma.m16n8k16.f32.f16.f16.f32",
                                                          "wgmma.m64n8k32.f32.e4m3.e4m3",
                                                          "mma.m16n8k8.f32.tf32.tf32.f32", "mma.m8n8k4.f64.f64.f64.f64",
                                                          "mma.m16n8k32.s32.s8.s8.s32", "mma.m16n8k16.f16.f16.f16.f16"),
                                          // One; of one tile; ragged in M, N and K; of several blocks of the result.
                                          testing::Values(Shape{1, 1, 1}, Shape{16, 8, 32}, Shape{3, 5, 7},
                                                          Shape{17, 9, 41}, Shape{66, 65, 33})));

TEST(Matmul, TakesOnlyAsManyProductsAsTheInstructionWhereCAndDDiffer) {
  const MatmulOptions options = {.arch = "sm_90", .instruction = "mma.m8n8k4.f32.f16.f16.f16"};
  EXPECT_NO_THROW(matmul(Matrix(FormatId::fp16, 2, 4), Matrix(FormatId::fp16, 4, 2), options));
  EXPECT_THROW(matmul(Matrix(FormatId::fp16, 2, 5), Matrix(FormatId::fp16, 5, 2), options), InputError);
}

TEST(Matmul, PadsWithProductsOfPlusZero) {
  // A sum of −0 alone stays −0 as the instruction fills it, and meets +0 where K is shorter.
  const Datapath datapath = catalogue(ArchId::sm_90, *find_instruction("mma.m8n8k4.f64.f64.f64.f64")).at(0).datapath;
  const std::vector<double> minus(4, -0.0), one(4, 1.0);
  const Matrix c = Matrix::from(std::vector<double>{-0.0}, 1, 1, "fp64");
  const MatmulOptions options = {.datapath = datapath};
  const Matrix full = matmul(Matrix::from(minus, 1, 4, "fp64"), Matrix::from(one, 4, 1, "fp64"), c, options);
  EXPECT_EQ(full(0, 0), 0x8000000000000000u);
  const Matrix padded = matmul(Matrix::from(std::span(minus).first(3), 1, 3, "fp64"),
                               Matrix::from(std::span(one).first(3), 3, 1, "fp64"), c, options);
  EXPECT_EQ(padded(0, 0), 0u);
}

/// The kind that the vendor's library makes large products of, and not one that is lowered to something else.
TEST(Matmul, ChoosesWhatLibrariesUse) {
  using enum FormatId;
  const auto chosen = [](std::string_view arch, FormatId a) { return instruction_for(arch, a, a).name(); };
  EXPECT_EQ(chosen("sm_90", fp8e4m3), "wgmma.m64n8k32.f32.e4m3.e4m3");
  EXPECT_EQ(instruction_for("sm_90", fp8e5m2, fp8e4m3).name(), "wgmma.m64n8k32.f32.e5m2.e4m3");
  EXPECT_EQ(chosen("sm_90", tf32), "wgmma.m64n8k8.f32.tf32.tf32");
  EXPECT_EQ(chosen("sm_90", s8), "wgmma.m64n8k32.s32.s8.s8");
  EXPECT_EQ(chosen("sm_89", fp8e4m3), "mma.m16n8k32.f32.e4m3.e4m3.f32");
  EXPECT_TRUE(chosen("sm_100", fp8e4m3).starts_with("tcgen05.mma."));
  EXPECT_TRUE(chosen("sm_103", fp16).starts_with("tcgen05.mma."));
  EXPECT_EQ(chosen("sm_120", fp8e4m3), "mma.m16n8k32.f32.e4m3.e4m3.f32");
  EXPECT_EQ(chosen("sm_80", fp16), "mma.m16n8k16.f32.f16.f16.f32");
  for (const Arch& arch : kArchs) {
    for (const Format& f : kFormats) {
      try {
        const Instruction& in = instruction_for(arch.name, f.id, f.id);
        EXPECT_EQ(catalogue(arch.id, in).front().lowered_to, "") << arch.name << " " << in.name();
      } catch (const InputError&) {
        continue;  // it has none
      }
    }
  }
  std::mt19937_64 random(3);
  const Matrix a = random_matrix(fp8e4m3, 8, 512, random, 0xbf), b = random_matrix(fp8e4m3, 512, 8, random, 0xbf);
  const Matrix by_mma = matmul(a, b, {.arch = "sm_90", .instruction = "mma.m16n8k32.f32.e4m3.e4m3.f32"});
  EXPECT_NE(matmul(a, b, {.arch = "sm_90"}), by_mma);
  EXPECT_EQ(matmul(a, b, {.arch = "sm_90"}),
            matmul(a, b, {.arch = "sm_90", .instruction = "wgmma.m64n8k32.f32.e4m3.e4m3"}));
}

TEST(Matmul, ChoosesAnInstructionByTheFormats) {
  std::mt19937_64 random(1);
  const Matrix a = random_matrix(FormatId::fp16, 5, 40, random), b = random_matrix(FormatId::fp16, 40, 3, random);
  const Matrix by_name = matmul(a, b, {.arch = "sm_90", .instruction = "mma.m16n8k16.f32.f16.f16.f32"});
  EXPECT_EQ(matmul(a, b, {.arch = "sm_90"}), by_name);
  const Matrix half = matmul(a, b, Matrix(FormatId::fp16, 5, 3), {.arch = "sm_90"});
  EXPECT_EQ(half.format(), FormatId::fp16);
  EXPECT_EQ(instruction_for("sm_90", FormatId::fp16, FormatId::fp16).name(), "wgmma.m64n8k16.f32.f16.f16");
  EXPECT_THROW(instruction_for("sm_90", FormatId::fp16, FormatId::fp64), InputError);
}

/// Rows that are asked for in bands are those that are asked for at once, with C, scales and columns for rows.
TEST(Matmul, TellsHowFarItIsAndStops) {
  std::mt19937_64 random(7);
  constexpr std::size_t kM = 2'100, kN = 96, kK = 1'000;  // of which a band has 1,024 rows
  const Datapath datapath = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/hopper-fp16.json");
  const auto below_two = [&](FormatId id, std::size_t rows, std::size_t columns) {  // NaNs would take panels far longer
    return random_matrix(id, rows, columns, random, ~(std::uint64_t{1} << (format(id).storage_bits - 2)));
  };
  const Matrix a = below_two(FormatId::fp16, kM, kK), b = below_two(FormatId::fp16, kK, kN);
  const Matrix c = below_two(FormatId::fp32, kM, kN);
  const Matrix right = matmul(a, b, c, {.datapath = datapath});
  std::vector<std::size_t> told;
  const auto product = [&](std::size_t stop_at) {
    told.clear();
    return matmul(a, b, c, {.datapath = datapath, .progress = [&, stop_at](std::size_t rows) {
                              if (rows > 0) told.push_back(rows);  // a slow machine asks within a band
                              return rows < stop_at;
                            }});
  };
  EXPECT_EQ(product(kM + 1), right);
  ASSERT_GT(told.size(), 1u);
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(told.back(), kM);
  const Matrix stopped = product(1);
  ASSERT_EQ(told.size(), 1u);
  for (std::size_t i = 0; i < kM; ++i) {
    for (std::size_t j = 0; j < kN; ++j) ASSERT_EQ(stopped(i, j), i < told.front() ? right(i, j) : 0) << i;
  }
}

/// Steps along k, between which a caller is asked, change no bit: with C, block scales, and a last step that is short.
TEST(Matmul, PausesChangeNothing) {
  std::mt19937_64 random(9);
  for (const char* name : {"hopper-fp16", "blackwell-nvfp4", "ampere-fp16"}) {
    const Datapath datapath = read_datapath(fmt::format("{}/docs/datapaths/{}.json", TCNUM_SOURCE_DIR, name));
    const Numerics& n = datapath.numerics;
    constexpr std::size_t kM = 9, kN = 40, kK = 1000;
    const Matrix a = random_matrix(n.a.format, kM, kK, random), b = random_matrix(n.b.format, kK, kN, random),
                 c = random_matrix(n.c.format, kM, kN, random);
    Matrix sa, sb;
    BlockScales scales;
    if (n.scales) {
      const std::size_t blocks = (kK + 15) / static_cast<std::size_t>(n.scales->block_k);
      sa = random_matrix(n.scales->format, kM, blocks, random);
      sb = random_matrix(n.scales->format, blocks, kN, random);
      scales = {codes_of(MatrixView(sa)), codes_of(MatrixView(sb))};
    }
    const MatrixProduct product(datapath, {n.a.format, n.b.format, n.c.format, n.result});
    const auto by = [&](const Pauses& pauses) {
      Matrix d(n.result, kM, kN);
      product.multiply({kM, kN, kK}, codes_of(MatrixView(a)), codes_of(MatrixView(b)), codes_of(MatrixView(c)),
                       codes_of(d), 2, scales, pauses);
      return d;
    };
    const Matrix at_once = by({});
    for (const std::size_t products : {std::size_t{1}, kM * kN * 200, kM * kN * kK}) {
      std::size_t pauses = 0;
      EXPECT_EQ(by({[&] { ++pauses; }, products}), at_once) << name;
      EXPECT_GT(pauses, products == 1 ? 10u : 0u);
    }
  }
}

TEST(Matmul, TakesSomebodyElsesCodes) {
  const std::vector<std::uint16_t> a = {0x3c00, 0x4000}, b = {0x3c00, 0x3c00};  // 1, 2 times 1, 1
  const MatmulOptions options = {.arch = "sm_90", .instruction = "mma.m16n8k16.f32.f16.f16.f32"};
  const Matrix d = matmul(MatrixView(a, 1, 2, "fp16"), MatrixView(b, 2, 1, "f16"), options);
  EXPECT_EQ(d(0, 0), std::bit_cast<std::uint32_t>(3.0f));
  const MatrixView bytes(std::as_bytes(std::span(a)), 1, 2, "fp16");
  EXPECT_EQ(matmul(bytes, MatrixView(b, 2, 1, "fp16"), options), d);
}

TEST(Matmul, TakesADatapathAndAnAccount) {
  const Instruction& in = *find_instruction("mma.m16n8k16.f32.f16.f16.f32");
  std::mt19937_64 random(2);
  const Matrix a = random_matrix(in.a, 4, 20, random), b = random_matrix(in.b, 20, 4, random);
  for (const CatalogueEntry& entry : catalogue(ArchId::sm_90, in)) {
    const Matrix by_account = matmul(a, b, {.arch = "sm_90", .instruction = in.name(), .account = entry.account});
    EXPECT_EQ(by_account, matmul(a, b, {.datapath = entry.datapath})) << entry.account;
    EXPECT_EQ(by_account, matmul(a, b, {.instruction = in.name(), .datapath = entry.datapath})) << entry.account;
  }
}

TEST(Matmul, WrongInputIsNamed) {
  const Matrix a(FormatId::fp16, 2, 3), b(FormatId::fp16, 3, 4);
  const MatmulOptions good = {.arch = "sm_90", .instruction = "mma.m16n8k16.f32.f16.f16.f32"};
  const Datapath datapath = catalogue(ArchId::sm_90, *find_instruction(good.instruction)).at(0).datapath;
  const auto multiply = [&](const MatrixView& x, const MatrixView& y, const MatmulOptions& options) {
    return refusal([&] { matmul(x, y, options); });
  };
  EXPECT_EQ(multiply(a, b, good), "");
  EXPECT_EQ(multiply(a, a, good), "matmul: B is 2 × 3; expected 3 rows, as many as A (2 × 3) has columns");
  EXPECT_EQ(refusal([&] { matmul(a, b, Matrix(FormatId::fp32, 4, 2), good); }),
            "matmul: C is 4 × 2; expected 2 × 4, as A (2 × 3) and B (3 × 4) make it");
  EXPECT_EQ(multiply(Matrix(FormatId::fp16, 2, 0), Matrix(FormatId::fp16, 0, 4), good),
            "matmul: A is 2 × 0; expected at least 1 × 1");
  EXPECT_EQ(multiply(Matrix(FormatId::bf16, 2, 3), b, good),
            "matmul: A is of bf16; expected fp16, as mma.m16n8k16.f32.f16.f16.f32 has it");
  EXPECT_EQ(refusal([&] { matmul(a, b, Matrix(FormatId::fp16, 2, 4), good); }),
            "matmul: C is of fp16; expected fp32, as mma.m16n8k16.f32.f16.f16.f32 has it");

  EXPECT_TRUE(multiply(a, b, {}).starts_with("matmul: arch is missing; expected one of sm_70")) << multiply(a, b, {});
  EXPECT_TRUE(multiply(a, b, {.arch = "sm_91"}).starts_with("matmul: arch sm_91 is unknown; expected one of"));
  EXPECT_EQ(multiply(a, b, {.arch = "sm_90", .instruction = "mma.sp.m16n8k32.f32.f16.f16.f32"}),
            "matmul: instruction: mma.sp.m16n8k32.f32.f16.f16.f32 is sparse; expected one with a dense A");
  EXPECT_TRUE(multiply(a, b, {.arch = "sm_90", .instruction = good.instruction, .account = "nobody"})
                  .starts_with("matmul: account: nobody is unknown; expected one of: fitted"));
  EXPECT_EQ(multiply(a, b, {.account = "fitted", .datapath = datapath}),
            "matmul: account: expected none, as there is a datapath");
  EXPECT_TRUE(multiply(a, b, {.instruction = "mma.m16n8k8.f32.f16.f16.f32", .datapath = datapath})
                  .starts_with("matmul: datapath: k: 16; expected 8"));
  const Matrix fp4(FormatId::fp4e2m1, 2, 17), fp4_transposed(FormatId::fp4e2m1, 17, 2), scales(FormatId::ue4m3, 2, 2);
  const Datapath scaled = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/blackwell-nvfp4.json");
  EXPECT_EQ(multiply(fp4, fp4_transposed, {.datapath = scaled, .a_scales = scales, .b_scales = scales}), "");
  EXPECT_EQ(multiply(fp4, fp4_transposed, {.datapath = scaled, .a_scales = scales}),
            "matmul: b_scales is missing; expected 2 × 2 of ue4m3, one for each block of 16 along K");
  EXPECT_EQ(multiply(fp4, fp4_transposed, {.datapath = scaled, .a_scales = fp4, .b_scales = scales}),
            "matmul: a_scales is 2 × 17 of fp4e2m1; expected 2 × 2 of ue4m3, one for each block of 16 along K");
  EXPECT_EQ(multiply(a, b, {.datapath = datapath, .a_scales = scales}),
            "matmul: a_scales is given; expected none, as the datapath has no scales");
  Datapath broken = datapath;
  broken.tree.nodes.clear();
  EXPECT_TRUE(multiply(a, b, {.datapath = broken}).starts_with("matmul: datapath"));
}

TEST(Matrix, HoldsNumbersRoundedToNearest) {
  const std::vector<double> numbers = {1.0, -0.0, 1.0 + 0x1p-11, 1.0 + 0x1.8p-10, 65519.0, 65520.0, -0x1p-24};
  const Matrix half = Matrix::from(numbers, 1, numbers.size(), "fp16");
  const std::vector<std::uint64_t> codes = {0x3c00, 0x8000, 0x3c00, 0x3c02, 0x7bff, 0x7c00, 0x8001};
  for (std::size_t j = 0; j < codes.size(); ++j) EXPECT_EQ(half(0, j), codes[j]) << numbers[j];
  EXPECT_EQ(half.to_doubles(), (std::vector<double>{1.0, -0.0, 1.0, 1.0 + 0x1p-9, 65504.0,
                                                    std::numeric_limits<double>::infinity(), -0x1p-24}));
  // e4m3 has NaN and no infinity, e2m1 neither, s8 numbers only.
  const std::vector<float> large = {1e9f, -1e9f, std::numeric_limits<float>::infinity()};
  EXPECT_TRUE(std::isnan(Matrix::from(large, 1, 3, "e4m3").to_floats()[0]));
  EXPECT_EQ(Matrix::from(large, 1, 3, "fp4e2m1").to_floats(), (std::vector<float>{6, -6, 6}));
  EXPECT_EQ(Matrix::from(large, 1, 3, "s8").to_floats(), (std::vector<float>{127, -128, 127}));
  EXPECT_TRUE(std::isnan(Matrix::from(std::vector<float>{NAN}, 1, 1, "fp16").to_floats()[0]));
}

TEST(Matrix, WrongInputIsNamed) {
  const std::vector<float> three(3, 1.0f);
  EXPECT_EQ(refusal([&] { Matrix::from(three, 2, 2, "fp16"); }), "matrix: 3 numbers; expected 4, as 2 × 2 has");
  EXPECT_TRUE(refusal([&] {
                Matrix::from(three, 1, 3, "half");
              }).starts_with("matrix: format half is unknown; expected one of fp64, fp32"));
  EXPECT_EQ(refusal([] { Matrix::from(std::vector<float>{NAN}, 1, 1, "s8"); }),
            "matrix: a number is NaN; expected a format that has one, which s8 has not");
  const std::vector<std::uint32_t> words(4);
  EXPECT_EQ(refusal([&] { MatrixView(words, 2, 2, "fp16"); }), "matrix: codes of 4 bytes; expected 2, as fp16 has");
  EXPECT_EQ(refusal([&] { MatrixView(words, 2, 3, "fp32"); }), "matrix: 16 bytes; expected 24, as 2 × 3 of fp32 has");
  EXPECT_TRUE(refusal([] {
                Matrix(FormatId::fp64, std::size_t{1} << 40, std::size_t{1} << 40);
              }).ends_with("is more than a memory can hold"));
}

}  // namespace
}  // namespace tcnum::matmul_test
