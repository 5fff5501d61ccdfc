// What a product does with alpha, C and a bias, found from its results.
#include "tcnum/epilogue_fit.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using A = AlphaPlace;
using B = BetaPlace;
using P = BiasPlace;

GemmPlan half_plan(FormatId output) { return named_plan("nvjet", FormatId::fp16, output); }
GemmSubject square_of(FormatId operands, FormatId d) { return {"sm_90", operands, operands, d, 40, 72, 200}; }

EpilogueFit epilogue_of_whom(const GemmSubject& subject, const GemmPlan& plan, bool bias_of_rows = false) {
  GemmPlan sums = plan;
  sums.epilogue = {};
  if (sums.split_k) sums.split_k->epilogue = EpilogueOf::total;
  return fit_epilogue(subject, sums, [&](const EpilogueProduct& product) { return gemm(plan, product); },
                      {.c = subject.d, .bias = subject.d, .bias_of_rows = bias_of_rows});
}

/// Whether two plans do the same with all that may come to products that no fit has asked for.
bool are_alike(const GemmSubject& subject, const GemmPlan& one, const GemmPlan& other) {
  const EpilogueOperands operands(subject, 99);
  for (const EpilogueCase& each : epilogue_cases()) {
    if (each.scales) continue;
    const EpilogueProduct product = operands.product(each, {.c = subject.d, .bias = subject.d});
    if (gemm(one, product) != gemm(other, product)) return false;
  }
  return true;
}

void expect_epilogue(const GemmSubject& subject, const GemmPlan& plan) {
  const EpilogueFit fit = epilogue_of_whom(subject, plan);
  EXPECT_EQ(fit.verdict, Verdict::identified) << plan_to_json(plan) << fit.surviving << plan_to_json(fit.plan);
  EXPECT_TRUE(are_alike(subject, fit.plan, plan)) << plan_to_json(plan) << plan_to_json(fit.plan);
  EXPECT_EQ(fit.mismatches, 0u);
  EXPECT_GE(fit.products, 11u);
  EXPECT_GE(fit.elements, fit.products * subject.m * subject.n);
  EXPECT_FALSE(fit.mismatch);
}

TEST(EpilogueFit, FindsEachThatIsPlanted) {
  std::size_t planted = 0, found = 0;
  for (const FormatId d : {FormatId::fp16, FormatId::fp32}) {
    for (const A alpha : {A::fused, A::first}) {
      for (const B beta : {B::rounded, B::fused, B::on_result}) {
        for (const P bias : {P::last, P::first, P::on_result, P::as_c}) {
          GemmPlan plan = half_plan(d);
          plan.epilogue = {alpha, beta, bias};
          const GemmSubject subject = square_of(FormatId::fp16, d);
          const EpilogueFit fit = epilogue_of_whom(subject, plan);
          EXPECT_NE(fit.verdict, Verdict::unexplained) << plan_to_json(plan);
          EXPECT_TRUE(are_alike(subject, fit.plan, plan)) << plan_to_json(plan) << plan_to_json(fit.plan);
          ++planted;
          found += fit.verdict == Verdict::identified ? 1 : 0;
        }
      }
    }
  }
  // An fp16 may not show all.
  EXPECT_EQ(planted, 48u);
  EXPECT_GE(found, 45u);
}

TEST(EpilogueFit, FindsWhoseItIs) {
  GemmPlan plan = half_plan(FormatId::bf16);
  plan.split_k = SplitK{.chunk = 64, .type = FormatId::bf16, .epilogue = EpilogueOf::parts};
  plan.epilogue = {A::first, B::fused, P::as_c};
  const EpilogueFit of_parts =
      epilogue_of_whom({"sm_90", FormatId::fp16, FormatId::fp16, FormatId::bf16, 40, 72, 200}, plan);
  EXPECT_NE(of_parts.verdict, Verdict::unexplained);
  EXPECT_EQ(of_parts.plan.split_k, plan.split_k);
  for (const OpenProperty& open : of_parts.open) EXPECT_EQ(open.property, "epilogue.beta");  // which bf16 need not show
  for (const A alpha : {A::on_a, A::on_b}) {
    plan = named_plan("cublas-fp32", FormatId::fp32);
    plan.epilogue = {alpha, B::fused, P::last};
    expect_epilogue(square_of(FormatId::fp32, FormatId::fp32), plan);
  }
  plan = named_plan("chain", FormatId::s8);
  plan.epilogue = {.type = FormatId::s32};
  const EpilogueFit of_integers = epilogue_of_whom(square_of(FormatId::s8, FormatId::s32), plan);
  EXPECT_NE(of_integers.verdict, Verdict::unexplained);
  plan = named_plan("chain", FormatId::fp64);
  plan.epilogue = {A::first, B::fused, P::first};
  expect_epilogue(square_of(FormatId::fp64, FormatId::fp64), plan);
}

TEST(EpilogueFit, SaysWhatNoEpilogueExplains) {
  const GemmSubject subject = square_of(FormatId::fp16, FormatId::fp16);
  const GemmPlan plan = half_plan(FormatId::fp16);
  const EpilogueFormats formats = {.c = FormatId::fp16, .bias = FormatId::fp16};
  const EpilogueFit fit = fit_epilogue(
      subject, plan,
      [&](const EpilogueProduct& product) {
        Matrix d = gemm(plan, product);
        if (product.bias) d.set(17, 30, d(17, 30) ^ 1);
        return d;
      },
      formats);
  EXPECT_EQ(fit.verdict, Verdict::unexplained);
  EXPECT_EQ(fit.surviving, 0u);
  ASSERT_TRUE(fit.mismatch);
  EXPECT_EQ(fit.mismatch->row, 17u);
  EXPECT_EQ(fit.mismatch->column, 30u);
  EXPECT_EQ(fit.mismatch->observed, fit.mismatch->expected ^ 1);
  EXPECT_TRUE(epilogue_cases()[fit.mismatch->product].bias);
  // One who leaves alpha out is wrong wherever there is one.
  const EpilogueFit without = fit_epilogue(
      subject, plan, [&](const EpilogueProduct& product) { return gemm(plan, product.a, product.b); }, formats);
  EXPECT_EQ(without.verdict, Verdict::unexplained);
  EXPECT_GT(without.mismatches, 1000u);
  EXPECT_THROW(fit_epilogue(
                   subject, plan, [](const EpilogueProduct&) { return Matrix(FormatId::fp16, 1, 1); }, formats),
               InputError);
}

}  // namespace
}  // namespace tcnum
