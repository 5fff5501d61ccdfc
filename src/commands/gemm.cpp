// tcnum gemm: a whole matrix product with the bits of a kernel's plan.
#include "gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "interrupt.hpp"
#include "output.hpp"
#include "src/files/matrix_file.hpp"
#include "tcnum/error.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {
namespace {

std::optional<FormatId> named_format(std::string_view option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (const auto id = find_format(text)) return id;
  throw InputError(fmt::format("{}: format {} is unknown; right would be one that `tcnum list` shows", option, text));
}

GemmPlan chosen_plan(const GemmCommandOptions& options, FormatId operands) {
  const std::optional<FormatId> output = named_format("--output", options.output);
  const auto plans = named_plans();
  if (std::ranges::find(plans, options.plan, &NamedPlan::name) != plans.end())
    return named_plan(options.plan, operands, output);
  if (!is_there(options.plan)) {
    std::string names;
    for (const NamedPlan& plan : plans) names += std::string(plan.name) + ", ";
    throw InputError(fmt::format("--plan: {} is neither a plan's name nor a file; right would be one of {}or a file",
                                 options.plan, names));
  }
  GemmPlan plan = read_plan(options.plan);
  plan.output = output.value_or(plan.output);
  return plan;
}

/// Rows that are done, and how long the others will take.
class RowsProgress {
 public:
  explicit RowsProgress(std::size_t rows) : rows_(rows), begin_(Clock::now()) {}
  void show(std::size_t done) const {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (done == 0 || seconds < 1) return;
    line_.show(fmt::format("{} of {} rows, {:.0f} s left", done, rows_,
                           seconds / static_cast<double>(done) * static_cast<double>(rows_ - done)));
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::size_t rows_;
  Clock::time_point begin_;
  ProgressLine line_;
};

/// All batches, one after the other, into one tensor.
class Product {
 public:
  Product(const GemmCommandOptions& options, const ProductMatrices& matrices, const GemmPlan& plan)
      : options_(options), matrices_(matrices), plan_(plan) {
    d_.format = plan.output;
    d_.shape = {matrices.m, matrices.n};
    if (matrices.batched) d_.shape.insert(d_.shape.begin(), matrices.batches);
    d_.codes = Codes(format(plan.output).storage_bytes(), matrices.batches * matrices.m * matrices.n);
  }

  /// Returns whether it was finished, and not interrupted.
  bool compute() {
    const InterruptGuard guard;
    const RowsProgress progress(matrices_.batches * matrices_.m);
    for (std::size_t batch = 0; batch < matrices_.batches; ++batch) {
      if (!compute(batch, progress)) return false;
    }
    return true;
  }
  const StoredTensor& d() const { return d_; }
  std::size_t rows() const { return rows_; }

 private:
  bool compute(std::size_t batch, const RowsProgress& progress) {
    const auto view = [&](std::string_view name) -> std::optional<MatrixView> {
      const StoredTensor* const tensor = matrices_.find(name);
      return tensor == nullptr ? std::nullopt : std::optional(view_of(*tensor, batch));
    };
    const std::optional<MatrixView> c = options_.beta != 0 ? view("C") : std::nullopt, bias = view("bias");
    Matrix d(plan_.output, matrices_.m, matrices_.n);
    const std::size_t before = rows_;
    const std::size_t rows = gemm_into(
        d, plan_, view("A").value(), view("B").value(),
        {.c = c ? &*c : nullptr, .bias = bias ? &*bias : nullptr, .alpha = options_.alpha, .beta = options_.beta},
        {.progress = [&](std::size_t done) {
          progress.show(before + done);
          return !interrupted.load();
        }});
    rows_ += rows;
    std::ranges::copy(d.bytes(), d_.codes.bytes().begin() + static_cast<std::ptrdiff_t>(batch * d.bytes().size()));
    return rows == matrices_.m && !interrupted;
  }

  const GemmCommandOptions& options_;
  const ProductMatrices& matrices_;
  const GemmPlan& plan_;
  StoredTensor d_;
  std::size_t rows_ = 0;
};

void check_options(const GemmCommandOptions& options) {
  if (options.plan.empty()) {
    throw InputError(
        "gemm: --plan: missing; right would be a plan's name, such as nvjet, or a file; or --fit, which "
        "finds one");
  }
  if (options.out.empty()) throw InputError("gemm: --out: missing; right would be a file to write");
  require_different(
      {{"--out", options.out}},
      {{"--a", options.a}, {"--b", options.b}, {"--c", options.c}, {"--bias", options.bias}, {"--plan", options.plan}});
  require_writable(options.out);
}

}  // namespace

ProductMatrices read_matrices(const GemmCommandOptions& options, bool with_d) {
  const std::optional<FormatId> operands = named_format("--format", options.format);
  const bool arrays = !options.a.empty() || !options.b.empty();
  if (options.in.empty() != arrays) {
    throw InputError("gemm: right would be either --in FILE, or --a A.npy and --b B.npy");
  }
  if (!arrays) {
    if (!options.c.empty() || !options.bias.empty() || !options.d.empty())
      throw InputError("gemm: --c, --bias and --d go with --a and --b; right would be all of it in --in's file");
    ProductRequest request;
    if (with_d) request.required = {"D"};
    if (operands) request.formats = {{"A", *operands}, {"B", *operands}};
    return read_product(MatrixFile(options.in), request);
  }
  std::vector<NpyOperand> files;
  const auto add = [&](const char* name, const char* option, const std::string& path, std::optional<FormatId> id,
                       bool required) {
    if (path.empty() && required)
      throw InputError(fmt::format("gemm: {}: missing; right would be a .npy file", option));
    if (!path.empty()) files.push_back({name, path, id});
  };
  add("A", "--a", options.a, operands, true);
  add("B", "--b", options.b, operands, true);
  add("C", "--c", options.c, std::nullopt, false);
  add("bias", "--bias", options.bias, std::nullopt, false);
  if (with_d) add("D", "--d", options.d, named_format("--output", options.output), true);
  return read_product(files);
}

int run_gemm(const GemmCommandOptions& options) {
  if (options.fit) return run_gemm_fit(options);
  check_options(options);
  const ProductMatrices matrices = read_matrices(options, false);
  if (matrices.find("SA") != nullptr || matrices.find("SB") != nullptr) {
    throw InputError(
        fmt::format("{}: tensor SA or SB: plans have no scales yet; right would be operands without them, and "
                    "--alpha for the product of two scales of whole matrices",
                    options.in));
  }
  const GemmPlan plan = chosen_plan(options, matrices.find("A")->format);
  Product product(options, matrices, plan);
  const bool finished = product.compute();
  if (!finished && !options.keep_rows) {
    throw UnavailableError(fmt::format("gemm: interrupted after {} of {} rows; --keep-rows would have written them",
                                       product.rows(), matrices.batches * matrices.m));
  }
  if (options.in.empty())
    write_npy(options.out, product.d());
  else
    MatrixFile(options.in).write_with(options.out, "D", product.d());
  if (!finished) {
    throw UnavailableError(fmt::format("gemm: interrupted: {} of {} rows of {} are finished, the others are zero",
                                       product.rows(), matrices.batches * matrices.m, options.out));
  }
  return kAgreed;
}

}  // namespace tcnum
