// tcnum gemm fit: the plan behind a matrix product.
#include <fmt/ranges.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "gemm.hpp"
#include "interrupt.hpp"
#include "names.hpp"
#include "src/files/matrix_file.hpp"
#include "src/files/safetensors.hpp"
#include "src/oracles/program.hpp"
#include "src/report/gemm_report.hpp"
#include "tcnum/epilogue_fit.hpp"

namespace tcnum {

// --- Products that are asked for

namespace {

/// "M×N×K" or "MxNxK".
std::array<std::size_t, 3> parse_shape(const std::string& text) {
  std::string plain = text;
  for (std::size_t at = plain.find("×"); at != plain.npos; at = plain.find("×"))
    plain.replace(at, std::string_view("×").size(), "x");
  const std::vector<std::string> parts = split(plain, 'x');
  std::array<std::size_t, 3> shape{};
  if (parts.size() != shape.size())
    throw InputError(fmt::format("--shape: {}; expected M×N×K, such as 256×256×4096", text));
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = parse_whole("--shape", parts[i], 1, 1 << 24);
  return shape;
}

ProductFormats parse_formats(const std::string& text) {
  const std::string fast = "+fast";
  const bool is_fast = text.ends_with(fast);
  std::vector<std::optional<FormatId>> ids;
  for (const std::string& name : split(text.substr(0, text.size() - (is_fast ? fast.size() : 0)), ':'))
    ids.push_back(find_format(name));
  if ((ids.size() != 2 && ids.size() != 3) || std::find(ids.begin(), ids.end(), std::nullopt) != ids.end()) {
    throw InputError(
        fmt::format("--formats: {}; expected A:D or A:B:D, such as fp16:fp32, and +fast for fp8's fast accumulation or "
                    "fp32 as tf32",
                    text));
  }
  return {*ids[0], *ids[ids.size() - 2], *ids.back(), is_fast};
}

OperandLayout parse_layout(const std::string& text) {
  constexpr std::array<std::string_view, 4> kNames = {"tn", "tt", "nn", "nt"};
  constexpr std::size_t kMostBetween = 1 << 16;
  const std::vector<std::string> parts = split(text, '+');
  if (std::ranges::find(kNames, parts[0]) == kNames.end() || parts.size() > 2) {
    throw InputError(fmt::format("--layouts: {}; expected {}, or one with a gap between columns: nt+8", text,
                                 fmt::join(kNames, ", ")));
  }
  const std::size_t gap = parts.size() == 1 ? 0 : parse_whole("--layouts", parts[1], 1, kMostBetween);
  return {text, text[0] == 'n', text[1] == 't', gap};
}

}  // namespace

std::vector<AskedShape> asked_shapes(const GemmCommandOptions& options) {
  const std::vector<std::string> usual = {"tn"};
  std::vector<AskedShape> asked;
  for (const std::string& formats : options.formats) {
    for (const std::string& shape : options.shapes) {
      for (const std::string& layout : options.layouts.empty() ? usual : options.layouts)
        asked.push_back({parse_formats(formats), parse_shape(shape), parse_layout(layout)});
    }
  }
  return asked;
}

// --- The fit

namespace {

constexpr std::string_view kPlan = "plan:";
constexpr std::string_view kLibrary = "cublaslt";

// --- Who answers.

StoredTensor stored(const Matrix& matrix) {
  StoredTensor tensor{matrix.format(),
                      {matrix.rows(), matrix.columns()},
                      Codes(format(matrix.format()).storage_bytes(), matrix.rows() * matrix.columns())};
  std::ranges::copy(matrix.bytes(), tensor.codes.bytes().begin());
  return tensor;
}

StoredTensor stored(double number) {
  StoredTensor tensor{FormatId::fp64, {1}, Codes(format(FormatId::fp64).storage_bytes(), 1)};
  tensor.codes.set(0, std::bit_cast<std::uint64_t>(number));
  return tensor;
}

/// A program that is run with the names of two files: one with A and B, and what comes to their product, and the one
/// that it is to write with D.
EpilogueCallable by_program(const FileProgram& program, const GemmSubject& subject) {
  return [&program, subject](const EpilogueProduct& product) {
    std::vector<StoredTensor> tensors;
    std::vector<std::string> names;
    const auto add = [&](const char* name, StoredTensor tensor) {
      names.emplace_back(name);
      tensors.push_back(std::move(tensor));
    };
    add("A", stored(product.a));
    add("B", stored(product.b));
    if (product.alpha != 1) add("alpha", stored(product.alpha));
    if (product.c) {
      add("C", stored(*product.c));
      add("beta", stored(product.beta));
    }
    if (product.bias) {
      add("bias", stored(*product.bias));
      tensors.back().shape = {product.bias->columns()};
    }
    StoredTensor d;
    program.run(
        [&](const std::string& in) {
          std::vector<NamedTensor> named;
          for (std::size_t i = 0; i < tensors.size(); ++i) named.push_back({names[i], tensors[i]});
          write_matrices(in, named);
        },
        [&](const std::string& out) { d = MatrixFile(out).read("D", subject.d); });
    if (d.shape != std::vector<std::size_t>{subject.m, subject.n})
      throw InputError(fmt::format("{}: gave a D of {}; expected [{}, {}]", program.command(),
                                   fmt::join(d.shape, " × "), subject.m, subject.n));
    Matrix result(subject.d, subject.m, subject.n);
    const MatrixView view = view_of(d);
    for (std::size_t i = 0; i < subject.m; ++i) {
      for (std::size_t j = 0; j < subject.n; ++j)
        result.set(i, j, d.codes[view.layout() == Layout::row_major ? i * subject.n + j : j * subject.m + i]);
    }
    return result;
  };
}

// --- One product.

struct FitOfOne {
  GemmSubject subject;
  GemmFit fit;
  std::optional<EpilogueFit> epilogue;
};

FitOfOne fit_files(const GemmCommandOptions& options, const GemmFitOptions& fit_options) {
  const ProductMatrices matrices = read_matrices(options, true);
  const std::string& file = options.in.empty() ? options.a : options.in;
  if (matrices.batched)
    throw InputError(fmt::format("{}: --fit: the matrices have a batch axis; expected one product", file));
  for (const std::string_view name : {"C", "bias"}) {
    if (matrices.find(name) == nullptr) continue;
    throw InputError(
        fmt::format("{}: --fit takes no {}; expected a product of A and B alone", where_is(options, name), name));
  }
  refuse_scales(options, matrices, "--fit takes no scales");
  const MatrixView a = view_of(*matrices.find("A")), b = view_of(*matrices.find("B")), d = view_of(*matrices.find("D"));
  return {{options.arch, a.format(), b.format(), d.format(), a.rows(), b.columns(), a.columns()},
          said_of_file(options, [&] { return fit_gemm(options.arch, a, b, d, fit_options); }),
          {}};
}

FitOfOne fit_multiplier(const GemmSubject& subject, const EpilogueCallable& multiply, bool with_epilogue,
                        const GemmFitOptions& options) {
  FitOfOne found = {subject,
                    fit_gemm(
                        subject, [&](const Matrix& a, const Matrix& b) { return multiply({.a = a, .b = b}); }, options),
                    {}};
  if (with_epilogue && found.fit.verdict != Verdict::unexplained)
    found.epilogue = fit_epilogue(subject, found.fit.plan, multiply, {.c = subject.d, .bias = subject.d}, options);
  return found;
}

FitOfOne fit_one(const GemmCommandOptions& options) {
  const ProgressLine progress("making the plans to compare");
  const GemmFitOptions fit_options{.seed = options.seed, .progress = [&](const FitProgress& at) {
                                     progress.show(progress_text(at));
                                     return true;
                                   }};
  if (options.from.empty()) return fit_files(options, fit_options);
  if (options.formats.size() != 1 || options.shapes.size() != 1)
    throw InputError(
        "--from: --formats and --shape: expected one of each, such as --formats fp16:fp32 --shape 256×256×4096");
  const GemmSubject subject = asked_shapes(options).at(0).subject(options.arch);
  const auto said = [&](EpilogueCallable multiply) -> EpilogueCallable {
    return [&progress, multiply = std::move(multiply), count = 0](const EpilogueProduct& product) mutable {
      progress.show(fmt::format("waiting for product {}", ++count));
      return multiply(product);
    };
  };
  if (options.from.starts_with(kPlan)) {
    const GemmPlan plan = read_plan(options.from.substr(kPlan.size()));
    return fit_multiplier(subject, said([&](const EpilogueProduct& product) { return gemm(plan, product); }),
                          options.epilogue, fit_options);
  }
  if (!options.from.starts_with(kProgramPrefix))
    throw InputError(fmt::format("--from: {}; expected exec:COMMAND, plan:FILE or cublaslt", options.from));
  const FileProgram program(options.from.substr(kProgramPrefix.size()),
                            {.time_limit = options.time_limit, .stop = &interrupted});
  const InterruptGuard guard;
  return fit_multiplier(subject, said(by_program(program, subject)), options.epilogue, fit_options);
}

}  // namespace

int run_gemm_fit(const GemmCommandOptions& options) {
  require_writable(options.json);
  if (options.from == kLibrary) return run_library_survey(options);
  const auto& [subject, fit, epilogue] = fit_one(options);
  report(options.json, gemm_fit_text(fit, subject) + (epilogue ? epilogue_fit_text(*epilogue, subject) : ""),
         gemm_fit_document(fit, subject, epilogue ? &*epilogue : nullptr));
  const bool unexplained =
      fit.verdict == Verdict::unexplained || (epilogue && epilogue->verdict == Verdict::unexplained);
  return unexplained ? kDisagreed : kAgreed;
}

}  // namespace tcnum
