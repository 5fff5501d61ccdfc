// Products of whole matrices on a GPU, with its kernels on a CPU (tests/cuda_on_cpu): they equal chains of the exact
// emulator.
// Labels: long speed
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "draw.hpp"
#include "emu/gpu/gpu_datapath.hpp"
#include "emu/gpu/product.hpp"
#include "generators.hpp"
#include "known_datapaths.hpp"
#include "plans_on_gpu.hpp"
#include "product_example.hpp"
#include "seed_of_run.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using test::Example, test::Operands;
constexpr Operands kAllOperands[] = {Operands::numbers, Operands::edges, Operands::codes, Operands::one_nan,
                                     Operands::smallest};

std::string first_difference(const Datapath& datapath, const Example& x) {
  const auto multiply = [&](const ProductShape& shape, const auto& a, const auto& b, const auto& c, const auto& d,
                            unsigned /*threads*/, const BlockScales& scales) {
    multiply_on_gpu(datapath, x.formats, shape, a, b, c, d, scales);
  };
  return test::first_difference(datapath, x, 1, "on the GPU", multiply);
}

TEST(CudaProducts, EqualTheExactEmulatorOnWhatIsKnown) {
  constexpr std::size_t kOneIn = 6;  // which takes ten seconds
  std::mt19937_64 random(1);
  std::size_t index = 0, which = 0;
  const std::vector<Datapath> all = test::datapaths_on_gpu(GpuWork::matrices);
  EXPECT_GT(all.size(), 100u);
  for (const Datapath& datapath : all) {
    if (!test::is_of_run(index++, kOneIn)) continue;
    const bool chained = datapath.numerics.c.format == datapath.numerics.result;
    const auto depth = static_cast<std::size_t>(datapath.tree.k);
    const std::size_t k = chained ? 3 * depth - depth / 2 : depth;
    const Operands operands = kAllOperands[which++ % std::size(kAllOperands)];
    const std::string difference =
        first_difference(datapath, test::draw_example(random, datapath, {5, 7, k}, operands));
    EXPECT_EQ(difference, "");
  }
}

/// Each evaluator, on datapaths that it takes: products of more than one block in each direction, ragged ones too.
class CudaProductKernels : public testing::TestWithParam<int> {};

Datapath random_candidate() {
  static const Space space(*find_instruction("mma.m16n8k16.f32.f16.f16.f32"));
  std::mt19937_64 random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()));
  return space.datapath(draw(space, random));
}

Datapath random_datapath_of_any_kind() {
  using namespace test;
  static constexpr Datapath (*kGenerators[])() = {random_candidate,
                                                  random_fma_chain,
                                                  random_integer_datapath,
                                                  random_single_precision_datapath,
                                                  random_datapath,
                                                  random_chain_of_integers,
                                                  random_scaled_patch_datapath,
                                                  random_chain_of_exact_sums,
                                                  random_chain_of_accumulations,
                                                  random_scaled_sums_datapath,
                                                  random_patch_datapath};
  return kGenerators[*rc::gen::inRange<std::size_t>(0, std::size(kGenerators))]();
}

TEST_P(CudaProductKernels, EqualTheExactEmulator) {
  const auto is_taken = [&](const Datapath& datapath) {
    const auto made = make_gpu_datapath(datapath, GpuWork::matrices);
    return made.datapath && made.datapath->evaluator == static_cast<GpuEvaluator>(GetParam());
  };
  const auto check = [&] {
    const Datapath datapath = test::draw_until(random_datapath_of_any_kind, is_taken);
    std::mt19937_64 random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()));
    const auto operands = *rc::gen::elementOf(std::vector<Operands>(std::begin(kAllOperands), std::end(kAllOperands)));
    const auto depth = static_cast<std::size_t>(datapath.tree.k);
    const bool chained = datapath.numerics.c.format == datapath.numerics.result;
    const std::size_t links = chained ? *rc::gen::element<std::size_t>(1, 2, 5) : 1;
    const ProductShape shape{*rc::gen::element<std::size_t>(1, 3, 65), *rc::gen::element<std::size_t>(1, 4, 66),
                             depth * links - *rc::gen::inRange<std::size_t>(0, depth)};
    const std::string difference = first_difference(datapath, test::draw_example(random, datapath, shape, operands));
    if (!difference.empty()) RC_FAIL(difference);
  };
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = std::max(1, params.maxSuccess / 5);  // each launch has hundreds of threads
  const auto result = rc::detail::checkTestable(check, rc::detail::TestMetadata{}, params);
  rc::detail::printResultMessage(result, std::cout);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>());
}

INSTANTIATE_TEST_SUITE_P(Evaluators, CudaProductKernels,
                         testing::Range(0, static_cast<int>(GpuEvaluator::patches) + 1));

