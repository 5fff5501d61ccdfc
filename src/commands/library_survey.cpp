// tcnum gemm fit --from cublaslt: what the GPU's library offers for the products that are asked. One survey fits the
// plans of all algorithms; with --epilogue, another asks what they do with alpha, C and a bias.
#include <nlohmann/json.hpp>

#include "gemm.hpp"
#include "interrupt.hpp"
#include "probes/cublaslt.hpp"
#include "src/questions/stream.hpp"
#include "src/report/gemm_report.hpp"
#include "tcnum/cublaslt.hpp"
#include "tcnum/epilogue_fit.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

LibraryProduct library_product(const AskedShape& asked) {
  return {.a = asked.formats.a,
          .b = asked.formats.b,
          .d = asked.formats.d,
          .m = asked.shape[0],
          .n = asked.shape[1],
          .k = asked.shape[2],
          .fast = asked.formats.fast,
          .a_k_outermost = asked.layout.a_k_outermost,
          .b_k_outermost = asked.layout.b_k_outermost,
          .gap = asked.layout.gap};
}

/// For how many clusters the device has room, which decides how an algorithm divides k where it says no number of
/// parts; else 0.
int clusters_at_once(CublasLt& library, const LibraryAlgorithm& algorithm) {
  const auto tile = cublaslt_tile(algorithm.tile, algorithm.cluster);
  if (algorithm.split_k >= 0 || !tile) return 0;
  return library.clusters_at_once(tile->cluster_rows * tile->cluster_columns);
}

CublasLtConfiguration configuration_of(const AskedShape& asked, const LibraryAlgorithm& algorithm,
                                       int clusters_at_once) {
  const auto [m, n, k] = asked.shape;
  const OperandLayout& layout = asked.layout;
  return {.a = asked.formats.a,
          .b = asked.formats.b,
          .d = asked.formats.d,
          .k = k,
          .fast_accumulation = asked.fast_accumulation(),
          .id = algorithm.id,
          .stages = algorithm.stages,
          .split_k = algorithm.split_k,
          .reduction = algorithm.reduction,
          .custom = algorithm.custom,
          .a_k_outermost = layout.a_k_outermost,
          .b_k_outermost = layout.b_k_outermost,
          .a_lead = (layout.a_k_outermost ? m : k) + layout.gap,
          .b_lead = (layout.b_k_outermost ? n : k) + layout.gap,
          .m = m,
          .n = n,
          .tile = algorithm.tile,
          .cluster = algorithm.cluster,
          .swizzle = algorithm.swizzle,
          .workspace = algorithm.workspace,
          .clusters_at_once = clusters_at_once};
}

ordered_json algorithm_json(const LibraryAlgorithm& algorithm, int clusters_at_once) {
  ordered_json json = {{"id", algorithm.id},
                       {"tile", algorithm.tile},
                       {"stages", algorithm.stages},
                       {"split_k", algorithm.split_k},
                       {"reduction", algorithm.reduction},
                       {"swizzle", algorithm.swizzle},
                       {"custom", algorithm.custom},
                       {"inner_shape", algorithm.inner_shape},
                       {"cluster", algorithm.cluster}};
  if (clusters_at_once != 0) {
    json["workspace"] = algorithm.workspace;
    json["clusters_at_once"] = clusters_at_once;
  }
  return json;
}

/// Where algorithms were asked.
ordered_json source_json(const CublasLt& library) {
  const GpuInfo gpu = gpu_info();
  return {{"kind", "cublaslt"}, {"library", library.version()}, {"device", gpu.device}, {"driver", gpu.driver},
          {"cuda", gpu.cuda},   {"date", today_utc()}};
}

/// Whether the plan that the configuration says gives what the library gave; "declined" where nobody knows a plan.
template <class Gives>
std::string_view predicted(const CublasLtConfiguration& configuration, const Gives& gives) {
  std::optional<GemmPlan> plan;
  try {
    plan = cublaslt_plan(configuration);
  } catch (const InputError&) {
    return "declined";
  }
  return gives(*plan) ? "right" : "wrong";
}

std::string digest_text(const Matrix& d) { return fmt::format("{:#018x}", digest(d.codes(), 0)); }

