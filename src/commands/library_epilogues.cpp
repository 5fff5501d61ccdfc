// tcnum gemm --fit --from cublaslt --epilogue: what all algorithms that the library offers do with alpha, C and a bias,
// and whether their plans say so.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "interrupt.hpp"
#include "library_products.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "src/questions/stream.hpp"
#include "tcnum/epilogue_fit.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

/// What the library takes of C and of a bias (cuBLASLt's documentation of cublasLtMatmul()).
FormatId c_format(FormatId operands, FormatId d) {
  return format(operands).storage_bits == 8 && is_fp8(d) ? FormatId::bf16 : d;
}
FormatId bias_format(FormatId operands, FormatId d) {
  if (format(operands).storage_bits != 8) return d;
  if (!format(operands).floating) return FormatId::fp32;
  return d == FormatId::fp16 ? d : FormatId::bf16;
}

class EpilogueSurvey {
 public:
  explicit EpilogueSurvey(const GemmCommandOptions& options) : options_(options), library_(load_cublaslt()) {}

  int run() {
    json_ = {{"schema", "tcnum.epilogue_survey/1"},
             {"version", TCNUM_VERSION},
             {"source", source_json(*library_)},
             {"products", ordered_json::array()}};
    const std::vector<AskedShape> wanted = asked_shapes(options_);
    const InterruptGuard guard;
    for (const AskedShape& asked : wanted) {
      if (interrupted) break;
      survey(asked, wanted.size());
      ++products_;
    }
    progress_.clear();
    say(fmt::format(
        "{} algorithms of {} products{}, {} results: the plan gives {}, another of {}, and there is none for "
        "{}; the library refused {}\n",
        algorithms_, products_, interrupted ? " (interrupted)" : "",
        totals_["right"] + totals_["wrong"] + totals_["declined"], totals_["right"], totals_["wrong"],
        totals_["declined"], totals_["refused"]));
    json_["interrupted"] = interrupted.load();
    json_["totals"] = {{"products", products_}, {"algorithms", algorithms_}};
    json_["totals"].update(totals_);
    if (!options_.json.empty()) write_json(options_.json, json_);
    return totals_["wrong"] == 0 ? kAgreed : kDisagreed;
  }

 private:
  struct Asked {
    const EpilogueCase& of;
    EpilogueProduct product;
  };

  /// Algorithms are offered for products with a bias, or with scales, and for those without.
  void survey(const AskedShape& asked, std::size_t of_products) {
    std::optional<EpilogueOperands> operands;  // the same for all, made where algorithms are offered
    for (const bool scales : {false, true}) {
      for (const bool bias : {false, true}) {
        if (scales && !is_fp8(asked.formats.a)) continue;
        if (interrupted) return;
        progress_.show(
            fmt::format("asking: product {} of {}, {} algorithms asked", products_ + 1, of_products, algorithms_));
        survey(asked, bias, scales, operands);
      }
    }
  }
  void survey(const AskedShape& shape, bool bias, bool scales, std::optional<EpilogueOperands>& operands) {
    LibraryProduct product = library_product(shape);
    const EpilogueFormats formats = {
        .c = c_format(product.a, product.d), .bias = bias_format(product.a, product.d), .bias_of_rows = true};
    product.c = formats.c;
    if (bias) product.bias = formats.bias;
    const std::vector<LibraryAlgorithm> algorithms =
        library_->algorithms(product, static_cast<int>(options_.algorithms));
    if (algorithms.empty()) return;
    const GemmSubject subject = shape.subject(options_.arch);
    if (!operands) operands.emplace(subject, options_.seed);
    std::vector<Asked> asked;
    for (const EpilogueCase& each : epilogue_cases()) {
      if (each.bias == bias && each.scales == scales) asked.push_back({each, operands->product(each, formats)});
    }
    ordered_json entry = {{"a", format(subject.a).name},
                          {"b", format(subject.b).name},
                          {"c", format(formats.c).name},
                          {"bias", format(formats.bias).name},
                          {"d", format(subject.d).name},
                          {"m", subject.m},
                          {"n", subject.n},
                          {"k", subject.k},
                          {"fast_accumulation", shape.fast_accumulation()},
                          {"fast_tf32", shape.formats.a == FormatId::fp32 && shape.formats.fast},
                          {"layout", shape.layout.name},
                          {"seed", options_.seed},
                          {"algorithms", ordered_json::array()}};
    results_.clear();
    for (const LibraryAlgorithm& algorithm : algorithms) {
      if (interrupted) break;
      const int at_once = clusters_at_once(*library_, algorithm);
      ordered_json attributes = algorithm_json(algorithm, at_once);
      for (const Asked& each : asked)
        attributes["results"][std::string(each.of.name)] = result_of(shape, product, algorithm, at_once, each);
      entry["algorithms"].push_back(std::move(attributes));
      ++algorithms_;
    }
    json_["products"].push_back(std::move(entry));
  }

  ordered_json result_of(const AskedShape& shape, const LibraryProduct& product, const LibraryAlgorithm& algorithm,
                         int at_once, const Asked& asked) {
    const EpilogueProduct& of = asked.product;
    Matrix d(product.d, product.m, product.n);
    LibraryTerms terms = {.alpha = of.alpha, .beta = of.beta, .in_place = of.in_place};
    if (of.c) terms.c = of.c->bytes();
    if (of.bias) terms.bias = of.bias->bytes();
    if (of.a_scale) terms.a_scale = of.a_scale->to_floats().at(0);
    if (of.b_scale) terms.b_scale = of.b_scale->to_floats().at(0);
    std::string_view prediction = "refused";
    ordered_json json;
    if (library_->multiply(product, algorithm, of.a.bytes(), of.b.bytes(), d.bytes(), terms)) {
      CublasLtConfiguration configuration = configuration_of(shape, algorithm, at_once);
      configuration.has_epilogue = of.alpha != 1 || of.c || of.bias || of.a_scale;
      configuration.adds_to_d = of.in_place && of.beta == 1 && product.c == product.d;
      prediction = predicted(configuration, asked, d);
      json["digest"] = fmt::format("{:#018x}", digest(d.codes(), 0));
    }
    json["predicted"] = prediction;
    ++totals_[std::string(prediction)];
    return json;
  }

  std::string_view predicted(const CublasLtConfiguration& configuration, const Asked& asked, const Matrix& d) {
    std::optional<GemmPlan> plan;
    try {
      plan = cublaslt_plan(configuration);
    } catch (const InputError&) {
      return "declined";
    }
    const auto [known, is_new] = results_.try_emplace({plan_to_json(*plan).dump(), asked.of.name});
    if (is_new) known->second = gemm(*plan, asked.product);
    return known->second == d ? "right" : "wrong";
  }

  const GemmCommandOptions& options_;
  std::unique_ptr<CublasLt> library_;
  ordered_json json_;
  std::size_t products_ = 0, algorithms_ = 0;
  std::map<std::string, std::size_t> totals_ = {{"right", 0}, {"wrong", 0}, {"declined", 0}, {"refused", 0}};
  std::map<std::pair<std::string, std::string_view>, Matrix> results_;  ///< of plans, for the products at hand
  ProgressLine progress_;
};

}  // namespace

int run_library_epilogues(const GemmCommandOptions& options) { return EpilogueSurvey(options).run(); }

}  // namespace tcnum
