#include "tcnum/epilogue_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <random>
#include <utility>

#include "emu/parallel.hpp"
#include "plan_search.hpp"
#include "sums.hpp"

namespace tcnum {
namespace {

constexpr std::array<EpilogueCase, 17> kCases = {{
    {.name = "nothing"},
    {.name = "alpha", .alpha = true},
    {.name = "c", .c = true},
    {.name = "c_in_place", .c = true, .in_place = true},
    {.name = "beta_c", .c = true, .beta = true},
    {.name = "alpha_c_in_place", .alpha = true, .c = true, .in_place = true},
    {.name = "alpha_beta_c", .alpha = true, .c = true, .beta = true},
    {.name = "alpha_beta_c_in_place", .alpha = true, .c = true, .beta = true, .in_place = true},
    {.name = "bias", .bias = true},
    {.name = "alpha_bias", .alpha = true, .bias = true},
    {.name = "c_bias", .c = true, .bias = true},
    {.name = "alpha_c_in_place_bias", .alpha = true, .c = true, .in_place = true, .bias = true},
    {.name = "alpha_beta_c_bias", .alpha = true, .c = true, .beta = true, .bias = true},
    {.name = "scales", .scales = true},
    {.name = "alpha_beta_c_scales", .alpha = true, .c = true, .beta = true, .scales = true},
    {.name = "bias_scales", .bias = true, .scales = true},
    {.name = "alpha_beta_c_bias_scales", .alpha = true, .c = true, .beta = true, .bias = true, .scales = true},
}};

/// Factors whose products are rounded: of fp32 or fp64, and of integers.
struct Factors {
  double alpha, beta;
};
Factors factors_of(FormatId operands, FormatId d) {
  if (d == FormatId::s32) return {3, -2};
  if (operands == FormatId::fp64) return {0.71238898038468985769, 0.6180339887498948482};
  return {0.7123889f, 0.618034f};
}
constexpr float kScaleOfA = 0.8371201f, kScaleOfB = 1.2345678f;

/// About A · B: what is added to it is to be as large, so that the bits that a rounding takes are those that are left.
std::vector<double> sums_about(const GemmOperands& of, unsigned threads) {
  const ProductShape shape = {of.a.rows(), of.b.columns(), of.a.columns()};
  std::vector<double> sums(shape.m * shape.n);
  multiply_doubles(shape, of.a.to_doubles(), of.b.to_doubles(), sums, threads);
  return sums;
}

std::uint64_t code_near(FormatId id, double x) {
  return code_of({id, Rounding::nearest_even, Overflow::max_finite, 0}, x);
}
Matrix scale_of(float scale) { return Matrix::from(std::span(&scale, 1), 1, 1, "fp32"); }

/// Whether another epilogue, with the earlier value of some field, does the same whatever comes to the sums.
bool is_another(const Epilogue& epilogue, bool rounds_results) {
  const bool fuses_alpha = epilogue.alpha == AlphaPlace::fused, on_result = epilogue.beta == BetaPlace::on_result;
  // Alpha may be fused with C, or with a bias that comes before it or takes its place; beta, where alpha is not.
  if (fuses_alpha && epilogue.beta == BetaPlace::fused) return true;
  if (fuses_alpha && on_result && epilogue.bias != BiasPlace::first) return true;
  if (!fuses_alpha && epilogue.beta != BetaPlace::rounded && epilogue.bias == BiasPlace::first) return true;
  if (on_result && epilogue.bias == BiasPlace::as_c) return true;
  if (rounds_results) return false;
  return epilogue.bias == BiasPlace::on_result || (epilogue.bias == BiasPlace::as_c && !fuses_alpha);
}

/// All epilogues of a plan that may give different results.
std::vector<GemmPlan> epilogues_of(const GemmPlan& sums) {
  const Performer performer = performer_of(sums, "plan");
  const FormatId sums_format = performer.formats.d;
  const bool in_integers = sums_format == FormatId::s32 && sums.output == FormatId::s32;
  const bool of_fmas = may_scale_operands(sums, performer);
  const bool has_parts = sums.split_k && sums_format != FormatId::s32 &&
                         (sums.split_k->order == PartOrder::ascending || sums.split_k->order == PartOrder::descending);
  const bool rounds_results = sums.output != usual_epilogue_type(sums_format);
  std::vector<GemmPlan> all;
  const auto add = [&](const Epilogue& epilogue) {
    if (is_another(epilogue, rounds_results)) return;
    GemmPlan& plan = all.emplace_back(sums);
    plan.epilogue = epilogue;
    if (!has_parts) return;
    GemmPlan parts = plan;
    parts.split_k->epilogue = EpilogueOf::parts;
    parts.split_k->type = sums.output;
    all.push_back(std::move(parts));
  };
  using A = AlphaPlace;
  using B = BetaPlace;
  using P = BiasPlace;
  for (const A alpha : {A::fused, A::first, A::on_a, A::on_b}) {
    if (!of_fmas && (alpha == A::on_a || alpha == A::on_b)) continue;
    for (const B beta : {B::rounded, B::fused, B::on_result}) {
      for (const P bias : {P::last, P::first, P::on_result, P::as_c}) add({alpha, beta, bias});
    }
  }
  if (in_integers) {
    GemmPlan plan = sums;
    plan.epilogue = {.type = FormatId::s32};
    all.push_back(std::move(plan));
  }
  return all;
}

struct AnsweredProduct {
  EpilogueProduct product;
  Matrix d;
};

/// Some rows and columns of it.
AnsweredProduct part_of(const AnsweredProduct& whole, const Sample& sample) {
  const auto part = [&](const Matrix& x) { return columns_of(rows_of(x, sample.rows), sample.columns); };
  AnsweredProduct some = {whole.product, part(whole.d)};
  some.product.a = rows_of(whole.product.a, sample.rows);
  some.product.b = columns_of(whole.product.b, sample.columns);
  if (auto& c = some.product.c) c = part(*c);
  if (auto& bias = some.product.bias)
    bias = bias->rows() > 1 ? rows_of(*bias, sample.rows) : columns_of(*bias, sample.columns);
  return some;
}

class EpilogueSearch {
 public:
  EpilogueSearch(const GemmSubject& subject, const GemmPlan& sums, const EpilogueCallable& callable,
                 const EpilogueFormats& formats, const GemmFitOptions& options)
      : subject_(subject),
        callable_(callable),
        formats_(formats),
        options_(options),
        threads_(options.threads == 0 ? all_threads() : options.threads),
        plans_(epilogues_of(sums)),
        mismatches_(plans_.size(), 0) {
    // Few elements refute most. (Which elements' k is divided depends on where in D they are.)
    constexpr std::size_t kRows = 16, kColumns = 64;
    const bool takes_all = sums.split_k && sums.split_k->tail;
    sample_ = sample_of(subject.m, subject.n, takes_all ? subject.m : kRows, takes_all ? subject.n : kColumns);
    for (std::size_t i = 0; i < plans_.size(); ++i) alive_.push_back(i);
  }

