#include "explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "gemm_report.hpp"
#include "io/printable.hpp"
#include "layout.hpp"
#include "problem_text.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

ExactValue exact(double number) { return ExactValue::of(format(FormatId::fp64), std::bit_cast<std::uint64_t>(number)); }

/// Sums of products without any rounding.
class ExactSums {
 public:
  explicit ExactSums(const ElementTrace& trace) : terms_(trace.terms) {
    const Problem all{trace.a, trace.b};
    for (std::size_t k = 0; k < trace.a.size(); ++k)
      up_to_.push_back(up_to_.back() + exact_product(trace.datapath.numerics, all, k));
  }

  /// What a step's result would be; nothing where it cannot be told from the products.
  std::optional<ExactValue> of(const ElementStep& step) const {
    const bool has_terms = terms_.alpha != 1 || terms_.c || terms_.bias;
    const bool comes_after = step.kind >= ElementStepKind::scale;
    if (terms_.scaled && (comes_after || step.kind == ElementStepKind::promotion)) return std::nullopt;
    ExactValue sum;
    for (const Stretch& run : step.products) {
      sum = sum + up_to_[run.first + run.count] + exact(-1) * up_to_[run.first];
    }
    if (!comes_after || !has_terms) return sum;
    if (step.kind == ElementStepKind::between) return std::nullopt;
    sum = exact(terms_.alpha) * sum;
    if (terms_.c) sum = sum + exact(terms_.beta) * exact(*terms_.c);
    return terms_.bias ? sum + exact(*terms_.bias) : sum;
  }

 private:
  ElementTerms terms_;
  std::vector<ExactValue> up_to_ = {ExactValue()};
};

/// "0.75 · sum + -1.5 · 3 + 0.25".
std::string terms_text(const ElementTerms& terms) {
  std::string text = terms.alpha == 1 ? "sum" : fmt::format("{} · sum", terms.alpha);
  if (terms.c) text += fmt::format(" + {} · {}", terms.beta, *terms.c);
  if (terms.bias) text += fmt::format(" + {}", *terms.bias);
  return text;
}

std::string what_text(const ExplainedElement& of, std::size_t number) {
  const ElementStep& step = of.trace.steps[number];
  const std::string_view id = format(step.format).name;
  switch (step.kind) {
    case ElementStepKind::instruction:
      return step.begins ? "k-step, from +0" : "k-step";
    case ElementStepKind::promotion:
      return "promoted to the total";
    case ElementStepKind::slices:
      return "accumulators added";
    case ElementStepKind::part:
      return fmt::format("part, rounded to {}", id);
    case ElementStepKind::parts:
      return fmt::format("parts added, {}", id);
    case ElementStepKind::scale:
      return "times the scales";
    case ElementStepKind::epilogue:
      return terms_text(of.trace.terms);
    case ElementStepKind::between:
      return fmt::format("rounded to {}, before more is added", id);
    case ElementStepKind::output:
      return number > 0 && of.trace.steps[number - 1].format == step.format ? "D, as it is"
                                                                            : output_text(of.trace.plan);
  }
  return "";
}

/// The steps from that one on. Of many, k-steps within an accumulator are counted.
std::string steps_text(const ExplainedElement& of, std::size_t first) {
  constexpr std::size_t kMany = 100;
  const std::vector<ElementStep>& steps = of.trace.steps;
  const ExactSums sums(of.trace);
  std::vector<std::vector<std::string>> rows = {{"step", "", "products", "true value", "result", "ulps off"}};
  const auto is_inner = [&](std::size_t i) {
    const auto goes_on = [&](std::size_t at) {
      return at < steps.size() && steps[at].kind == ElementStepKind::instruction && !steps[at].begins;
    };
    return i > first + 1 && goes_on(i) && goes_on(i - 1) && goes_on(i + 1);
  };
  for (std::size_t i = first; i < steps.size(); ++i) {
    std::size_t end = i;
    while (steps.size() - first > kMany && is_inner(end)) ++end;
    if (end > i + 1) {
      rows.push_back({"...", fmt::format("{} k-steps", end - i), "", "", "", ""});
      i = end - 1;
      continue;
    }
    const ElementStep& step = steps[i];
    const Format& f = format(step.format);
    const std::optional<ExactValue> right = sums.of(step);
    rows.push_back({std::to_string(i + 1), what_text(of, i), runs_text(step.products), right ? right->text() : "",
                    number_text(f, step.code),
                    right ? ulps_off_text(right->ulps_to(ExactValue::of(f, step.code), f)) : ""});
  }
  constexpr std::size_t kWidest = 40;
  return table_text(rows, kWidest);
}

