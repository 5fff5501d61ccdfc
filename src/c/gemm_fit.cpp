// Finding the plan behind a caller's matrix product.
#include <nlohmann/json.hpp>
#include <utility>

#include "arguments.hpp"
#include "fit_progress.hpp"
#include "guard.hpp"
#include "src/report/gemm_fit_report.hpp"
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
  const auto given = options_of(&required(subject, "subject", "what is multiplied"), "subject");
  const auto length_of = [](std::size_t length, std::string_view which) {
    if (length == 0) throw InputError(fmt::format("subject->{}: is 0; right would be 1 or more", which));
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

}  // namespace
}  // namespace tcnum

using namespace tcnum;

tcnum_status tcnum_fit_gemm(const tcnum_gemm_subject* subject, tcnum_multiply multiply, void* user,
                            const tcnum_gemm_fit_options* options, char** json) {
  return guarded([&] {
    char*& result = result_of(json, "json");
    const GemmSubject of = subject_of(subject);
    if (multiply == nullptr) throw InputError("multiply: is NULL; right would be a function that writes D's codes");
    const GemmFit fit = fit_gemm(
        of,
        [&](const Matrix& a, const Matrix& b) {
          Matrix d(of.d, of.m, of.n);
          const tcnum_view a_view = c_view_of(a), b_view = c_view_of(b);
          if (multiply(user, &a_view, &b_view, d.bytes().data(), d.bytes().size()) != 0) throw Stopped();
          check_codes(d.bytes(), format(of.d), "multiply: D");
          return d;
        },
        fit_options_of(options));
    result = new_text(gemm_fit_document(fit, of).dump(2));
  });
}

tcnum_status tcnum_fit_gemm_matrices(const char* arch_name, const tcnum_view* a, const tcnum_view* b,
                                     const tcnum_view* d, const tcnum_gemm_fit_options* options, char** json) {
  return guarded([&] {
    char*& result = result_of(json, "json");
    const std::string_view name = arch(arch_of(arch_name)).name;
    const MatrixView a_view = view_of(a, "a"), b_view = view_of(b, "b"), d_view = view_of(d, "d");
    const GemmFit fit = fit_gemm(name, a_view, b_view, d_view, fit_options_of(options));
    const GemmSubject of = {std::string(name), a_view.format(),  b_view.format(), d_view.format(),
                            a_view.rows(),     b_view.columns(), a_view.columns()};
    result = new_text(gemm_fit_document(fit, of).dump(2));
  });
}