/// Asks for one product after the other, and writes what was found of them.
class Survey {
 public:
  /// `entries`: what the document calls the list of what was found.
  Survey(const GemmCommandOptions& options, const char* schema, const char* entries)
      : options_(options),
        library_(load_cublaslt()),
        json_{{"schema", schema},
              {"version", TCNUM_VERSION},
              {"source", source_json(*library_)},
              {entries, ordered_json::array()}} {}
  Survey(const Survey&) = delete;
  Survey& operator=(const Survey&) = delete;
  virtual ~Survey() = default;

  int run() {
    const std::vector<AskedShape> wanted = asked_shapes(options_);
    const InterruptGuard guard;
    for (const AskedShape& asked : wanted) {
      if (interrupted) break;
      at_ = fmt::format("product {} of {}", ++products_, wanted.size());
      survey(asked);
    }
    progress_.clear();
    say(fmt::format("{} algorithms of {} products{}{}\n", algorithms_, products_, interrupted ? " (interrupted)" : "",
                    found_text()));
    json_["interrupted"] = interrupted.load();
    json_["totals"] = totals();
    if (!options_.json.empty()) write_json(options_.json, json_);
    return disagrees() ? kDisagreed : kAgreed;
  }

 protected:
  virtual void survey(const AskedShape& asked) = 0;
  /// The rest of the line that sums up.
  virtual std::string found_text() = 0;
  virtual ordered_json totals() = 0;
  virtual bool disagrees() = 0;

  std::vector<LibraryAlgorithm> offered(const LibraryProduct& product) {
    return library_->algorithms(product, static_cast<int>(options_.algorithms));
  }
  void show(const char* doing) { progress_.show(fmt::format("{}: {}, {} algorithms so far", doing, at_, algorithms_)); }
  void count(std::string_view prediction) { ++predictions_[std::string(prediction)]; }

  const GemmCommandOptions& options_;
  std::unique_ptr<CublasLt> library_;
  ordered_json json_;
  std::size_t products_ = 0, algorithms_ = 0;
  std::map<std::string, std::size_t> predictions_;

 private:
  std::string at_;
  ProgressLine progress_;
};

// --- The plans of all algorithms.

/// A product that was asked.
struct Answered {
  Matrix a, b, d;
};

class PlanSurvey final : public Survey {
 public:
  explicit PlanSurvey(const GemmCommandOptions& options) : Survey(options, "tcnum.gemm_survey/1", "cases") {}

 private:
  struct Refused {};
  struct Fitted {
    std::vector<Answered> answered;
    GemmFit fit;
  };

  void survey(const AskedShape& asked) override {
    const GemmSubject subject = asked.subject(options_.arch);
    const LibraryProduct product = library_product(asked);
    const std::vector<LibraryAlgorithm> algorithms = offered(product);
    if (algorithms.empty()) return;
    const GemmFitter fitter(subject);
    std::vector<Fitted> fitted;
    for (const LibraryAlgorithm& algorithm : algorithms) {
      if (interrupted) return;
      show("fitting");
      try {
        const Fitted& found = fit(fitter, product, algorithm, fitted);
        count_fit(found.fit);
        const int at_once = clusters_at_once(*library_, algorithm);
        const std::string_view prediction =
            predicted(configuration_of(asked, algorithm, at_once), [&](const GemmPlan& plan) {
              return std::ranges::all_of(found.answered,
                                         [&](const Answered& x) { return gemm(plan, x.a, x.b) == x.d; });
            });
        count(prediction);
        ordered_json attributes = algorithm_json(algorithm, at_once);
        attributes["predicted"] = prediction;
        add(entry_of(found, subject, asked), std::move(attributes));
      } catch (const Refused&) {
        ++refused_;
      }
    }
  }
  std::string found_text() override {
    return fmt::format(
        ": {} identified, {} ambiguous, {} unexplained, {} refused; {} elements compared, {} not as the plan says; the "
        "attributes say the plan of {}, another of {}",
        counts_[0], counts_[1], counts_[2], refused_, elements_, mismatches_, predictions_["right"],
        predictions_["wrong"]);
  }
  ordered_json totals() override {
    return {{"products", products_},   {"cases", algorithms_},      {"identified", counts_[0]},
            {"ambiguous", counts_[1]}, {"unexplained", counts_[2]}, {"refused", refused_},
            {"elements", elements_},   {"mismatches", mismatches_}, {"predicted", predictions_}};
  }
  bool disagrees() override { return counts_[2] != 0; }

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

