// Whole products on a GPU have the bits of the CPU's.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "known_datapaths.hpp"
#include "plans_on_gpu.hpp"
#include "product_example.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"
#include "tcnum/tcnum.hpp"

namespace tcnum {
namespace {

using test::Operands;

/// The first element that differs, in words; empty if none does.
std::string first_difference(const Datapath& datapath, const ProductShape& shape, Operands operands,
                             std::mt19937_64& random) {
  const Numerics& n = datapath.numerics;
  const Matrix a = test::drawn_matrix(n.a.format, shape.m, shape.k, operands, random);
  const Matrix b = test::drawn_matrix(n.b.format, shape.k, shape.n, operands, random);
  const Matrix c = test::drawn_matrix(n.c.format, shape.m, shape.n, operands, random);
  MatmulOptions options;
  options.datapath = datapath;
  std::optional<Matrix> a_scales, b_scales;
  if (n.scales) {
    const std::size_t blocks = test::blocks_of(datapath, shape.k);
    const FormatId id = n.scales->format;
    a_scales = test::matrix_of(id, shape.m, blocks, test::draw_scales(random, id, shape.m * blocks, operands));
    b_scales = test::matrix_of(id, blocks, shape.n, test::draw_scales(random, id, blocks * shape.n, operands));
    options.a_scales = *a_scales;
    options.b_scales = *b_scales;
  }
  const Matrix on_cpu = matmul(a, b, c, options);
  options.processor = Processor::gpu;
  const Matrix on_gpu = matmul(a, b, c, options);
  const std::string found = test::difference_of(on_gpu, on_cpu);
  return found.empty() ? found : fmt::format("{}\nk = {}: {}", to_json(datapath).dump(), shape.k, found);
}

TEST(GpuProducts, EqualTheCpus) {
  if (const GpuInfo info = gpu_info(); !info.present) GTEST_SKIP() << info.why_not;
  std::mt19937_64 random(1);
  for (const Datapath& datapath : test::datapaths_on_gpu(GpuWork::matrices)) {
    const bool chained = datapath.numerics.c.format == datapath.numerics.result;
    const auto depth = static_cast<std::size_t>(datapath.tree.k);
    const std::size_t k = chained ? 9 * depth - depth / 2 : depth;
    for (const Operands operands : {Operands::numbers, Operands::edges, Operands::codes, Operands::one_nan})
      EXPECT_EQ(first_difference(datapath, {131, 203, k}, operands, random), "");
  }
}

TEST(GpuProducts, ByPlansEqualTheCpus) {
  if (const GpuInfo info = gpu_info(); !info.present) GTEST_SKIP() << info.why_not;
  std::mt19937_64 random(2);
  for (const test::PlanOfOperands& plan : test::plans_for_gpu()) {
    for (const Operands operands : {Operands::numbers, Operands::edges, Operands::codes, Operands::one_nan})
      EXPECT_EQ(test::difference_of_processors(plan, {131, 203, 613}, operands, random), "");
  }
}

/// Of more rows than a band has.
TEST(GpuProducts, ByPlansGoOnFromBandToBand) {
  if (const GpuInfo info = gpu_info(); !info.present) GTEST_SKIP() << info.why_not;
  std::mt19937_64 random(3);
  const test::PlanOfOperands plan{named_plan("nvjet", FormatId::fp16), FormatId::fp16};
  EXPECT_EQ(test::difference_of_processors(plan, {20000, 8, 70}, Operands::numbers, random), "");
}

TEST(GpuProducts, AreUnavailableWhereNoGpuIs) {
  const GpuInfo info = gpu_info();
  if (info.present) GTEST_SKIP() << "there is one: " << info.device;
  MatmulOptions options;
  options.arch = "sm_90";
  options.processor = Processor::gpu;
  const Matrix one(FormatId::fp16, 1, 1);
  EXPECT_THROW(matmul(one, one, options), UnavailableError);
  const GemmPlan plan = named_plan("nvjet", FormatId::fp16);
  EXPECT_THROW(gemm(plan, one, one, {}, {.processor = Processor::gpu}), UnavailableError);
}

}  // namespace
}  // namespace tcnum
