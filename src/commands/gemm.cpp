// tcnum gemm: a whole matrix product with the bits of a kernel's plan.
#include "gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "interrupt.hpp"
#include "names.hpp"
#include "output.hpp"
#include "records.hpp"
#include "src/files/matrix_file.hpp"
#include "tcnum/error.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {
namespace {

std::optional<FormatId> named_format(std::string_view option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  return parse_any_format(option, text);
}

Processor chosen_processor(const GemmCommandOptions& options) {
  if (options.processor.empty() || options.processor == "cpu") return Processor::cpu;
  if (options.processor == "gpu") return Processor::gpu;
  throw InputError(fmt::format("gemm: --processor: {} is unknown; expected cpu or gpu", options.processor));
}

constexpr std::array<std::string_view, 2> kScales = {"SA", "SB"};

/// The shapes are right; what is left is whether the plan has a use for them.
void check_scales(const GemmCommandOptions& options, const ProductMatrices& matrices, const GemmPlan& plan) {
  for (const std::string_view name : kScales) {
    const StoredTensor* const tensor = matrices.find(name);
    if (tensor == nullptr) continue;
    if (tensor->format != FormatId::fp32) {
      throw InputError(
          fmt::format("{}: scales of {}, as instructions with block scales have them, and no plan is of one; "
                      "expected fp32",
                      where_is(options, name), format(tensor->format).name));
    }
    const std::size_t parts = std::max<std::size_t>(matrices.scale_parts, 1);
    const std::size_t every = plan.promote_every.value_or(matrices.k), promotions = (matrices.k + every - 1) / every;
    if (parts == 1 || parts == promotions) continue;
    throw InputError(fmt::format("{}: {} parts of K; expected 1{}", where_is(options, name), parts,
                                 plan.promote_every
                                     ? fmt::format(", or {} of {} each, as the plan promotes them", promotions, every)
                                     : ", as the plan has no promote_every"));
  }
}

/// All batches, one after the other, as one tensor.
class Product {
 public:
  Product(const GemmCommandOptions& options, const ProductMatrices& matrices, const GemmPlan& plan)
      : options_(options), matrices_(matrices), plan_(plan), processor_(chosen_processor(options)) {
    d_.format = plan.output;
    d_.shape = {matrices.m, matrices.n};
    if (matrices.batched) d_.shape.insert(d_.shape.begin(), matrices.batches);
  }

  /// Returns whether it was finished, and not interrupted.
  bool compute() {
    const RowsProgress progress("multiplying", matrices_.batches * matrices_.m);
    if (matrices_.batches > 1)
      d_.codes = Codes(format(plan_.output).storage_bytes(), matrices_.batches * matrices_.m * matrices_.n);
    for (std::size_t batch = 0; batch < matrices_.batches; ++batch) {
      if (!compute(batch, progress)) return false;
    }
    return true;
  }
  StoredTensor& d() { return d_; }
  std::size_t rows() const { return rows_; }

 private:
  bool compute(std::size_t batch, const RowsProgress& progress) {
    const BatchInputs inputs(options_, matrices_, batch);
    Matrix d(plan_.output, matrices_.m, matrices_.n);
    const std::size_t before = rows_;
    const auto show = [&](std::size_t done) {
      progress.show(before + done);
      return !interrupted.load();
    };
    const std::size_t rows = said_of_file(options_, [&] {
      try {
        return gemm_into(d, plan_, inputs.a(), inputs.b(), inputs.others(),
                         {.processor = processor_, .progress = show});
      } catch (const UnavailableError& error) {  // nothing but a GPU's
        throw UnavailableError(fmt::format("gemm: --processor {}: {}", options_.processor, error.what()));
      }
    });
    rows_ += rows;
    if (matrices_.batches == 1)
      d_.codes = std::move(d).codes();
    else
      std::ranges::copy(d.bytes(), d_.codes.bytes().begin() + static_cast<std::ptrdiff_t>(batch * d.bytes().size()));
    return rows == matrices_.m && !interrupted;
  }