  void count_fit(const GemmFit& fit) {
    ++algorithms_;
    ++counts_[static_cast<std::size_t>(fit.verdict)];
    elements_ += fit.elements;
    mismatches_ += fit.mismatches;
  }

  static ordered_json entry_of(const Fitted& found, const GemmSubject& subject, const AskedShape& asked) {
    ordered_json entry = gemm_fit_json(found.fit, subject);
    entry["fast_accumulation"] = asked.fast_accumulation();
    if (asked.formats.a == FormatId::fp32) entry["fast_tf32"] = asked.formats.fast;
    entry["layout"] = asked.layout.name;
    for (std::size_t i = 0; i < found.answered.size(); ++i)
      entry["asked"][i]["digest"] = digest_text(found.answered[i].d);
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

  std::size_t refused_ = 0, elements_ = 0, mismatches_ = 0;
  std::array<std::size_t, 3> counts_{};
  std::map<std::string, std::size_t> places_;  ///< of entries among the cases, by all that they say but the algorithms
};

// --- What becomes of alpha, C and a bias.

/// What the library takes of C and of a bias (cuBLASLt's documentation of cublasLtMatmul()).
FormatId c_format(FormatId operands, FormatId d) {
  return format(operands).storage_bits == 8 && is_fp8(d) ? FormatId::bf16 : d;
}
FormatId bias_format(FormatId operands, FormatId d) {
  if (format(operands).storage_bits != 8) return d;
  if (!format(operands).floating) return FormatId::fp32;
  return d == FormatId::fp16 ? d : FormatId::bf16;
}

class EpilogueSurvey final : public Survey {
 public:
  explicit EpilogueSurvey(const GemmCommandOptions& options) : Survey(options, "tcnum.epilogue_survey/1", "products") {
    predictions_ = {{"right", 0}, {"wrong", 0}, {"declined", 0}, {"refused", 0}};
  }

 private:
  struct Asked {
    const EpilogueCase& of;
    EpilogueProduct product;
  };

  /// Algorithms are offered for products with a bias, or with scales, and for those without.
  void survey(const AskedShape& asked) override {
    std::optional<EpilogueOperands> operands;  // the same for all, made where algorithms are offered
    for (const bool scales : {false, true}) {
      for (const bool bias : {false, true}) {
        if (scales && !is_fp8(asked.formats.a)) continue;
        if (interrupted) return;
        show("asking");
        survey(asked, bias, scales, operands);
      }
    }
  }
  std::string found_text() override {
    auto& p = predictions_;
    return fmt::format(
        ", {} results: the plan gives {}, another of {}, and there is none for {}; the library refused {}",
        p["right"] + p["wrong"] + p["declined"], p["right"], p["wrong"], p["declined"], p["refused"]);
  }
  ordered_json totals() override {
    ordered_json all = {{"products", products_}, {"algorithms", algorithms_}};
    all.update(predictions_);
    return all;
  }
  bool disagrees() override { return predictions_["wrong"] != 0; }

  void survey(const AskedShape& shape, bool bias, bool scales, std::optional<EpilogueOperands>& operands) {
    LibraryProduct product = library_product(shape);
    const EpilogueFormats formats = {
        .c = c_format(product.a, product.d), .bias = bias_format(product.a, product.d), .bias_of_rows = true};
    product.c = formats.c;
    if (bias) product.bias = formats.bias;
    const std::vector<LibraryAlgorithm> algorithms = offered(product);
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
      prediction = predicted(configuration, [&](const GemmPlan& plan) {
        const auto [known, is_new] = results_.try_emplace({plan_to_json(plan).dump(), asked.of.name});
        if (is_new) known->second = gemm(plan, of);
        return known->second == d;
      });
      json["digest"] = digest_text(d);
    }
    json["predicted"] = prediction;
    count(prediction);
    return json;
  }

  std::map<std::pair<std::string, std::string_view>, Matrix> results_;  ///< of plans, for the products at hand
};

}  // namespace

int run_library_survey(const GemmCommandOptions& options) {
  return options.epilogue ? EpilogueSurvey(options).run() : PlanSurvey(options).run();
}

}  // namespace tcnum
