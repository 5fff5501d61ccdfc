// tcnum gemm: a whole matrix product with the bits of a kernel's plan, or how far one is from the exact product.
#include "gemm.hpp"

#include "interrupt.hpp"
#include "names.hpp"
#include "records.hpp"
#include "src/files/matrix_file.hpp"
#include "src/report/gemm_report.hpp"

namespace tcnum {
namespace {

std::optional<FormatId> named_format(std::string_view option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  return parse_any_format(option, text);
}

constexpr std::array<std::string_view, 2> kScales = {"SA", "SB"};

/// A tensor in a file of its own.
struct ArrayOption {
  std::string_view tensor;
  const std::string& path;
};
std::vector<ArrayOption> array_options(const GemmCommandOptions& o) {
  return {{"A", o.a},
          {"B", o.b},
          {"C", o.c},
          {"bias", o.bias},
          {"SA", o.scale_a},
          {"SB", o.scale_b},
          {"exact_A", o.exact_a},
          {"exact_B", o.exact_b},
          {"D", o.d}};
}

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
      : options_(options), matrices_(matrices), plan_(plan) {
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
    const BatchInputs inputs(matrices_, batch);
    const Processor processor = options_.processor == "gpu" ? Processor::gpu : Processor::cpu;
    Matrix d(plan_.output, matrices_.m, matrices_.n);
    const std::size_t before = rows_;
    const auto show = [&](std::size_t done) {
      progress.show(before + done);
      return !interrupted.load();
    };
    const std::size_t rows = said_of_file(options_, [&] {
      try {
        return gemm_into(d, plan_, inputs.a(), inputs.b(), inputs.others(options_.alpha, options_.beta),
                         {.processor = processor, .progress = show});
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
  StoredTensor d_;
  std::size_t rows_ = 0;
};

/// Refuses options of another job of `tcnum gemm`.
void check_job(const GemmCommandOptions& o) {
  struct Rule {
    bool is_broken;
    std::string_view text;
  };
  const Rule rules[] = {
      {o.fit && o.error, "--fit excludes --error"},
      {o.fit && !o.plan.empty(), "--fit excludes --plan"},
      {!o.d.empty() && !o.plan.empty(), "--d excludes --plan"},
      {!o.from.empty() && !o.fit, "--from requires --fit"},
      {o.epilogue && o.from.empty(), "--epilogue requires --from"},
      {!o.error && (!o.exact_a.empty() || !o.exact_b.empty()), "--exact-a and --exact-b require --error"},
  };
  const auto broken = std::ranges::find_if(rules, &Rule::is_broken);
  if (broken != std::end(rules)) throw InputError(fmt::format("gemm: {}", broken->text));
}

void check_options(const GemmCommandOptions& options) {
  if (options.plan.empty() && !options.error) {
    throw InputError(
        "gemm: --plan: missing; expected a plan's name, such as nvjet, or a file; or `gemm fit`, "
        "which finds one; or `gemm error`, with a D");
  }
  if (!options.json.empty() && !options.error)
    throw InputError("gemm: --json: a product has no report; expected `gemm error` or `gemm fit`");
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
  if (!product.compute()) {
    throw UnavailableError(
        fmt::format("gemm: interrupted after {} of {} rows", product.rows(), matrices.batches * matrices.m));
  }
  if (options.out.empty()) return std::move(product.d());
  if (options.in.empty())
    write_npy(options.out, product.d());
  else
    MatrixFile(options.in).write_with(options.out, "D", product.d());
  return std::move(product.d());
}

}  // namespace

ProductMatrices read_matrices(const GemmCommandOptions& options, bool with_d) {
  const std::optional<FormatId> operands = named_format("--format", options.format),
                                scales = named_format("--scale-format", options.scale_format);
  if (options.in.empty() && options.a.empty())
    throw InputError("gemm: expected either --in FILE, or --a A.npy and --b B.npy");
  if (!options.in.empty()) {
    for (const auto& [tensor, path] : array_options(options)) {
      if (!path.empty()) throw InputError(fmt::format("gemm: {}: {} in a file of its own, beside --in", path, tensor));
    }
    ProductRequest request;
    if (options.error) request.optional.insert(request.optional.end(), {"exact_A", "exact_B"});
    if (scales) request.formats = {{"SA", *scales}, {"SB", *scales}};
    if (with_d) request.required = {"D"};
    if (operands) request.formats.insert({{"A", *operands}, {"B", *operands}});
    return read_product(MatrixFile(options.in), request);
  }
  std::vector<NpyOperand> files;
  for (const ArrayOption& each : array_options(options)) {
    const std::string_view name = each.tensor;
    if (each.path.empty() || (name == "D" && !with_d)) continue;
    const bool is_factor = name == "A" || name == "B", is_scale = name == "SA" || name == "SB";
    files.push_back({std::string(name), each.path,
                     is_factor     ? operands
                     : is_scale    ? scales
                     : name == "D" ? named_format("--output", options.output)
                                   : std::nullopt});
  }
  if (with_d && options.d.empty()) throw InputError("gemm: --d: missing; expected a .npy file");
  return read_product(files);
}

std::string where_is(const GemmCommandOptions& options, std::string_view tensor) {
  if (!options.in.empty()) return fmt::format("{}: tensor {}", options.in, tensor);
  const auto arrays = array_options(options);
  return std::ranges::find(arrays, tensor, &ArrayOption::tensor)->path;
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

BatchInputs::BatchInputs(const ProductMatrices& matrices, std::size_t batch) {
  for (const auto& [name, tensor] : matrices.tensors) views_.emplace(name, view_of(tensor, batch));
}

const MatrixView* BatchInputs::find(std::string_view name) const {
  const auto found = views_.find(name);
  return found == views_.end() ? nullptr : &found->second;
}

GemmInputs BatchInputs::others(double alpha, std::optional<double> beta) const {
  return {.c = find("C"),
          .bias = find("bias"),
          .alpha = alpha,
          .beta = beta,
          .a_scales = find("SA"),
          .b_scales = find("SB")};
}

ErrorReference BatchInputs::reference(const GemmPlan* plan) const {
  return {.exact_a = find("exact_A"),
          .exact_b = find("exact_B"),
          .scale_block = plan == nullptr ? 0 : plan->promote_every.value_or(0)};
}

int run_gemm(const GemmCommandOptions& options) {
  check_job(options);
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

// --- The error

int report_error(const GemmCommandOptions& options, const ProductMatrices& matrices, const StoredTensor& d,
                 const GemmPlan* plan) {
  const std::size_t rows = matrices.batches * matrices.m;
  const RowsProgress progress("comparing", rows);
  ErrorReport errors;
  for (std::size_t batch = 0; batch < matrices.batches; ++batch) {
    const BatchInputs inputs(matrices, batch);
    const std::size_t before = errors.rows;
    const auto show = [&](std::size_t done) {
      progress.show(before + done);
      return !interrupted.load();
    };
    errors.add(said_of_file(options,
                            [&] {
                              return error_of(view_of(d, batch), inputs.a(), inputs.b(),
                                              inputs.others(options.alpha, options.beta), {.progress = show},
                                              inputs.reference(plan));
                            }),
               batch);
    if (interrupted)
      throw UnavailableError(fmt::format("gemm: interrupted after comparing {} of {} rows", errors.rows, rows));
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
  report(options.json, gemm_error_text(errors, compared), gemm_error_document(errors, compared));
  return kAgreed;
}

}  // namespace tcnum