  const GemmCommandOptions& options_;
  const ProductMatrices& matrices_;
  const GemmPlan& plan_;
  Processor processor_;
  StoredTensor d_;
  std::size_t rows_ = 0;
};

void check_options(const GemmCommandOptions& options) {
  if (options.plan.empty() && !options.error) {
    throw InputError(
        "gemm: --plan: missing; expected a plan's name, such as nvjet, or a file; or --fit, which "
        "finds one; or --error, with a D");
  }
  if (options.plan.empty() && !options.out.empty())
    throw InputError("gemm: --out: without --plan there is nothing to write; expected both, or neither");
  if (!options.plan.empty() && !options.d.empty())
    throw InputError("gemm: --d: --plan makes a D of its own; expected one of the two");
  if (options.plan.empty() && !options.processor.empty())
    throw InputError("gemm: --processor: without --plan nothing is multiplied; expected both, or neither");
  chosen_processor(options);  // is one
  if (!options.json.empty() && !options.error)
    throw InputError("gemm: --json: a product has no report; expected --error or --fit beside it");
  if (options.out.empty() && !options.error) throw InputError("gemm: --out: missing; expected a file to write");
  require_no_stdout({"--out", options.out});
  constexpr std::string_view kArray = ".npy";
  if (!options.in.empty() && options.out.ends_with(kArray)) {
    throw InputError(fmt::format("--out: {}; expected a name such as d{}, as --in's tensors are written with D",
                                 options.out, kVectorFileExtension));
  }
  if (options.in.empty() && options.out.ends_with(kVectorFileExtension))
    throw InputError(fmt::format("--out: {}; expected a name such as d{}, as --a is", options.out, kArray));
  if (!options.out.empty()) require_writable(options.out);
  if (!options.json.empty()) require_writable(options.json);
}

/// D by the plan, which is written if it is to be; all of it is there if this returns.
StoredTensor multiply(const GemmCommandOptions& options, const ProductMatrices& matrices, const GemmPlan& plan) {
  Product product(options, matrices, plan);
  const bool finished = product.compute();
  const std::size_t rows = matrices.batches * matrices.m;
  if (!finished && (!options.keep_rows || options.out.empty())) {
    throw UnavailableError(fmt::format(
        "gemm: interrupted after {} of {} rows; --out with --keep-rows would have written them", product.rows(), rows));
  }
  if (options.out.empty()) return std::move(product.d());
  if (options.in.empty())
    write_npy(options.out, product.d());
  else
    MatrixFile(options.in).write_with(options.out, "D", product.d());
  if (!finished) {
    throw UnavailableError(fmt::format("gemm: interrupted: {} of {} rows of {} are finished, the others are zero",
                                       product.rows(), rows, options.out));
  }
  return std::move(product.d());
}

}  // namespace

ProductMatrices read_matrices(const GemmCommandOptions& options, bool with_d) {
  const std::optional<FormatId> operands = named_format("--format", options.format),
                                scales = named_format("--scale-format", options.scale_format);
  const bool arrays = !options.a.empty() || !options.b.empty();
  if (options.in.empty() != arrays) {
    throw InputError("gemm: expected either --in FILE, or --a A.npy and --b B.npy");
  }
  if (!arrays) {
    for (const std::string* const each : {&options.c, &options.bias, &options.d, &options.scale_a, &options.scale_b,
                                          &options.exact_a, &options.exact_b}) {
      if (each->empty()) continue;
      throw InputError(
          "gemm: --c, --bias, --scale-a, --scale-b, --exact-a, --exact-b and --d go with --a and --b; expected "
          "all of it in --in's file");
    }
    ProductRequest request;
    if (options.error) request.optional.insert(request.optional.end(), {"exact_A", "exact_B"});
    if (scales) request.formats = {{"SA", *scales}, {"SB", *scales}};
    if (with_d) request.required = {"D"};
    if (operands) request.formats.insert({{"A", *operands}, {"B", *operands}});
    return read_product(MatrixFile(options.in), request);
  }
  std::vector<NpyOperand> files;
  const auto add = [&](const char* name, const char* option, const std::string& path, std::optional<FormatId> id,
                       bool required) {
    if (path.empty() && required) throw InputError(fmt::format("gemm: {}: missing; expected a .npy file", option));
    if (!path.empty()) files.push_back({name, path, id});
  };
  add("A", "--a", options.a, operands, true);
  add("B", "--b", options.b, operands, true);
  add("C", "--c", options.c, std::nullopt, false);
  add("bias", "--bias", options.bias, std::nullopt, false);
  add("SA", "--scale-a", options.scale_a, scales, false);
  add("SB", "--scale-b", options.scale_b, scales, false);
  add("exact_A", "--exact-a", options.exact_a, std::nullopt, false);
  add("exact_B", "--exact-b", options.exact_b, std::nullopt, false);
  if (with_d) add("D", "--d", options.d, named_format("--output", options.output), true);
  return read_product(files);
}

