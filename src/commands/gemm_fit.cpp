// tcnum gemm --fit: the plan behind a matrix product.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "gemm.hpp"
#include "interrupt.hpp"
#include "names.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "probes/cublaslt.hpp"
#include "src/campaign/stream.hpp"
#include "src/files/matrix_file.hpp"
#include "src/files/safetensors.hpp"
#include "src/oracles/program.hpp"
#include "src/report/gemm_fit_report.hpp"
#include "tcnum/cublaslt.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::string_view kPlan = "plan:";
constexpr std::string_view kLibrary = "cublaslt";

// --- What is asked.

/// "M×N×K" or "MxNxK".
std::array<std::size_t, 3> parse_shape(std::string_view text) {
  std::array<std::size_t, 3> shape{};
  std::string plain(text);
  for (std::size_t at = plain.find("×"); at != std::string::npos; at = plain.find("×"))
    plain.replace(at, std::string_view("×").size(), "x");
  const char* at = plain.data();
  const char* const end = plain.data() + plain.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto [stop, error] = std::from_chars(at, end, shape[i]);
    const bool separated = i + 1 == shape.size() ? stop == end : stop != end && *stop == 'x';
    if (error != std::errc{} || !separated || shape[i] == 0 || shape[i] > (std::size_t{1} << 24))
      throw InputError(fmt::format("--shape: {}; right would be M×N×K, such as 256×256×4096", text));
    at = stop + 1;
  }
  return shape;
}

/// "fp16:fp32" is A and B of fp16, D of fp32; "fp8e4m3:fp8e5m2:bf16" names all three; "+fast" is fp8's accumulation,
/// and products of fp32 by way of tf32.
struct ProductFormats {
  FormatId a, b, d;
  bool fast = false;
};
ProductFormats parse_formats(std::string_view text) {
  const std::string_view right =
      "right would be A:D or A:B:D, such as fp16:fp32, and +fast for fp8's fast accumulation or fp32 as tf32";
  ProductFormats formats{};
  std::string_view left = text;
  if (left.ends_with("+fast")) {
    formats.fast = true;
    left.remove_suffix(std::string_view("+fast").size());
  }
  std::vector<FormatId> ids;
  while (true) {
    const std::size_t end = std::min(left.find(':'), left.size());
    const auto id = find_format(left.substr(0, end));
    if (!id) throw InputError(fmt::format("--formats: {}; {}", text, right));
    ids.push_back(*id);
    if (end == left.size()) break;
    left.remove_prefix(end + 1);
  }
  if (ids.size() != 2 && ids.size() != 3) throw InputError(fmt::format("--formats: {}; {}", text, right));
  formats.a = ids[0];
  formats.b = ids[ids.size() - 2 == 0 ? 0 : 1];
  formats.d = ids.back();
  return formats;
}

/// How operands lie by columns, turned (T) or not (N): "tn", the usual ones, with k side by side; "nn", "nt", "tt".
struct OperandLayout {
  std::string name;
  bool a_k_outermost, b_k_outermost;
};
OperandLayout parse_layout(const std::string& text) {
  constexpr std::array<std::string_view, 4> kNames = {"tn", "tt", "nn", "nt"};
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end())
    throw InputError(fmt::format("--layouts: {}; right would be {}", text, fmt::join(kNames, ", ")));
  return {text, text[0] == 'n', text[1] == 't'};
}

GemmSubject subject_of(const std::string& arch, const ProductFormats& formats,
                       const std::array<std::size_t, 3>& shape) {
  return {arch, formats.a, formats.b, formats.d, shape[0], shape[1], shape[2]};
}

// --- Who answers.

StoredTensor stored(const Matrix& matrix) {
  StoredTensor tensor{matrix.format(),
                      {matrix.rows(), matrix.columns()},
                      Codes(format(matrix.format()).storage_bytes(), matrix.rows() * matrix.columns())};
  std::ranges::copy(matrix.bytes(), tensor.codes.bytes().begin());
  return tensor;
}

