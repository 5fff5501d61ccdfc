// tcnum gemm --fit --from cublaslt: the plans of all algorithms that the library offers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "interrupt.hpp"
#include "library_products.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "src/questions/stream.hpp"
#include "src/report/gemm_fit_report.hpp"
#include "tcnum/error.hpp"
#include "terminal.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

/// A product that was asked.
struct Answered {
  Matrix a, b, d;
};

/// Whether the plan that the algorithm's attributes say gave these products: "right", "wrong", or "declined" where
/// nobody knows what they say.
std::string_view predicted(const CublasLtConfiguration& configuration, const std::vector<Answered>& answered) {
  GemmPlan plan;
  try {
    plan = cublaslt_plan(configuration);
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
    json_ = {{"schema", "tcnum.gemm_survey/1"},
             {"version", TCNUM_VERSION},
             {"source", source_json(*library_)},
             {"cases", ordered_json::array()}};
    const std::vector<AskedShape> wanted = asked_shapes(options_);
    const InterruptGuard guard;
    for (const AskedShape& asked : wanted) {
      if (!interrupted) survey(asked, wanted.size());
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

  void survey(const AskedShape& asked, std::size_t of_products) {
    const GemmSubject subject = asked.subject(options_.arch);
    const LibraryProduct product = library_product(asked);
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
        const int at_once = clusters_at_once(*library_, algorithm);
        const std::string_view prediction = predicted(configuration_of(asked, algorithm, at_once), found.answered);
        ++predictions_[std::string(prediction)];
        ordered_json attributes = algorithm_json(algorithm, at_once);
        attributes["predicted"] = prediction;
        add(entry_of(found, subject, asked), std::move(attributes));
      } catch (const Refused&) {
        ++refused_;
      }
    }
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

  static ordered_json entry_of(const Fitted& found, const GemmSubject& subject, const AskedShape& asked) {
    ordered_json entry = gemm_fit_json(found.fit, subject);
    entry["fast_accumulation"] = asked.fast_accumulation();
    if (asked.formats.a == FormatId::fp32) entry["fast_tf32"] = asked.formats.fast;
    entry["layout"] = asked.layout.name;
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

int run_library_survey(const GemmCommandOptions& options) { return Survey(options).run(); }

}  // namespace tcnum