std::string where_is(const GemmCommandOptions& options, std::string_view tensor) {
  if (!options.in.empty()) return fmt::format("{}: tensor {}", options.in, tensor);
  const std::map<std::string_view, const std::string*> files = {{"A", &options.a},        {"B", &options.b},
                                                                {"C", &options.c},        {"bias", &options.bias},
                                                                {"SA", &options.scale_a}, {"SB", &options.scale_b}};
  return *files.at(tensor);
}

void refuse_scales(const GemmCommandOptions& options, const ProductMatrices& matrices, std::string_view why) {
  for (const std::string_view tensor : kScales) {
    if (matrices.find(tensor) != nullptr)
      throw InputError(fmt::format("{}: {}; expected operands without scales", where_is(options, tensor), why));
  }
}

void RowsProgress::show(std::size_t done) const {
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  if (done == 0 || seconds < 1) return;
  const double rate = static_cast<double>(done) / seconds;
  line_.show(fmt::format("{}: {} of {} rows, {:.3g} rows/s, {:.0f} s left", doing_, done, rows_, rate,
                         static_cast<double>(rows_ - done) / rate));
}

BatchInputs::BatchInputs(const GemmCommandOptions& options, const ProductMatrices& matrices, std::size_t batch)
    : options_(options) {
  const auto view = [&](std::string_view name) -> std::optional<MatrixView> {
    const StoredTensor* const tensor = matrices.find(name);
    return tensor == nullptr ? std::nullopt : std::optional(view_of(*tensor, batch));
  };
  a_ = view("A");
  b_ = view("B");
  c_ = view("C");
  bias_ = view("bias");
  a_scales_ = view("SA");
  b_scales_ = view("SB");
  exact_a_ = view("exact_A");
  exact_b_ = view("exact_B");
}

GemmInputs BatchInputs::others() const {
  return {.c = c_ ? &*c_ : nullptr,
          .bias = bias_ ? &*bias_ : nullptr,
          .alpha = options_.alpha,
          .beta = options_.beta,
          .a_scales = a_scales_ ? &*a_scales_ : nullptr,
          .b_scales = b_scales_ ? &*b_scales_ : nullptr};
}

ErrorReference BatchInputs::reference(const GemmPlan* plan) const {
  return {.exact_a = exact_a_ ? &*exact_a_ : nullptr,
          .exact_b = exact_b_ ? &*exact_b_ : nullptr,
          .scale_block = plan == nullptr ? 0 : plan->promote_every.value_or(0)};
}

int run_gemm(const GemmCommandOptions& options) {
  if (options.fit && options.error) throw InputError("gemm: --fit and --error: expected one of the two");
  if (options.fit && !options.processor.empty())
    throw InputError("gemm: --processor: --fit multiplies on the CPU; expected --plan beside it, or neither");
  if (!options.error && !(options.exact_a.empty() && options.exact_b.empty()))
    throw InputError("gemm: --exact-a and --exact-b: nothing is compared with them; expected --error beside them");
  if (options.fit) return run_gemm_fit(options);
  check_options(options);
  const bool is_given = options.plan.empty();
  const ProductMatrices matrices = read_matrices(options, is_given);
  const InterruptGuard guard;
  if (is_given) return report_error(options, matrices, *matrices.find("D"), nullptr);
  const GemmPlan plan = parse_plan(options.plan, matrices.find("A")->format, named_format("--output", options.output));
  check_scales(options, matrices, plan);
  const StoredTensor d = multiply(options, matrices, plan);
  return options.error ? report_error(options, matrices, d, &plan) : kAgreed;
}

}  // namespace tcnum
