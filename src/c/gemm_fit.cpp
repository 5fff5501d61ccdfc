// Finds the plan behind a matrix product of the caller.
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "src/report/gemm_report.hpp"
#include "tcnum/epilogue_fit.hpp"
#include "tcnum/gemm_fit.hpp"

namespace tcnum {
namespace {

GemmFitOptions fit_options_of(const tcnum_gemm_fit_options* options) {
  const auto given = options_of(options, "options");
  GemmFitOptions how;
  if (given.seed != 0) how.seed = given.seed;
  how.threads = given.threads;
  how.progress = fit_progress_of(given);
  return how;
}

GemmSubject subject_of(const tcnum_gemm_subject* subject) {
  const auto given = options_of(&required(subject, "subject", "the product to be fitted"), "subject");
  const auto length_of = [](std::size_t length, std::string_view which) {
    if (length == 0) throw InputError(fmt::format("subject->{}: is 0; expected 1 or more", which));
    return length;
  };
  return {std::string(arch(arch_of(given.arch, "subject->arch")).name),
          format_of(given.a, "subject->a").id,
          format_of(given.b, "subject->b").id,
          format_of(given.d, "subject->d").id,
          length_of(given.m, "m"),
          length_of(given.n, "n"),
          length_of(given.k, "k")};
}

tcnum_view c_view_of(const Matrix& matrix) {
  return {matrix.bytes().data(), matrix.bytes().size(),   matrix.rows(),
          matrix.columns(),      c_name(matrix.format()), TCNUM_ROW_MAJOR};
}

/// The D that a callback writes: write(codes, bytes) is not 0 to stop.
template <class Write>
Matrix written_by(const GemmSubject& of, std::string_view who, const Write& write) {
  Matrix d(of.d, of.m, of.n);
  if (write(d.bytes().data(), d.bytes().size()) != 0) throw Stopped();
  check_codes(d.bytes(), format(of.d), fmt::format("{}: D", who));
  return d;
}

EpilogueFit epilogue_of(const GemmSubject& of, const GemmPlan& plan, tcnum_multiply_and_add multiply, void* user,
                        const GemmFitOptions& options) {
  const auto answer = [&](const EpilogueProduct& product) {
    const auto view = [](const std::optional<Matrix>& x) { return x ? c_view_of(*x) : tcnum_view{}; };
    const tcnum_view a = c_view_of(product.a), b = c_view_of(product.b), c = view(product.c), bias = view(product.bias);
    const tcnum_gemm_terms terms = {product.alpha, product.beta, product.c ? &c : nullptr,
                                    product.bias ? &bias : nullptr};
    return written_by(of, "multiply_and_add",
                      [&](void* d, std::size_t bytes) { return multiply(user, &a, &b, &terms, d, bytes); });
  };
  return fit_epilogue(of, plan, answer, {.c = of.d, .bias = of.d}, options);
}

}  // namespace
}  // namespace tcnum

using namespace tcnum;

tcnum_status tcnum_fit_gemm(const tcnum_gemm_subject* subject, tcnum_multiply multiply, void* user,
                            const tcnum_gemm_fit_options* options, char** json) {
  return handed_back(json, "json", [&] {
    const GemmSubject of = subject_of(subject);
    if (multiply == nullptr) throw InputError("multiply: is NULL; expected a function that writes D's codes");
    const GemmFitOptions how = fit_options_of(options);
    const GemmFit fit = fit_gemm(
        of,
        [&](const Matrix& a, const Matrix& b) {
          const tcnum_view a_view = c_view_of(a), b_view = c_view_of(b);
          return written_by(of, "multiply",
                            [&](void* d, std::size_t bytes) { return multiply(user, &a_view, &b_view, d, bytes); });
        },
        how);
    std::optional<EpilogueFit> epilogue;
    const tcnum_multiply_and_add add = options_of(options, "options").multiply_and_add;
    if (add != nullptr && fit.verdict != Verdict::unexplained) epilogue = epilogue_of(of, fit.plan, add, user, how);
    return new_text(gemm_fit_document(fit, of, epilogue ? &*epilogue : nullptr).dump(2));
  });
}

tcnum_status tcnum_fit_gemm_matrices(const char* arch_name, const tcnum_view* a, const tcnum_view* b,
                                     const tcnum_view* d, const tcnum_gemm_fit_options* options, char** json) {
  return handed_back(json, "json", [&] {
    const std::string_view name = arch(arch_of(arch_name)).name;
    const MatrixView a_view = view_of(a, "a"), b_view = view_of(b, "b"), d_view = view_of(d, "d");
    const GemmFit fit = fit_gemm(name, a_view, b_view, d_view, fit_options_of(options));
    const GemmSubject of = {std::string(name), a_view.format(),  b_view.format(), d_view.format(),
                            a_view.rows(),     b_view.columns(), a_view.columns()};
    return new_text(gemm_fit_document(fit, of).dump(2));
  });
}
