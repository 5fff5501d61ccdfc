// tcnum/plan_diff.hpp: what is counted is what the plans' products are, and what is said to do it does.
#include "tcnum/plan_diff.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "refusal.hpp"
#include "src/gemm/plan_search.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

std::vector<std::string> deciding(const PlanDiff& found) {
  std::vector<std::string> fields;
  for (const FieldDiff& each : found.fields) {
    if (each.decides) fields.push_back(each.field);
  }
  return fields;
}

TEST(PlanDiff, OfTheSameIsEqual) {
  GemmPlan plan = named_plan("nvjet", FormatId::fp16), renamed = plan;
  renamed.name = "another";
  const PlanDiff found = diff(plan, renamed, {.most_k = 64});
  EXPECT_TRUE(found.equal);
  EXPECT_FALSE(found.smallest_k.has_value());
  EXPECT_EQ(found.lengths.size(), 7u);
}

TEST(PlanDiff, FindsWherePromotionBegins) {
  const GemmPlan chain = named_plan("nvjet-fp8", FormatId::fp8e4m3);
  for (const std::size_t every : {32u, 128u}) {
    GemmPlan promoted = chain;
    promoted.promote_every = every;
    const PlanDiff found = diff(chain, promoted, {.most_k = 512});
    EXPECT_FALSE(found.equal);
    for (const PlansAtLength& at : found.lengths) {
      EXPECT_EQ(at.different == 0, at.k <= every) << at.k;
      EXPECT_GT(at.tried, at.different);
    }
    ASSERT_TRUE(found.smallest_k.has_value());
    EXPECT_GT(*found.smallest_k, every);
    EXPECT_LE(*found.smallest_k, every + 32) << "the next instruction's products";
    EXPECT_EQ(deciding(found), std::vector<std::string>{"promote_every"});
  }
}

TEST(PlanDiff, CountsWhatProductsAre) {
  GemmPlan one = named_plan("nvjet", FormatId::bf16), other = one;
  one.output = other.output = FormatId::fp32;
  other.arch = "sm_80";
  other.instruction = "mma.m16n8k16.f32.bf16.bf16.f32";
  const PlanDiff found = diff(one, other, {.seed = 3, .most_k = 32, .multiply_adds = 32 * 16 * 16});
  EXPECT_EQ(deciding(found), std::vector<std::string>{"instruction"});
  const PlansAtLength& at = found.lengths.back();
  ASSERT_EQ(at.k, 32u);
  std::uint64_t tried = 0, different = 0;
  double most = 0;
  for (std::size_t family = 0; family < kOperandFamilies; ++family) {
    const GemmOperands operands = make_operands({"sm_90", FormatId::bf16, FormatId::bf16, FormatId::fp32, 16, 16, 32},
                                                static_cast<OperandFamily>(family), 3);
    const Matrix x = gemm(one, operands.a, operands.b), y = gemm(other, operands.a, operands.b);
    for (std::size_t i = 0; i < x.codes().size(); ++i) {
      ++tried;
      if (x.codes()[i] == y.codes()[i]) continue;
      ++different;
      const auto rank = [](std::uint64_t code) {
        const auto size = static_cast<double>(code & 0x7fffffff);
        return code >> 31 != 0 ? -size : size;
      };
      most = std::max(most, std::fabs(rank(x.codes()[i]) - rank(y.codes()[i])));
    }
  }
  EXPECT_GT(different, 0u);
  EXPECT_EQ(at.tried, tried);
  EXPECT_EQ(at.different, different);
  EXPECT_EQ(at.max_ulps, most);
}

TEST(PlanDiff, RefusesOtherFormats) {
  EXPECT_EQ(refusal([] { return diff(named_plan("nvjet", FormatId::fp16), named_plan("nvjet", FormatId::bf16)); }),
            "plan: one is of fp16 · fp16 → fp16, the other of bf16 · bf16 → bf16; expected the same formats");
}

}  // namespace
}  // namespace tcnum