/// A program that is run with the names of two files: one with A and B, and the one that it is to write with D.
GemmCallable program_callable(const FileProgram& program, const GemmSubject& subject) {
  return [&program, subject](const Matrix& a, const Matrix& b) {
    const StoredTensor stored_a = stored(a), stored_b = stored(b);
    StoredTensor d;
    program.run(
        [&](const std::string& in) {
          const std::array<NamedTensor, 2> tensors = {{{"A", stored_a}, {"B", stored_b}}};
          write_matrices(in, tensors);
        },
        [&](const std::string& out) { d = MatrixFile(out).read("D", subject.d); });
    if (d.shape != std::vector<std::size_t>{subject.m, subject.n})
      throw InputError(fmt::format("{}: gave a D of {}; right would be [{}, {}]", program.command(),
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
};
FitOfOne fit_one(const GemmCommandOptions& options) {
  const GemmFitOptions fit_options{.seed = options.seed};
  if (options.from.empty()) {
    const ProductMatrices matrices = read_matrices(options, true);
    const std::string& file = options.in.empty() ? options.a : options.in;
    if (matrices.batched)
      throw InputError(fmt::format("{}: --fit: the matrices have a batch axis; right would be one product", file));
    for (const std::string_view name : {"C", "bias"}) {
      if (matrices.find(name) == nullptr) continue;
      throw InputError(fmt::format("{}: --fit takes no {}; right would be a product of A and B alone",
                                   where_is(options, name), name));
    }
    refuse_scales(options, matrices, "--fit takes no scales");
    const MatrixView a = view_of(*matrices.find("A")), b = view_of(*matrices.find("B")),
                     d = view_of(*matrices.find("D"));
    return {{options.arch, a.format(), b.format(), d.format(), a.rows(), b.columns(), a.columns()},
            said_of_file(options, [&] { return fit_gemm(options.arch, a, b, d, fit_options); })};
  }
  if (options.formats.size() != 1 || options.shapes.size() != 1)
    throw InputError(
        "--from: --formats and --shape: right would be one of each, such as --formats fp16:fp32 --shape 256×256×4096");
  const GemmSubject subject =
      subject_of(options.arch, parse_formats(options.formats[0]), parse_shape(options.shapes[0]));
  if (options.from.starts_with(kPlan)) {
    const GemmPlan plan = read_plan(options.from.substr(kPlan.size()));
    return {subject, fit_gemm(
                         subject, [&](const Matrix& a, const Matrix& b) { return gemm(plan, a, b); }, fit_options)};
  }
  if (!options.from.starts_with(kProgramPrefix))
    throw InputError(fmt::format("--from: {}; right would be exec:COMMAND, plan:FILE or cublaslt", options.from));
  const FileProgram program(options.from.substr(kProgramPrefix.size()),
                            {.time_limit = options.time_limit, .stop = &interrupted});
  const InterruptGuard guard;
  return {subject, fit_gemm(subject, program_callable(program, subject), fit_options)};
}

// --- All that cuBLASLt offers.

ordered_json algorithm_json(const LibraryAlgorithm& algorithm) {
  return {{"id", algorithm.id},
          {"tile", algorithm.tile},
          {"stages", algorithm.stages},
          {"split_k", algorithm.split_k},
          {"reduction", algorithm.reduction},
          {"swizzle", algorithm.swizzle},
          {"custom", algorithm.custom},
          {"inner_shape", algorithm.inner_shape},
          {"cluster", algorithm.cluster}};
}

bool is_fp8(FormatId id) { return format(id).floating && format(id).storage_bits == 8; }

/// A product that was asked.
struct Answered {
  Matrix a, b, d;
};

/// Whether the plan that the algorithm's attributes say gave these products: "right", "wrong", or "declined" where
/// nobody knows what they say.
std::string_view predicted(const LibraryProduct& product, const LibraryAlgorithm& algorithm, int clusters_at_once,
                           const std::vector<Answered>& answered) {
  GemmPlan plan;
  try {
    plan = cublaslt_plan({.a = product.a,
                          .b = product.b,
                          .d = product.d,
                          .k = product.k,
                          .fast_accumulation = is_fp8(product.a) && product.fast,
                          .id = algorithm.id,
                          .stages = algorithm.stages,
                          .split_k = algorithm.split_k,
                          .reduction = algorithm.reduction,
                          .custom = algorithm.custom,
                          .a_k_outermost = product.a_k_outermost,
                          .b_k_outermost = product.b_k_outermost,
                          .m = product.m,
                          .n = product.n,
                          .tile = algorithm.tile,
                          .cluster = algorithm.cluster,
                          .swizzle = algorithm.swizzle,
                          .workspace = algorithm.workspace,
                          .clusters_at_once = clusters_at_once});
  } catch (const InputError&) {
    return "declined";
  }
  const bool right = std::ranges::all_of(answered, [&](const Answered& x) { return gemm(plan, x.a, x.b) == x.d; });
  return right ? "right" : "wrong";
}

class Survey {
 public:
  explicit Survey(const GemmCommandOptions& options) : options_(options), library_(load_cublaslt()) {}

  int run() {
    const GpuInfo gpu = gpu_info();
    json_ = {{"schema", "tcnum.gemm_survey/1"},
             {"version", TCNUM_VERSION},
             {"source",
              {{"kind", "cublaslt"},
               {"library", library_->version()},
               {"device", gpu.device},
               {"driver", gpu.driver},
               {"cuda", gpu.cuda},
               {"date", today_utc()}}},
             {"cases", ordered_json::array()}};
    std::vector<std::tuple<ProductFormats, std::array<std::size_t, 3>, OperandLayout>> wanted;
    const std::vector<std::string> usual = {"tn"};
    for (const std::string& formats : options_.formats) {
      for (const std::string& shape : options_.shapes) {
        for (const std::string& layout : options_.layouts.empty() ? usual : options_.layouts)
          wanted.emplace_back(parse_formats(formats), parse_shape(shape), parse_layout(layout));
      }
    }
    const InterruptGuard guard;
    for (const auto& [formats, shape, layout] : wanted) {
      if (!interrupted) survey(formats, shape, layout, wanted.size());
    }
    progress_.clear();
    say(fmt::format(
        "{} algorithms of {} products{}: {} identified, {} ambiguous, {} unexplained, {} refused; {} elements "
        "compared, {} not as the plan says; the attributes say the plan of {}, another of {}\n",
        cases_, products_, interrupted ? " (interrupted)" : "", counts_[0], counts_[1], counts_[2], refused_, elements_,
        mismatches_, predictions_["right"], predictions_["wrong"]));
    json_["interrupted"] = interrupted.load();
    json_["totals"] = {{"products", products_},   {"cases", cases_},           {"identified", counts_[0]},
                       {"ambiguous", counts_[1]}, {"unexplained", counts_[2]}, {"refused", refused_},
                       {"elements", elements_},   {"mismatches", mismatches_}, {"predicted", predictions_}};
    if (!options_.json.empty()) write_json(options_.json, json_);
    return counts_[2] == 0 ? kAgreed : kDisagreed;
  }

 private:
  struct Refused {};
  struct Fitted {
    std::vector<Answered> answered;
    GemmFit fit;
  };

  void survey(const ProductFormats& formats, const std::array<std::size_t, 3>& shape, const OperandLayout& layout,
              std::size_t of_products) {
    const GemmSubject subject = subject_of(options_.arch, formats, shape);
    const LibraryProduct product = {.a = formats.a,
                                    .b = formats.b,
                                    .d = formats.d,
                                    .m = shape[0],
                                    .n = shape[1],
                                    .k = shape[2],
                                    .fast = formats.fast,
                                    .a_k_outermost = layout.a_k_outermost,
                                    .b_k_outermost = layout.b_k_outermost};
    ++products_;
    const std::vector<LibraryAlgorithm> algorithms =
        library_->algorithms(product, static_cast<int>(options_.algorithms));
    if (algorithms.empty()) return;
    const GemmFitter fitter(subject);
    std::vector<Fitted> fitted;
    for (const LibraryAlgorithm& algorithm : algorithms) {
      if (interrupted) return;
      progress_.show(fmt::format("fitting: product {} of {}, {} algorithms fitted", products_, of_products, cases_));
      try {
        const Fitted& found = fit(fitter, product, algorithm, fitted);
        count(found.fit);
        const int at_once = clusters_at_once(algorithm);
        const std::string_view prediction = predicted(product, algorithm, at_once, found.answered);
        ++predictions_[std::string(prediction)];
        ordered_json attributes = algorithm_json(algorithm);
        if (at_once != 0) {
          attributes["workspace"] = algorithm.workspace;
          attributes["clusters_at_once"] = at_once;
        }
        attributes["predicted"] = prediction;
        add(entry_of(found, subject, formats, layout), std::move(attributes));
      } catch (const Refused&) {
        ++refused_;
      }
    }
  }

  /// What the device has room for, which decides how an algorithm divides k where it says no number of parts; else 0.
  int clusters_at_once(const LibraryAlgorithm& algorithm) const {
    const auto tile = cublaslt_tile(algorithm.tile, algorithm.cluster);
    if (algorithm.split_k >= 0 || !tile) return 0;
    return library_->clusters_at_once(tile->cluster_rows * tile->cluster_columns);
  }

  /// The fit of an algorithm, with all that it answered. One that answers as another did has its plan: a fit asks the
  /// same again after the same answers.
  const Fitted& fit(const GemmFitter& fitter, const LibraryProduct& product, const LibraryAlgorithm& algorithm,
                    std::vector<Fitted>& fitted) {
    const auto multiply = [&](const Matrix& a, const Matrix& b) {
      Matrix d(product.d, product.m, product.n);
      if (!library_->multiply(product, algorithm, a.bytes(), b.bytes(), d.bytes())) throw Refused();
      return d;
    };
    const auto same = std::ranges::find_if(fitted, [&](const Fitted& other) {
      return std::ranges::all_of(other.answered, [&](const Answered& x) { return multiply(x.a, x.b) == x.d; });
    });
    if (same != fitted.end()) return *same;
    std::vector<Answered> answered;
    GemmFit found = fitter.fit(
        [&](const Matrix& a, const Matrix& b) {
          return answered.emplace_back(Answered{a, b, multiply(a, b)}).d;
        },
        {.seed = options_.seed});
    return fitted.emplace_back(Fitted{std::move(answered), std::move(found)});
  }

  void count(const GemmFit& fit) {
    ++cases_;
    ++counts_[static_cast<std::size_t>(fit.verdict)];
    elements_ += fit.elements;
    mismatches_ += fit.mismatches;
  }

  static ordered_json entry_of(const Fitted& found, const GemmSubject& subject, const ProductFormats& formats,
                               const OperandLayout& layout) {
    ordered_json entry = gemm_fit_json(found.fit, subject);
    entry["fast_accumulation"] = is_fp8(formats.a) && formats.fast;
    if (formats.a == FormatId::fp32) entry["fast_tf32"] = formats.fast;
    entry["layout"] = layout.name;
    for (std::size_t i = 0; i < found.answered.size(); ++i)
      entry["asked"][i]["digest"] = fmt::format("{:#018x}", digest(found.answered[i].d.codes(), 0));
    return entry;
  }

  /// Algorithms that gave the same bits are one entry.
  void add(ordered_json entry, ordered_json algorithm) {
    ordered_json& cases = json_["cases"];
    const auto [place, is_new] = places_.try_emplace(entry.dump(), cases.size());
    if (is_new) {
      entry["algorithms"] = ordered_json::array();
      cases.push_back(std::move(entry));
    }
    cases[place->second]["algorithms"].push_back(std::move(algorithm));
  }

  const GemmCommandOptions& options_;
  std::unique_ptr<CublasLt> library_;
  ordered_json json_;
  std::size_t products_ = 0, cases_ = 0, refused_ = 0, elements_ = 0, mismatches_ = 0;
  std::array<std::size_t, 3> counts_{};
  std::map<std::string, std::size_t> predictions_;
  ProgressLine progress_;
  std::map<std::string, std::size_t> places_;  ///< of entries among the cases, by all that they say but the algorithms
};

}  // namespace

int run_gemm_fit(const GemmCommandOptions& options) {
  if (!options.plan.empty() || !options.out.empty())
    throw InputError("gemm: --fit finds a plan; right would be no --plan and no --out");
  if (!options.json.empty()) require_writable(options.json);
  if (options.from == kLibrary) return Survey(options).run();
  const auto& [subject, fit] = fit_one(options);
  if (options.json != "-") say(gemm_fit_text(fit, subject));
  if (!options.json.empty()) {
    write_json(options.json, gemm_fit_document(fit, subject));
  }
  return fit.verdict == Verdict::unexplained ? kDisagreed : kAgreed;
}

}  // namespace tcnum
