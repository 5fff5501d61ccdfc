// tcnum/gemm_fit.hpp: plans that are planted are found, and those that no plan of the space is are not.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "labels.hpp"
#include "refusal.hpp"
#include "seed_of_run.hpp"
#include "src/gemm/plan_search.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/gemm_fit.hpp"

namespace tcnum {
namespace {

GemmSubject subject_of(FormatId operands, FormatId d, std::size_t m, std::size_t n, std::size_t k) {
  return {"sm_90", operands, operands, d, m, n, k};
}

GemmFit fit_of(const GemmSubject& subject, const GemmPlan& planted) {
  return fit_gemm(subject, [&](const Matrix& a, const Matrix& b) { return gemm(planted, a, b); }, {.threads = 2});
}

std::string open_text(const GemmFit& fit) {
  std::string text;
  for (const OpenProperty& open : fit.open) {
    text += "\n  " + open.property + ":";
    for (const std::string& value : open.values) text += " " + value;
  }
  return text;
}

/// Whether two plans do the same, as far as products that the fit has not seen tell.
bool same_results(const GemmSubject& subject, const GemmPlan& x, const GemmPlan& y) {
  for (std::size_t family = 0; family < kOperandFamilies; ++family) {
    const GemmOperands operands = make_operands(subject, static_cast<OperandFamily>(family), 987654);
    if (gemm(x, operands.a, operands.b) != gemm(y, operands.a, operands.b)) return false;
  }
  return true;
}

struct Planted {
  const char* what;
  GemmSubject subject;
  GemmPlan plan;
};

std::vector<Planted> all_planted() {
  using enum FormatId;
  std::vector<Planted> all;
  const auto add = [&](const char* what, const GemmSubject& subject, const char* name, const auto& change) {
    GemmPlan plan = named_plan(name, subject.a, subject.d);
    change(plan);
    all.push_back({what, subject, plan});
  };
  const auto as_it_is = [](GemmPlan&) {};
  add("nvjet fp16", subject_of(fp16, fp16, 48, 80, 640), "nvjet", as_it_is);
  add("nvjet bf16 to fp32", subject_of(bf16, fp32, 40, 64, 500), "nvjet", as_it_is);
  add("fp8, fast", subject_of(fp8e4m3, bf16, 32, 64, 1024), "nvjet-fp8", as_it_is);
  add("fp8, promoted", subject_of(fp8e4m3, fp32, 32, 64, 1024), "nvjet-fp8-slow", as_it_is);
  add("tf32", subject_of(fp32, fp32, 32, 64, 512), "cutlass2-tf32", as_it_is);
  add("tf32, ragged, first", subject_of(fp32, fp32, 32, 64, 517), "cutlass2-tf32", as_it_is);
  add("tf32, cut", subject_of(fp32, fp32, 32, 64, 512), "triton", as_it_is);
  add("split in fp32", subject_of(fp16, fp16, 32, 64, 2048), "nvjet",
      [](GemmPlan& plan) { plan.split_k = SplitK{.chunk = 512}; });
  add("split in fp16", subject_of(fp16, fp16, 32, 64, 1024), "nvjet",
      [](GemmPlan& plan) { plan.split_k = SplitK{.chunk = 384, .type = fp16}; });
  add("split with parts in bf16", subject_of(bf16, bf16, 32, 64, 1024), "nvjet",
      [](GemmPlan& plan) { plan.split_k = SplitK{.chunk = 256, .parts = bf16}; });
  add("split that leaves products out", subject_of(bf16, fp32, 32, 64, 1287), "nvjet",
      [](GemmPlan& plan) { plan.split_k = SplitK{.chunk = 128, .rest = Rest::left_out}; });
  const auto in_equal_parts = [&](std::size_t count, PartOrder order, std::optional<Tail> tail = {}) {
    return [=](GemmPlan& plan) {
      plan.k_tile = 32;
      plan.convert_a = plan.convert_b = Rounding::nearest_even;
      plan.split_k = SplitK{.count = count, .order = order, .tail = tail};
    };
  };
  add("seven parts in pairs", subject_of(fp32, fp32, 32, 64, 500), "triton", in_equal_parts(7, PartOrder::pairs));
  add("eleven parts from the last on", subject_of(fp32, fp32, 32, 64, 620), "triton",
      in_equal_parts(11, PartOrder::descending));
  add("some blocks in two parts", subject_of(fp32, fp32, 136, 200, 416), "triton",
      in_equal_parts(2, PartOrder::pairs, Tail{64, 128, BlockLines::columns, 1, 2}));
  add("some blocks in five parts", subject_of(fp32, fp32, 136, 264, 300), "triton",
      in_equal_parts(5, PartOrder::pairs, Tail{64, 64, BlockLines::rows, 2, 6}));
  const auto in_a_few_parts = [&](std::size_t count, std::size_t tile, PartOrder order, std::size_t promote) {
    return [=](GemmPlan& plan) {
      plan.k_tile = tile;
      if (promote != 0) plan.promote_every = promote;
      plan.split_k = SplitK{.count = count, .order = order};
    };
  };
  add("three equal parts, promoted", subject_of(fp16, fp16, 32, 64, 1184), "nvjet",
      in_a_few_parts(3, 64, PartOrder::ascending, 64));
  add("five equal parts in pairs", subject_of(bf16, fp32, 32, 64, 1184), "nvjet",
      in_a_few_parts(5, 32, PartOrder::pairs, 128));
  add("two equal parts of fp8", subject_of(fp8e4m3, bf16, 32, 64, 1120), "nvjet-fp8",
      in_a_few_parts(2, 128, PartOrder::descending, 64));
  add("fp32 as it is", subject_of(fp32, fp32, 32, 64, 300), "chain", as_it_is);
  add("fp32 as it is, split", subject_of(fp32, fp32, 32, 64, 512), "chain",
      [](GemmPlan& plan) { plan.split_k = SplitK{.chunk = 192}; });
  const auto on_threads = [&](int count, std::size_t share, SliceOrder order) {
    return [=](GemmPlan& plan) {
      plan.slices = count;
      plan.k_tile = share * static_cast<std::size_t>(count);
      plan.slices_order = order;
    };
  };
  add("fp32, a product in turn", subject_of(fp32, fp32, 1, 96, 500), "chain", on_threads(32, 1, SliceOrder::halves));
  add("fp32, a product in turn, in parts", subject_of(fp32, fp32, 1, 96, 500), "chain", [&](GemmPlan& plan) {
    on_threads(32, 1, SliceOrder::halves)(plan);
    plan.split_k = SplitK{.chunk = 167};
  });
  add("fp32, two products in turn, in parts by turns", subject_of(fp32, fp32, 1, 96, 3000), "chain",
      [&](GemmPlan& plan) {
        on_threads(256, 1, SliceOrder::neighbours)(plan);
        plan.split_k = SplitK{.chunk = 256, .turns = 7, .order = PartOrder::fours};
      });
  add("sixty-six slices, folded", subject_of(FormatId::fp64, FormatId::fp64, 16, 32, 1000), "chain",
      [](GemmPlan& plan) {
        plan.k_tile = 66 * 8;
        plan.slices = 66;
        plan.slices_order = SliceOrder::folded;
      });
  add("two slices", subject_of(fp16, fp32, 32, 64, 1024), "nvjet", [](GemmPlan& plan) {
    plan.k_tile = 64;
    plan.slices = 2;
  });
  add("seven slices, folded", subject_of(FormatId::fp64, FormatId::fp64, 16, 32, 1000), "chain", [](GemmPlan& plan) {
    plan.k_tile = 7 * 32;
    plan.slices = 7;
    plan.slices_order = SliceOrder::folded;
  });
  return all;
}

/// A quarter, as all of them take minutes: the seed says which. One quarter is asked for products, and of another
/// quarter one product is taken.
std::vector<Planted> planted(std::size_t quarter) { return test::those_of_run(all_planted(), 4, quarter); }

TEST(GemmFit, FindsPlansThatArePlanted) {
  for (const Planted& each : planted(0)) {
    const GemmFit fit = fit_of(each.subject, each.plan);
    EXPECT_EQ(fit.verdict, Verdict::identified) << each.what << ": " << fit.surviving << open_text(fit);
    EXPECT_EQ(fit.mismatches, 0u);
    EXPECT_EQ(fit.asked.size(), fit.products);
    EXPECT_GE(fit.elements, 5 * each.subject.m * each.subject.n);
    EXPECT_GT(fit.considered, 20u);
    EXPECT_TRUE(same_results(each.subject, fit.plan, each.plan)) << each.what;
  }
}

TEST(GemmFit, FindsThemFromOneProduct) {
  TCNUM_TAKES_LONG();
  for (const Planted& each : planted(1)) {
    const GemmOperands operands = make_operands(each.subject, OperandFamily::spread, 3);
    const Matrix d = gemm(each.plan, operands.a, operands.b);
    const GemmFit fit = fit_gemm("sm_90", operands.a, operands.b, d, {.threads = 2});
    EXPECT_EQ(fit.products, 1u);
    ASSERT_NE(fit.verdict, Verdict::unexplained) << each.what;
    EXPECT_EQ(gemm(fit.plan, operands.a, operands.b), d) << each.what;
    if (fit.verdict == Verdict::identified) {
      EXPECT_TRUE(same_results(each.subject, fit.plan, each.plan)) << each.what;
    } else {
      EXPECT_FALSE(fit.open.empty()) << each.what;
    }
  }
}

/// With a narrow result few elements tell plans apart: a part of the product leaves more of them than explain all of
/// it.
TEST(GemmFit, FindsThemFromAProductThatTellsLittle) {
  using enum FormatId;
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  const auto draw = [&](std::size_t rows, std::size_t columns) {
    std::vector<float> numbers(rows * columns);
    for (float& number : numbers) number = normal(random);
    return Matrix::from(numbers, rows, columns, "fp16");
  };
  for (const std::size_t every : {128, 256}) {
    const Matrix a = draw(64, 512), b = draw(512, 64);
    GemmPlan plan = named_plan("nvjet", fp16, fp16);
    plan.promote_every = every;
    const Matrix d = gemm(plan, a, b);
    const GemmFit fit = fit_gemm("sm_90", a, b, d, {.threads = 2});
    ASSERT_NE(fit.verdict, Verdict::unexplained) << every;
    EXPECT_EQ(gemm(fit.plan, a, b), d) << every;
  }
}

TEST(GemmFit, DoesNotIdentifyWhatNoPlanOfTheSpaceIs) {
  using enum FormatId;
  const GemmSubject subject = subject_of(fp8e4m3, fp32, 32, 64, 1024);
  const auto refused = [&](const char* what, const GemmCallable& callable) {
    const GemmFit fit = fit_gemm(subject, callable, {.threads = 2});
    EXPECT_EQ(fit.verdict, Verdict::unexplained) << what << "\n" << plan_to_json(fit.plan).dump();
    EXPECT_GT(fit.mismatches, 0u) << what;
    ASSERT_TRUE(fit.mismatch) << what;
    EXPECT_NE(fit.mismatch->expected, fit.mismatch->observed);
  };
  const GemmPlan slow = named_plan("nvjet-fp8-slow", fp8e4m3), fast = named_plan("nvjet-fp8", fp8e4m3);
  const auto with = [&](const auto& change) {
    GemmPlan plan = slow;
    change(plan);
    return [plan](const Matrix& a, const Matrix& b) { return gemm(plan, a, b); };
  };
  refused("a promotion toward zero", with([](GemmPlan& plan) { plan.promote_rounding = Rounding::toward_zero; }));
  refused("k from its end", with([](GemmPlan& plan) { plan.k_order = KOrder::descending; }));
  refused("a chunk of 352", with([](GemmPlan& plan) { plan.split_k = SplitK{.chunk = 992}; }));
  refused("another datapath", with([](GemmPlan& plan) {
            plan.datapath =
                catalogue(ArchId::sm_89, *find_instruction("mma.m16n8k32.f32.e4m3.e4m3.f32")).at(0).datapath;
            plan.arch = plan.instruction = "";
          }));
  // Kernels that are not the same for all elements, as those that give tiles to whoever is free.
  refused("two plans", [&](const Matrix& a, const Matrix& b) {
    Matrix d = gemm(slow, a, b);
    const Matrix other = gemm(fast, a, b);
    for (std::size_t i = 20; i < d.rows(); ++i)
      for (std::size_t j = 0; j < d.columns(); ++j) d.set(i, j, other(i, j));
    return d;
  });
  // A single bit of a single element, and only in the last product.
  std::size_t products = 0;
  refused("one bit", [&](const Matrix& a, const Matrix& b) {
    Matrix d = gemm(slow, a, b);
    if (++products == 5) d.set(17, 33, d(17, 33) ^ 1);
    return d;
  });
}

/// Blocks whose k is divided are found only if they are the last ones, and only if all their elements are as they say.
TEST(GemmFit, DoesNotFindBlocksThatAreNotLeftOver) {
  const GemmSubject subject = subject_of(FormatId::fp32, FormatId::fp32, 136, 136, 300);
  GemmPlan whole = named_plan("triton", FormatId::fp32), divided = whole;
  divided.k_tile = 32;
  divided.split_k = SplitK{.count = 2, .order = PartOrder::pairs};
  const auto fit_with = [&](const auto& is_divided, std::size_t wrong_product) {
    std::size_t products = 0;
    return fit_gemm(subject,
                    [&](const Matrix& a, const Matrix& b) {
                      Matrix d = gemm(whole, a, b);
                      const Matrix other = gemm(divided, a, b);
                      for (std::size_t i = 0; i < d.rows(); ++i) {
                        for (std::size_t j = 0; j < d.columns(); ++j) {
                          if (is_divided(i, j)) d.set(i, j, other(i, j));
                        }
                      }
                      if (++products == wrong_product) d.set(135, 130, d(135, 130) ^ 1);
                      return d;
                    },
                    {.threads = 2});
  };
  const auto last = [](std::size_t i, std::size_t j) { return i >= 128 && j >= 64; };
  EXPECT_EQ(fit_with(last, 0).verdict, Verdict::identified);
  // A bit of a divided element, in a product that chooses the plan, and in the one that does not.
  EXPECT_EQ(fit_with(last, 2).verdict, Verdict::unexplained);
  EXPECT_EQ(fit_with(last, 6).verdict, Verdict::unexplained);
  const auto first = [](std::size_t i, std::size_t j) { return i < 64 && j < 64; };
  EXPECT_EQ(fit_with(first, 0).verdict, Verdict::unexplained);
  const auto middle = [](std::size_t i, std::size_t j) { return i >= 64 && i < 128 && j >= 64 && j < 128; };
  EXPECT_EQ(fit_with(middle, 0).verdict, Verdict::unexplained);
  const auto no_block = [](std::size_t i, std::size_t j) { return i >= 130 && j >= 64; };
  EXPECT_EQ(fit_with(no_block, 0).verdict, Verdict::unexplained);
}

TEST(GemmFit, CallsAPlanWhatIsTheSame) {
  // The sum of every 96 of k to an fp32 total is also that of parts of 96.
  const GemmSubject subject = subject_of(FormatId::fp8e4m3, FormatId::fp32, 32, 64, 1024);
  GemmPlan plan = named_plan("nvjet-fp8-slow", subject.a);
  plan.promote_every = 96;
  const GemmFit fit = fit_of(subject, plan);
  EXPECT_EQ(fit.verdict, Verdict::identified);
  EXPECT_TRUE(same_results(subject, fit.plan, plan));
}

TEST(GemmFit, NoTwoPlansOfTheSpaceAreTheSame) {
  const GemmSubject subject = subject_of(FormatId::fp16, FormatId::fp16, 32, 64, 144);
  const std::vector<Candidate> space = plan_space(subject);
  EXPECT_GT(space.size(), 50u);
  for (const Candidate& candidate : space) EXPECT_NO_THROW(validate(candidate.plan));
  // Integers wrap to the same whatever the order.
  const GemmSubject integers = subject_of(FormatId::s8, FormatId::s32, 8, 64, 256);
  const GemmFit fit = fit_of(integers, named_plan("chain", FormatId::s8));
  EXPECT_EQ(fit.verdict, Verdict::identified) << open_text(fit);
  EXPECT_EQ(fit.mismatches, 0u);
}

TEST(GemmFit, SaysWhatIsWrong) {
  const Matrix a(FormatId::fp16, 4, 8), b(FormatId::fp16, 8, 5), d(FormatId::fp16, 4, 4), bytes(FormatId::u8, 8, 5);
  EXPECT_EQ(refusal([&] { fit_gemm("sm_90", a, b, d); }),
            "gemm: C is 4 × 4; expected 4 × 5, as A (4 × 8) and B (8 × 5) make it");
  EXPECT_EQ(refusal([&] { fit_gemm("sm_91", a, b, Matrix(FormatId::fp16, 4, 5)); }).substr(0, 30),
            "gemm: arch sm_91 is unknown; e");
  EXPECT_EQ(refusal([&] { fit_gemm("sm_90", a, bytes, Matrix(FormatId::fp16, 4, 5)); }).substr(0, 49),
            "gemm: no instruction of sm_90 takes fp16 and u8; ");
  const GemmSubject subject = subject_of(FormatId::fp16, FormatId::fp16, 4, 4, 16);
  EXPECT_EQ(
      refusal([&] { fit_gemm(subject, [](const Matrix&, const Matrix&) { return Matrix(FormatId::fp32, 4, 4); }); }),
      "gemm: the callable gave 4 × 4 of fp32; expected 4 × 4 of fp16");
}

}  // namespace
}  // namespace tcnum
