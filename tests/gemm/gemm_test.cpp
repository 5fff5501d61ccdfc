// tcnum/gemm.hpp: what a product has beside its plan (layouts, scales, a caller who stops it), and what is wrong. That
// products are what plans say, and plans are read as they are written, is the harness of plans: tests/fuzz/plans.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "refusal.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tcnum.hpp"

namespace tcnum::gemm_test {
namespace {

using Random = std::mt19937_64;
using nlohmann::ordered_json;

/// Numbers of a few binades, so that sums lose some bits and keep some; now and then one that is none.
Matrix random_matrix(FormatId id, std::size_t rows, std::size_t columns, Random& random, bool specials) {
  Matrix matrix(id, rows, columns);
  const Format& f = format(id);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      std::uint64_t code = random() & f.code_mask();
      if (f.floating && !(specials && random() % 40 == 0)) {
        const int exponent = static_cast<int>(random() % 8) - 4;
        const std::uint64_t significand =
            (std::uint64_t{1} << f.fraction_bits) | (random() & ((std::uint64_t{1} << f.fraction_bits) - 1));
        code = encode(f, random() % 2 != 0, significand, exponent - f.fraction_bits, false, Rounding::nearest_even);
        if (f.padding_bits > 0) code |= random() & ((1u << f.padding_bits) - 1);
      }
      matrix.set(i, j, code);
    }
  }
  return matrix;
}

TEST(Gemm, WithoutAnythingElseIsMatmul) {
  Random random(5);
  for (const char* name : {"wgmma.m64n8k16.f32.f16.f16", "mma.m8n8k4.f64.f64.f64.f64", "mma.m16n8k32.s32.s8.s8.s32",
                           "mma.m16n8k16.f16.f16.f16.f16"}) {
    const Instruction& in = *find_instruction(name);
    GemmPlan plan;
    plan.arch = "sm_90";
    plan.instruction = name;
    plan.output = in.d;
    const Matrix a = random_matrix(in.a, 33, 70, random, true), b = random_matrix(in.b, 70, 65, random, true);
    EXPECT_EQ(gemm(plan, a, b), matmul(a, b, {.arch = "sm_90", .instruction = name})) << name;
  }
}

Matrix part_of(const Matrix& x, std::size_t row, std::size_t rows, std::size_t column, std::size_t columns) {
  Matrix part(x.format(), rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) part.set(i, j, x(row + i, column + j));
  }
  return part;
}
float scaled_by_hand(ScaleOrder order, float a, float b, float sum) {
  // volatile: each is rounded
  volatile float first = order == ScaleOrder::product ? a * b : order == ScaleOrder::a_first ? a * sum : b * sum;
  return first * (order == ScaleOrder::product ? sum : order == ScaleOrder::a_first ? b : a);
}
/// The same, and added without a rounding between.
float added_by_hand(ScaleOrder order, float a, float b, float sum, float total) {
  volatile float first = order == ScaleOrder::product ? a * b : order == ScaleOrder::a_first ? a * sum : b * sum;
  return std::fma(order == ScaleOrder::product ? sum : order == ScaleOrder::a_first ? b : a, first, total);
}