/// The last rounding bit by bit: "+1.0000000001|0111 * 2^3". Nothing where nothing is rounded.
std::string rounding_text(const ExplainedElement& of) {
  const std::vector<ElementStep>& steps = of.trace.steps;
  const Format& f = format(of.trace.plan.output);
  const double sum = steps.size() < 2 ? 0 : steps[steps.size() - 2].result;
  const Format& wide = format(FormatId::fp64);
  const Decoded x = decode(wide, std::bit_cast<std::uint64_t>(sum));
  if (!f.floating || !x.is_finite() || x.significand == 0 || steps[steps.size() - 2].format == f.id) return "";
  const int top = x.exponent - wide.fraction_bits + static_cast<int>(std::bit_width(x.significand)) - 1;
  const int bottom = x.exponent - wide.fraction_bits + std::countr_zero(x.significand);
  const int last_kept = std::max(top, f.min_exponent()) - f.fraction_bits;
  const int first = std::max(top, last_kept);
  std::string bits = x.negative ? "-" : "+";
  for (int e = first; e >= std::min(bottom, last_kept); --e) {
    const int bit = e - (x.exponent - wide.fraction_bits);
    const bool is_set = bit >= 0 && bit <= wide.fraction_bits && ((x.significand >> bit) & 1) != 0;
    if (e == first - 1 && e >= last_kept) bits += '.';
    if (e == last_kept - 1) bits += '|';
    bits += is_set ? '1' : '0';
  }
  return fmt::format("  {} keeps the bits of the sum before the bar: {} * 2^{}\n", f.name, bits, first);
}

std::string result_text(const ExplainedElement& of) {
  const Format& f = format(of.trace.plan.output);
  return fmt::format("  D has {} = {}\n", hex(f, of.trace.d), number_text(f, of.trace.d));
}

/// The other result, and how far it is from D's.
std::string observed_text(const ExplainedElement& of, std::uint64_t observed) {
  const Format& f = format(of.trace.plan.output);
  const std::string text = fmt::format("  the file has {} = {}: ", hex(f, observed), number_text(f, observed));
  if (observed == of.trace.d) return text + "the same\n";
  const auto ulps = ExactValue::of(f, of.trace.d).ulps_to(ExactValue::of(f, observed), f);
  if (!ulps) return text + "not the same\n";
  if (*ulps == 0) return text + "the other zero\n";
  return text + fmt::format("{:.15g} ulp{} {}\n", std::abs(*ulps), std::abs(*ulps) == 1 ? "" : "s",
                            *ulps > 0 ? "above" : "below");
}

std::string single_text(const ExplainedElement& of, const std::optional<std::uint64_t>& observed, bool chain_is_shown) {
  std::size_t first = 0;
  if (of.is_one_chain() && chain_is_shown) {
    while (of.trace.steps[first].kind == ElementStepKind::instruction) ++first;
  }
  std::string text = wrapped(fmt::format("{}: {}.", printable(of.name), plan_sentence(of.trace.plan)), 2) + "\n" +
                     steps_text(of, first) + "\n" + rounding_text(of) + result_text(of);
  if (!observed) return text;
  text += observed_text(of, *observed);
  if (*observed == of.trace.d) return text;
  return text + wrapped(
                    "No named plan gives the file's result here. `tcnum gemm fit` finds a plan that does; with it as "
                    "a second --plan, the first step "
                    "that differs shows.",
                    2);
}

}  // namespace

std::string element_text(const std::vector<ExplainedElement>& plans, const std::optional<std::uint64_t>& observed,
                         bool chain_is_shown) {
  if (plans.size() == 1) return single_text(plans.front(), observed, chain_is_shown);
  const SharedSteps shared = shared_steps(plans[0].trace, plans[1].trace);
  std::string text;
  for (const auto& [plan, first] : {std::pair{&plans[0], shared.of_one}, std::pair{&plans[1], shared.of_other}}) {
    text += (text.empty() ? "" : "\n") +
            wrapped(fmt::format("{}: {}.", printable(plan->name), plan_sentence(plan->trace.plan)), 0);
    const bool is_last = first + 1 >= plan->trace.steps.size();
    text += first == 0 ? "The first step differs.\n\n"
                       : fmt::format("The sums after {} are those of the other plan too{}\n\n", plural(first, "step"),
                                     is_last ? "." : "; then:");
    text += steps_text(*plan, first) + "\n" + rounding_text(*plan) + result_text(*plan);
    if (observed) text += observed_text(*plan, *observed);
  }
  return text;
}

namespace {

ordered_json elements_json(const std::vector<ExplainedElement>& plans) {
  ordered_json all = ordered_json::array();
  for (const ExplainedElement& each : plans) {
    ordered_json json = {
        {"name", each.name}, {"plan", plan_to_json(each.trace.plan)}, {"steps", ordered_json::array()}};
    for (const ElementStep& step : each.trace.steps) {
      const Format& f = format(step.format);
      json["steps"].push_back({{"step", name(step.kind)},
                               {"products", runs_json(step.products)},
                               {"format", f.name},
                               {"result", hex(f, step.code)},
                               {"value", number_text(f, step.code)}});
    }
    json["d"] = hex(format(each.trace.plan.output), each.trace.d);
    all.push_back(std::move(json));
  }
  if (plans.size() == 2) {
    const SharedSteps shared = shared_steps(plans[0].trace, plans[1].trace);
    all[0]["shared_steps"] = shared.of_one;
    all[1]["shared_steps"] = shared.of_other;
  }
  return all;
}

}  // namespace

ordered_json element_document(const std::vector<ExplainedElement>& plans, const ExplainedSide& chain,
                              const std::optional<std::uint64_t>& observed) {
  ordered_json json = sides_document({chain});
  json["plans"] = elements_json(plans);
  if (observed) json["observed"] = hex(format(plans.front().trace.plan.output), *observed);
  return json;
}

}  // namespace tcnum