  EpilogueFit run() {
    const EpilogueOperands operands(subject_, options_.seed);
    for (std::size_t each = 0; each < kCases.size(); ++each) {
      if (is_asked(kCases[each])) ask(each, product_of(each, operands));
    }
    for (std::size_t more = 1; more <= options_.search_products && alive_.size() > 1 && !is_refuted_; ++more)
      ask_separating(EpilogueOperands(subject_, options_.seed + more));
    return finish();
  }

 private:
  /// In a place of its own.
  EpilogueProduct product_of(std::size_t of_case, const EpilogueOperands& operands) const {
    EpilogueProduct product = operands.product(kCases[of_case], formats_);
    product.in_place = false;
    return product;
  }
  static bool is_asked(const EpilogueCase& of) { return !of.scales && (of.alpha || of.c || of.bias); }

  void ask(std::size_t of_case, EpilogueProduct product) {
    Matrix d = callable_(product);
    check_answer(d, subject_);
    answered_.push_back({std::move(product), std::move(d)});
    cases_.push_back(of_case);
    const AnsweredProduct part = part_of(answered_.back(), sample_);
    in_parallel(alive_.size(), threads_, [&](std::size_t at) {
      const std::size_t i = alive_[at];
      mismatches_[i] += count_differences(gemm(plans_[i], part.product, {.threads = 1}), part.d);
    });
    std::vector<std::size_t> left;
    std::ranges::copy_if(alive_, std::back_inserter(left), [&](std::size_t i) { return mismatches_[i] == 0; });
    is_refuted_ = is_refuted_ || left.empty();  // one of those that were left last is the nearest
    if (!left.empty()) alive_ = std::move(left);
  }
  /// A case that tells two of the epilogues left from each other, if there is one.
  void ask_separating(const EpilogueOperands& operands) {
    const Matrix none(subject_.d, subject_.m, subject_.n);
    for (std::size_t each = 0; each < kCases.size(); ++each) {
      if (!is_asked(kCases[each])) continue;
      EpilogueProduct product = product_of(each, operands);
      const EpilogueProduct part = part_of({product, none}, sample_).product;
      const Matrix first = gemm(plans_[alive_[0]], part, {.threads = threads_});
      const bool tells = std::any_of(alive_.begin() + 1, alive_.end(), [&](std::size_t i) {
        return gemm(plans_[i], part, {.threads = threads_}) != first;
      });
      if (tells) return ask(each, std::move(product));
    }
  }
  EpilogueFit finish() {
    EpilogueFit result;
    result.considered = plans_.size();
    result.products = answered_.size();
    const auto nearest = std::ranges::min_element(alive_, {}, [&](std::size_t i) { return mismatches_[i]; });
    result.plan = plans_[*nearest];
    for (std::size_t i = 0; i < answered_.size(); ++i) {
      const Matrix d = gemm(result.plan, answered_[i].product, {.threads = threads_});
      result.elements += subject_.m * subject_.n;
      each_difference(d, answered_[i].d, [&](std::size_t row, std::size_t column) {
        ++result.mismatches;
        if (!result.mismatch)
          result.mismatch = GemmMismatch{cases_[i], row, column, d(row, column), answered_[i].d(row, column)};
      });
    }
    if (result.mismatches != 0) return result;
    std::vector<const GemmPlan*> left;
    for (const std::size_t i : alive_) left.push_back(&plans_[i]);
    result.surviving = left.size();
    result.verdict = left.size() == 1 ? Verdict::identified : Verdict::ambiguous;
    if (left.size() > 1) result.open = differences(left);
    return result;
  }

