// tcnum gemm error: how far a product is from the exact one.
#include "tcnum/gemm_error.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gemm.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "src/report/gemm_error_report.hpp"
#include "tcnum/error.hpp"

namespace tcnum {

int report_error(const GemmCommandOptions& options, const ProductMatrices& matrices, const StoredTensor& d,
                 const GemmPlan* plan) {
  const std::size_t rows = matrices.batches * matrices.m;
  const RowsProgress progress("comparing", rows);
  ErrorReport report;
  for (std::size_t batch = 0; batch < matrices.batches; ++batch) {
    const BatchInputs inputs(matrices, batch);
    const std::size_t before = report.rows;
    const auto show = [&](std::size_t done) {
      progress.show(before + done);
      return !interrupted.load();
    };
    report.add(said_of_file(options,
                            [&] {
                              return error_of(view_of(d, batch), inputs.a(), inputs.b(),
                                              inputs.others(options.alpha, options.beta), {.progress = show},
                                              inputs.reference(plan));
                            }),
               batch);
    if (interrupted)
      throw UnavailableError(fmt::format("gemm: interrupted after comparing {} of {} rows", report.rows, rows));
  }
  progress.clear();
  const ComparedProduct compared{.file = options.in.empty() ? options.a : options.in,
                                 .plan = plan,
                                 .plan_name = options.plan,
                                 .m = matrices.m,
                                 .n = matrices.n,
                                 .k = matrices.k,
                                 .batches = matrices.batched ? std::optional(matrices.batches) : std::nullopt,
                                 .alpha = options.alpha,
                                 .beta = options.beta.value_or(matrices.find("C") == nullptr ? 0 : 1)};
  if (options.json != "-") say(gemm_error_text(report, compared));
  if (!options.json.empty()) write_json(options.json, gemm_error_document(report, compared));
  return kAgreed;
}

}  // namespace tcnum