TEST(Gemm, ScalesComeInThePlansOrder) {
  Random random(11);
  const std::size_t m = 5, n = 140, k = 300, parts = 3;
  const FormatId fp8 = FormatId::fp8e4m3;
  const Matrix a = random_matrix(fp8, m, k, random, false), b = random_matrix(fp8, k, n, random, false);
  const auto scales = [&](std::size_t rows, std::size_t columns) {
    std::vector<float> numbers(rows * columns);
    for (float& x : numbers) x = 0.5f + static_cast<float>(random() % 10007) / 10007;
    return Matrix::from(numbers, rows, columns, "fp32");
  };
  std::vector<std::vector<float>> sums;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = part * 128, count = std::min<std::size_t>(128, k - first);
    sums.push_back(gemm(named_plan("nvjet-fp8", fp8, FormatId::fp32), part_of(a, 0, m, first, count),
                        part_of(b, first, count, 0, n))
                       .to_floats());
  }
  GemmPlan plan = named_plan("nvjet-fp8-slow", fp8, FormatId::fp32);
  const std::vector<float> whole = gemm(plan, a, b).to_floats();
  using enum ScaleOrder;
  for (const ScaleOrder order : {product, a_first, b_first, in_alpha}) {
    plan.scales = order;
    for (const std::size_t rows : {std::size_t{1}, m}) {
      for (const std::size_t columns : {std::size_t{1}, std::size_t{2}, n}) {
        const auto line = [](std::size_t of, std::size_t i, std::size_t scales_of) {
          return scales_of == 1 ? 0 : scales_of == of ? i : i / 128;
        };
        for (const std::size_t blocks : {std::size_t{1}, parts}) {
          if (order == in_alpha && blocks > 1) continue;
          const double alpha = order == in_alpha ? 1 / 3. : 1;
          const Matrix of_a = scales(rows, blocks), of_b = scales(blocks, columns);
          const std::vector<float> x = of_a.to_floats(), y = of_b.to_floats();
          GemmInputs inputs;
          const MatrixView a_view = of_a, b_view = of_b;
          inputs.a_scales = &a_view, inputs.b_scales = &b_view;
          inputs.alpha = alpha;
          const std::vector<float> d = gemm(plan, a, b, inputs).to_floats();
          for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
              const auto at = [&](std::size_t block) {
                return std::pair(x[line(m, i, rows) * blocks + block], y[block * columns + line(n, j, columns)]);
              };
              float expected = 0;
              if (order == in_alpha) {
                volatile float scaled_alpha = static_cast<float>(alpha) * at(0).first;
                expected = scaled_alpha * at(0).second * whole[i * n + j];
              } else if (blocks == 1) {
                expected = scaled_by_hand(order, at(0).first, at(0).second, whole[i * n + j]);
              } else {
                for (std::size_t block = 0; block < blocks; ++block)
                  expected = added_by_hand(order, at(block).first, at(block).second, sums[block][i * n + j], expected);
              }
              ASSERT_EQ(d[i * n + j], expected) << rows << " " << columns << " " << blocks << ", " << i << " " << j;
            }
          }
        }
      }
    }
  }
}

TEST(Gemm, ScalesThatDoNotFitAreRefused) {
  const FormatId fp8 = FormatId::fp8e4m3;
  const Matrix a(fp8, 4, 300), b(fp8, 300, 200);
  const auto complaint = [&](const GemmPlan& plan, const Matrix* of_a, const Matrix* of_b) {
    GemmInputs inputs;
    const MatrixView a_view = of_a == nullptr ? MatrixView(a) : MatrixView(*of_a),
                     b_view = of_b == nullptr ? MatrixView(b) : MatrixView(*of_b);
    if (of_a != nullptr) inputs.a_scales = &a_view;
    if (of_b != nullptr) inputs.b_scales = &b_view;
    return refusal([&] { return gemm(plan, a, b, inputs); });
  };
  const GemmPlan slow = named_plan("nvjet-fp8-slow", fp8), fast = named_plan("nvjet-fp8", fp8);
  const auto fp32 = [](std::size_t rows, std::size_t columns) { return Matrix(FormatId::fp32, rows, columns); };
  const Matrix rows = fp32(4, 3), three = fp32(3, 1), two_blocks = fp32(2, 2);
  EXPECT_EQ(complaint(slow, &rows, &three), "");
  EXPECT_EQ(complaint(fast, &rows, nullptr),
            "gemm: a_scales has scales for 4 rows and 3 parts of k; expected 1 part, as the plan has no "
            "promote_every");
  EXPECT_EQ(complaint(slow, nullptr, &two_blocks),
            "gemm: b_scales has scales for 2 columns and 2 parts of k; expected 1 part, or 3, of 128 each");
  const Matrix one = fp32(1, 1);
  EXPECT_EQ(complaint(slow, &one, &three),
            "gemm: b_scales has scales for 1 columns and 3 parts of k; expected 1 parts, as a_scales has");
  GemmPlan in_alpha = slow;
  in_alpha.scales = ScaleOrder::in_alpha;
  EXPECT_EQ(complaint(in_alpha, &one, &one), "");
  EXPECT_EQ(complaint(in_alpha, &rows, &three),
            "gemm: scales for 3 parts of k, and a plan that has them in alpha; expected 1 part");
  GemmPlan descending = slow;
  descending.k_order = KOrder::descending;
  EXPECT_TRUE(complaint(descending, &rows, &three).starts_with("gemm: scales for 3 parts of k, and a plan that"));
}