TEST(CudaProducts, GoAlongKInShortestLinks) {
  const auto shortest_of = [](ArchId arch, const char* name) {
    return in_shortest_k_steps(catalogue(arch, *find_instruction(name)).at(0).datapath).tree;
  };
  const Tree of_tf32 = shortest_of(ArchId::sm_90, "wmma.m16n16k8.f32.tf32.tf32.f32");  // two sums of four
  EXPECT_EQ(of_tf32.k, 4);
  EXPECT_EQ(of_tf32.nodes.size(), 1u);
  // The rest of a link is there, too: zeros are added to the last sum, which cuts it to fewer bits.
  Datapath cutting = catalogue(ArchId::sm_90, *find_instruction("wmma.m16n16k8.f32.tf32.tf32.f32")).at(0).datapath;
  cutting.numerics.units[0].zero_exponent.value = -20;
  std::mt19937_64 random(5);
  for (const std::size_t k : {3u, 4u, 5u, 11u, 12u, 17u})
    EXPECT_EQ(first_difference(cutting, test::draw_example(random, cutting, {5, 7, k}, Operands::edges)), "") << k;
  // Sums that do not take c, and one that is added to them.
  const Tree apart = shortest_of(ArchId::sm_90, "mma.m16n8k32.f32.e4m3.e4m3.f32");
  EXPECT_GT(apart.nodes.size(), 1u);
}

TEST(CudaProducts, AreTheSameInAnyNumberOfParts) {
  std::mt19937_64 random(2);
  const Datapath datapath = catalogue(ArchId::sm_90, *find_instruction("mma.m16n8k16.f32.f16.f16.f32")).at(0).datapath;
  const Example x = test::draw_example(random, datapath, {130, 200, 40}, Operands::edges);
  const std::size_t before = cuda_on_cpu::free_memory;
  // A strip of A with 48 products, packed, has 38 KB, and one of 64 × 64 results 32 KB.
  for (const std::size_t memory : {std::size_t{250000}, std::size_t{400000}, before}) {
    cuda_on_cpu::free_memory = memory;
    EXPECT_EQ(first_difference(datapath, x), "") << memory;
  }
  cuda_on_cpu::free_memory = 100000;
  EXPECT_THROW(first_difference(datapath, x), UnavailableError);
  cuda_on_cpu::free_memory = before;
}

TEST(CudaProducts, ByPlansEqualTheCpus) {
  std::mt19937_64 random(4);
  std::size_t which = 0;
  for (const test::PlanOfOperands& plan : test::plans_for_gpu()) {
    const Operands operands = kAllOperands[which++ % std::size(kAllOperands)];
    EXPECT_EQ(test::difference_of_processors(plan, {5, 9, 149}, operands, random), "");
  }
}

TEST(CudaProducts, ByPlansSayThatNoEvaluatorTakesTheDatapath) {
  const Matrix a(FormatId::fp16, 1, 1);
  GemmPlan plan;
  plan.datapath = read_datapath(TCNUM_SOURCE_DIR "/benchmarks/datapaths/fp16-cut-up-and-down.json");
  ASSERT_FALSE(make_gpu_datapath(*plan.datapath, GpuWork::matrices).datapath);
  try {
    gemm(plan, a, a, {}, {.processor = Processor::gpu});
    FAIL() << "there is no evaluator";
  } catch (const UnavailableError& error) {
    EXPECT_NE(std::string(error.what()).find("no evaluator of the GPU takes the datapath: "), std::string::npos);
  }
}

TEST(CudaProducts, TakeMatricesWithStrides) {
  std::mt19937_64 random(3);
  const Datapath datapath = catalogue(ArchId::sm_90, *find_instruction("mma.m16n8k16.f16.f16.f16.f16")).at(0).datapath;
  const auto& [m, n, k] = ProductShape{9, 13, 35};
  const Example x = test::draw_example(random, datapath, {m, n, k}, Operands::numbers);
  // A and D by columns, B and C with more between their rows than they have columns.
  Codes a(2, m * k), b(2, k * (n + 3)), c(2, m * (n + 1)), d(2, m * n), by_rows(2, m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t kk = 0; kk < k; ++kk) a.set(kk * m + i, x.a[i * k + kk]);
    for (std::size_t j = 0; j < n; ++j) c.set(i * (n + 1) + j, x.c[i * n + j]);
  }
  for (std::size_t kk = 0; kk < k; ++kk) {
    for (std::size_t j = 0; j < n; ++j) b.set(kk * (n + 3) + j, x.b[kk * n + j]);
  }
  multiply_on_gpu(datapath, x.formats, x.shape, {a.bytes().data(), 1, m}, {b.bytes().data(), n + 3, 1},
                  {c.bytes().data(), n + 1, 1}, {d.bytes().data(), 1, m});
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) by_rows.set(i * n + j, d[j * m + i]);
  }
  EXPECT_EQ(test::first_difference(datapath, x, by_rows, "by columns"), "");
}

TEST(CudaProducts, WithoutCBeginWithZero) {
  std::mt19937_64 random(4);
  const Datapath datapath = catalogue(ArchId::sm_90, *find_instruction("mma.m16n8k8.f32.tf32.tf32.f32")).at(0).datapath;
  Example x = test::draw_example(random, datapath, {4, 5, 20}, Operands::numbers);
  for (std::size_t i = 0; i < x.c.size(); ++i) x.c.set(i, 0);
  test::compute_exactly(datapath, x);
  const Codes &a = x.a, &b = x.b;
  Codes d(x.d.bytes_each(), x.d.size());
  multiply_on_gpu(datapath, x.formats, x.shape, codes_from(a.bytes().data(), x.shape.k),
                  codes_from(b.bytes().data(), x.shape.n), {}, codes_from(d.bytes().data(), x.shape.n));
  EXPECT_EQ(test::first_difference(datapath, x, d, "without C"), "");
}

}  // namespace
}  // namespace tcnum