  const GemmSubject& subject_;
  const EpilogueCallable& callable_;
  const EpilogueFormats& formats_;
  GemmFitOptions options_;
  unsigned threads_;
  std::vector<GemmPlan> plans_;
  std::vector<std::size_t> mismatches_;  ///< of each plan, in the samples of the products that it was tried on
  std::vector<std::size_t> alive_;
  bool is_refuted_ = false;
  Sample sample_;
  std::vector<AnsweredProduct> answered_;
  std::vector<std::size_t> cases_;  ///< of them
};

}  // namespace

std::span<const EpilogueCase> epilogue_cases() { return kCases; }

EpilogueOperands::EpilogueOperands(const GemmSubject& subject, std::uint64_t seed) : subject_(subject), seed_(seed) {
  GemmOperands operands = make_operands(subject, OperandFamily::steps, seed);
  sums_ = sums_about(operands, all_threads());
  a_ = std::move(operands.a);
  b_ = std::move(operands.b);
}

EpilogueProduct EpilogueOperands::product(const EpilogueCase& of, const EpilogueFormats& formats) const {
  const std::size_t m = subject_.m, n = subject_.n;
  const Factors factors = factors_of(subject_.a, subject_.d);
  EpilogueProduct product = {.a = a_, .b = b_, .in_place = of.in_place};
  if (of.alpha) product.alpha = factors.alpha;
  if (of.c) product.beta = of.beta ? factors.beta : 1;
  double about = product.alpha;
  if (of.scales) {
    product.a_scale = scale_of(kScaleOfA), product.b_scale = scale_of(kScaleOfB);
    about *= static_cast<double>(kScaleOfA) * kScaleOfB;
  }
  std::mt19937_64 random(seed_);
  if (of.bias) {
    // The opposite of an element of its line.
    const bool of_rows = formats.bias_of_rows;
    Matrix& bias = of_rows ? product.bias.emplace(formats.bias, m, 1) : product.bias.emplace(formats.bias, 1, n);
    const std::size_t lines = of_rows ? m : n, length = of_rows ? n : m;
    for (std::size_t line = 0; line < lines; ++line) {
      const auto other = static_cast<std::size_t>(random() % length);
      const double sum = of_rows ? sums_[line * n + other] : sums_[other * n + line];
      bias.set(of_rows ? line : 0, of_rows ? 0 : line, code_near(formats.bias, -about * sum));
    }
  }
  if (of.c) {
    Matrix& c = product.c.emplace(formats.c, m, n);
    for (std::size_t i = 0; i < m * n; ++i) {
      const std::uint64_t draw = random();
      // Of one half as large as the sum, of the other between a half and one and a half of it.
      const double of_sum = (draw & 1) != 0 ? 0.5 + static_cast<double>(draw >> 11) * 0x1p-53 : 1;
      c.set(i / n, i % n, code_near(formats.c, -about * sums_[i] * of_sum / product.beta));
    }
  }
  return product;
}

Matrix gemm(const GemmPlan& plan, const EpilogueProduct& product, const GemmOptions& options) {
  const auto view = [](const std::optional<Matrix>& x) { return x ? std::optional<MatrixView>(*x) : std::nullopt; };
  const auto c = view(product.c), bias = view(product.bias), a_scale = view(product.a_scale),
             b_scale = view(product.b_scale);
  const auto pointer = [](const std::optional<MatrixView>& x) { return x ? &*x : nullptr; };
  return gemm(plan, product.a, product.b,
              {.c = pointer(c),
               .bias = pointer(bias),
               .alpha = product.alpha,
               .beta = product.beta,
               .a_scales = pointer(a_scale),
               .b_scales = pointer(b_scale)},
              options);
}

EpilogueFit fit_epilogue(const GemmSubject& subject, const GemmPlan& sums, const EpilogueCallable& callable,
                         const EpilogueFormats& formats, const GemmFitOptions& options) {
  return EpilogueSearch(subject, sums, callable, formats, options).run();
}

}  // namespace tcnum