/// Here of two million parts of k, which take far longer than a caller waits for a question.
TEST(Gemm, StopsWithinARow) {
  GemmPlan plan = named_plan("nvjet", FormatId::fp16);
  plan.split_k = SplitK{.chunk = 1};
  constexpr std::size_t kK = 2'000'000;
  Matrix d(plan.output, 1, 1);
  d.set(0, 0, 1);
  std::size_t asked = 0;
  const std::size_t rows = gemm_into(d, plan, Matrix(FormatId::fp16, 1, kK), Matrix(FormatId::fp16, kK, 1), {},
                                     {.progress = [&](std::size_t done) {
                                       EXPECT_EQ(done, 0u);
                                       return ++asked < 2;
                                     }});
  EXPECT_EQ(asked, 2u);
  EXPECT_EQ(rows, 0u);
  EXPECT_EQ(d(0, 0), 0u);
}

TEST(GemmPlan, NamedOnesAreValidAndReadBack) {
  std::size_t plans = 0;
  for (const NamedPlan& named : named_plans()) {
    EXPECT_FALSE(named.source.empty());
    for (const FormatId operands : named.operands) {
      const GemmPlan plan = named_plan(named.name, operands);
      EXPECT_NO_THROW(validate(plan)) << named.name;
      EXPECT_EQ(plan_from_json(plan_to_json(plan), "x"), plan);
      ++plans;
    }
  }
  EXPECT_GT(plans, 15u);
}

std::string refusal(const char* patch) {
  ordered_json json = plan_to_json(named_plan("nvjet-fp8-slow", FormatId::fp8e4m3));
  json.merge_patch(ordered_json::parse(patch));
  return tcnum::refusal([&] { return plan_from_json(json, "p.json"); });
}

