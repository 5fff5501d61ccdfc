// src/gemm/element.hpp: one element of a product, step by step, comes to what the whole product has there.
#include "src/gemm/element.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "src/report/explain.hpp"
#include "src/report/gemm_report.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {
namespace {

class Elements : public testing::Test {
 protected:
  Matrix drawn(FormatId id, std::size_t rows, std::size_t columns) {
    std::normal_distribution<double> normal;
    std::vector<double> numbers(rows * columns);
    for (double& number : numbers) number = format(id).floating ? normal(random_) : std::round(20 * normal(random_));
    return Matrix::from(numbers, rows, columns, format(id).name);
  }
  std::mt19937_64 random_{7};
};

struct PlanCase {
  std::string what;
  FormatId operands;
  GemmPlan plan;
};

GemmPlan changed(const char* name, FormatId operands, FormatId output, const auto& change) {
  GemmPlan plan = named_plan(name, operands, output);
  change(plan);
  return plan;
}

std::vector<PlanCase> plan_cases() {
  using enum FormatId;
  std::vector<PlanCase> cases;
  const auto add = [&](const char* what, const char* name, FormatId operands, FormatId output, const auto& change) {
    cases.push_back({what, operands, changed(name, operands, output, change)});
  };
  add("one chain", "nvjet", fp16, fp16, [](GemmPlan&) {});
  add("toward zero", "nvjet", bf16, bf16, [](GemmPlan& plan) { plan.output_rounding = Rounding::toward_zero; });
  add("promoted toward zero", "nvjet-fp8-slow", fp8e4m3, bf16,
      [](GemmPlan& plan) { plan.promote_rounding = Rounding::toward_zero; });
  add("ragged first, converted", "cutlass2-tf32", fp32, fp32, [](GemmPlan&) {});
  add("down along k", "triton", fp16, fp16, [](GemmPlan& plan) { plan.k_order = KOrder::descending; });
  add("three equal parts, promoted", "nvjet", fp16, fp16, [](GemmPlan& plan) {
    plan.k_tile = 64;
    plan.promote_every = 64;
    plan.split_k = SplitK{.count = 3};
  });
  add("five parts in pairs, narrow sums", "nvjet", bf16, bf16, [](GemmPlan& plan) {
    plan.k_tile = 32;
    plan.split_k = SplitK{.count = 5, .order = PartOrder::pairs, .type = FormatId::bf16};
  });
  add("narrow parts", "nvjet", fp16, fp16, [](GemmPlan& plan) {
    plan.split_k = SplitK{.chunk = 96, .order = PartOrder::descending, .parts = FormatId::fp16};
  });
  add("parts by way of the epilogue", "nvjet", fp16, fp16, [](GemmPlan& plan) {
    plan.split_k = SplitK{.chunk = 96, .type = FormatId::fp16, .epilogue = EpilogueOf::parts};
  });
  add("left out", "nvjet", bf16, fp32,
      [](GemmPlan& plan) { plan.split_k = SplitK{.chunk = 128, .rest = Rest::left_out}; });
  add("threads by turns", "chain", fp32, fp32, [](GemmPlan& plan) {
    plan.slices = 32;
    plan.k_tile = 32;
    plan.slices_order = SliceOrder::neighbours;
    plan.split_k = SplitK{.chunk = 32, .turns = 3, .order = PartOrder::fours};
  });
  add("folded slices", "chain", fp64, fp64, [](GemmPlan& plan) {
    plan.slices = 7;
    plan.k_tile = 28;
    plan.slices_order = SliceOrder::folded;
  });
  add("a tail", "triton", fp32, fp32, [](GemmPlan& plan) {
    plan.k_tile = 32;
    plan.split_k = SplitK{.count = 4, .order = PartOrder::pairs, .tail = Tail{2, 1, BlockLines::rows, 1, 1}};
  });
  add("integers", "chain", s8, s32, [](GemmPlan&) {});
  for (const AlphaPlace alpha : {AlphaPlace::first, AlphaPlace::fused, AlphaPlace::on_a}) {
    for (const BiasPlace bias : {BiasPlace::last, BiasPlace::first, BiasPlace::on_result, BiasPlace::as_c}) {
      const bool on_operand = alpha == AlphaPlace::on_a;
      add("epilogue", on_operand ? "chain" : "nvjet", on_operand ? fp32 : fp16, on_operand ? fp32 : fp16,
          [&](GemmPlan& plan) {
            plan.epilogue = {alpha, bias == BiasPlace::last ? BetaPlace::on_result : BetaPlace::rounded, bias};
          });
    }
  }
  return cases;
}

TEST_F(Elements, AreThoseOfTheProduct) {
  constexpr std::size_t kRows = 3, kColumns = 2, kDepth = 331;
  std::size_t parts = 0;
  for (const PlanCase& each : plan_cases()) {
    const Matrix a = drawn(each.operands, kRows, kDepth), b = drawn(each.operands, kDepth, kColumns);
    for (const bool has_terms : {false, true}) {
      const FormatId of_terms = each.operands == FormatId::s8 ? FormatId::s8 : each.plan.output;
      const Matrix c = drawn(of_terms, kRows, kColumns), bias = drawn(of_terms, 1, kColumns);
      const MatrixView c_view = c, bias_view = bias;
      GemmInputs inputs;
      if (has_terms) inputs = {.c = &c_view, .bias = &bias_view, .alpha = 0.7, .beta = -1.3};
      const Matrix d = gemm(each.plan, a, b, inputs);
      for (std::size_t i = 0; i < kRows; ++i) {
        for (std::size_t j = 0; j < kColumns; ++j) {
          const ElementTrace trace = trace_element(each.plan, a, b, inputs, i, j);
          ASSERT_EQ(trace.d, d(i, j)) << each.what << (has_terms ? ", with C and a bias" : "");
          const ElementStep& last = trace.steps.back();
          EXPECT_EQ(last.kind, ElementStepKind::output);
          EXPECT_EQ(last.code, trace.d);
          parts += trace.chains.size() > 1 ? 1 : 0;
          if (each.what != "left out") {
            EXPECT_EQ(last.products, (std::vector<Stretch>{{0, kDepth}})) << each.what;
          }
        }
      }
    }
  }
  EXPECT_GT(parts, 50u);
}

TEST_F(Elements, OfTwoPlansBeginWhereTheyDiffer) {
  const GemmPlan fast = named_plan("nvjet-fp8", FormatId::fp8e4m3),
                 slow = named_plan("nvjet-fp8-slow", FormatId::fp8e4m3);
  const Matrix a = drawn(FormatId::fp8e4m3, 1, 512), b = drawn(FormatId::fp8e4m3, 512, 1);
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
  const GemmPlan plan = changed("nvjet", FormatId::fp16, FormatId::fp16, [](GemmPlan& p) {
    p.k_tile = 128;
    p.promote_every = 64;
    p.split_k = SplitK{.count = 3};
  });
  EXPECT_EQ(plan_sentence(plan),
            "made of wgmma.m64n8k16.f32.f16.f16 of sm_90; promotes every 64 products to fp32; k in 3 parts as equal as "
            "can be, of whole tiles of 128, added in order; results rounded to fp16");
  EXPECT_EQ(plan_sentence(named_plan("cutlass2-tf32", FormatId::fp32)),
            "one chain of mma.m16n8k8.f32.tf32.tf32.f32 of sm_90; operands rounded to tf32 (nearest_even); takes the "
            "products that tiles of 16 leave over first");
}

}  // namespace
}  // namespace tcnum
