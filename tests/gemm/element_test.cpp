// src/gemm/element.hpp: where two plans part, and what sentences say of them. That an element, step by step, comes to
// what the product has there is the harness of plans: tests/fuzz/plans.cpp.
#include "src/gemm/element.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "src/report/explain.hpp"
#include "src/report/gemm_report.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {
namespace {

TEST(Elements, OfTwoPlansBeginWhereTheyDiffer) {
  const GemmPlan fast = named_plan("nvjet-fp8", FormatId::fp8e4m3),
                 slow = named_plan("nvjet-fp8-slow", FormatId::fp8e4m3);
  std::mt19937_64 random(7);
  std::vector<double> numbers(512);
  for (double& number : numbers) number = std::normal_distribution<double>()(random);
  const Matrix a = Matrix::from(numbers, 1, 512, "fp8e4m3"), b = Matrix::from(numbers, 512, 1, "fp8e4m3");
  const ElementTrace one = trace_element(fast, a, b), other = trace_element(slow, a, b);
  // Four instructions of 32 products are the same; then the accumulator goes on, or is added to a total.
  EXPECT_EQ(shared_steps(one, other).of_one, 4u);
  EXPECT_EQ(shared_steps(one, other).of_other, 4u);
  EXPECT_EQ(other.steps[4].kind, ElementStepKind::promotion);
  EXPECT_TRUE(other.steps[5].begins);
  const std::string text = element_text({{"fast", one}, {"slow", other}});
  EXPECT_NE(text.find("The sums after 4 steps are those of the other plan too; then:"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n  4 "), std::string::npos) << text;
  // A plan and itself differ nowhere before D.
  EXPECT_EQ(shared_steps(one, one).of_one, one.steps.size() - 1);
}

TEST(PlanSentences, SayWhatAPlanDoes) {
  GemmPlan plan = named_plan("nvjet", FormatId::fp16, FormatId::fp16);
  plan.k_tile = 128;
  plan.promote_every = 64;
  plan.split_k = SplitK{.count = 3};
  EXPECT_EQ(plan_sentence(plan),
            "made of wgmma.m64n8k16.f32.f16.f16 of sm_90; promotes every 64 products to fp32; k in 3 parts as equal as "
            "can be, of whole tiles of 128, added in order; results rounded to fp16");
  EXPECT_EQ(plan_sentence(named_plan("cutlass2-tf32", FormatId::fp32)),
            "one chain of mma.m16n8k8.f32.tf32.tf32.f32 of sm_90; operands rounded to tf32 (nearest_even); takes the "
            "products that tiles of 16 leave over first");
}

}  // namespace
}  // namespace tcnum