TEST(GemmPlan, SaysWhatIsWrong) {
  EXPECT_EQ(refusal(R"({"schema": "tcnum.gemm_plan/2"})"), "p.json: schema: expected \"tcnum.gemm_plan/1\"");
  EXPECT_EQ(refusal(R"({"promote_every": 48})"),
            "p.json: promote_every: 48; expected a multiple of 32, the products of wgmma.m64n8k32.f32.e4m3.e4m3");
  EXPECT_EQ(refusal(R"({"promote_every": -1})"), "p.json.promote_every: expected a whole number, 0 or more");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 64, "order": "up"}})"),
            "p.json.split_k.order: \"up\"; expected one of ascending, descending, pairs, fours");
  EXPECT_EQ(refusal(R"({"split_k": {}})"),
            "p.json.split_k.chunk: is missing; expected how much of k a part takes, or count, which is how many parts "
            "there are");
  EXPECT_EQ(refusal(R"({"k_tile": 64, "split_k": {"count": 3, "rest": "left_out"}})"),
            "p.json: split_k.rest: left_out stands beside count; expected chunk, of which parts leave some of k "
            "over");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 64, "turns": 2, "rest": "left_out"}})"),
            "p.json: split_k.rest: left_out stands beside turns; expected one of the two");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 64, "type": "bf16", "order": "pairs", "epilogue": "parts"}})"),
            "p.json: split_k.epilogue: parts; expected total, or order ascending or descending");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 64, "type": "fp16", "epilogue": "parts"}})"),
            "p.json: split_k.type: fp16; expected fp32, as D is, where each part has the epilogue");
  EXPECT_EQ(refusal(R"({"epilogue": {"alpha": "on_a"}})"),
            "p.json: epilogue.alpha: expected first or fused, as wgmma.m64n8k32.f32.e4m3.e4m3 takes no other "
            "operands");
  EXPECT_EQ(refusal(R"({"epilogue": {"type": "s32"}})"), "p.json: epilogue.type: s32; expected fp32");
  EXPECT_EQ(refusal(R"({"epilogue": {"bias": "nowhere"}})"),
            "p.json.epilogue.bias: \"nowhere\"; expected one of last, first, on_result, as_c");
  EXPECT_EQ(refusal(R"({"slices": 1025, "k_tile": 16})"), "p.json: slices: expected 1 to 1024");
  EXPECT_EQ(refusal(R"({"convert": {"a": "nearest_even"}})"),
            "p.json: convert.a: expected \"none\", as wgmma.m64n8k32.f32.e4m3.e4m3 takes fp8e4m3 as it is");
  EXPECT_EQ(refusal(R"({"output": "fp7"})"),
            "p.json.output: format \"fp7\" is unknown; expected one that `tcnum list` shows");
  EXPECT_EQ(refusal(R"({"output": "ue8m0"})"),
            "p.json: output: ue8m0; expected a format whose numbers have signs, or u8");
  EXPECT_EQ(refusal(R"({"slices": 2})"),
            "p.json: k_tile: is missing; expected the k of a tile, of which each slice takes its share");
  EXPECT_TRUE(refusal(R"({"promote": 4})").starts_with("p.json.promote: is unknown; expected one of schema, name"));
  EXPECT_TRUE(refusal(R"({"instruction": "mma"})").starts_with("p.json: instruction: mma is unknown"));
  EXPECT_EQ(refusal(R"({"instruction": "fma.rn.f32", "account": "fitted"})"),
            "p.json: account: expected none, as fma.rn.f32 has one datapath");
  EXPECT_TRUE(refusal(R"({"arch": "sm_70"})").starts_with("p.json: instruction: sm_70 does not have wgmma"));
  EXPECT_TRUE(refusal(R"({"instruction": "mma.m16n8k32.f16.e4m3.e4m3.f32"})").starts_with("p.json: "));
}

TEST(Gemm, SaysWhatIsWrong) {
  const GemmPlan plan = named_plan("nvjet", FormatId::fp16);
  const Matrix a(FormatId::fp16, 4, 8), b(FormatId::fp16, 8, 5), c(FormatId::fp32, 4, 4), wide(FormatId::fp64, 4, 5);
  const MatrixView c_view = c, wide_view = wide;
  const auto refusal = [&](const Matrix& left, const Matrix& right, const GemmInputs& inputs) {
    return tcnum::refusal([&] { return gemm(plan, left, right, inputs); });
  };
  EXPECT_EQ(refusal(a, b, {.c = &c_view, .beta = 1}),
            "gemm: C is 4 × 4; expected 4 × 5, as A (4 × 8) and B (8 × 5) make it");
  EXPECT_EQ(refusal(a, b, {.beta = 1}), "gemm: beta is 1 and there is no C; expected a C, or a beta of 0");
  EXPECT_EQ(refusal(a, b, {.c = &wide_view, .beta = 1}), "gemm: C is of fp64; expected a format of at most 32 bits");
  Matrix d(FormatId::fp32, 4, 5);
  EXPECT_THROW(gemm_into(d, plan, a, b), InputError);
  GemmPlan integers = named_plan("chain", FormatId::s8);
  integers.epilogue.type = FormatId::s32;
  const Matrix x(FormatId::s8, 1, 1);
  EXPECT_THROW(gemm(integers, x, x, {.alpha = 0.5}), InputError);
  EXPECT_THROW(gemm(integers, x, x, {.alpha = 4294967296.0}), InputError);
}

}  // namespace
}  // namespace tcnum::gemm_test
