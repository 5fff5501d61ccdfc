#include "gemm_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/printable.hpp"
#include "layout.hpp"
#include "problem_text.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

/// Products of each accumulator's instructions; nothing if they are not known.
std::optional<std::string> sums_of(const ComparedProduct& of) {
  if (of.plan == nullptr || of.plan->instruction.empty()) return std::nullopt;
  const Instruction& in = *find_instruction(of.plan->instruction);
  const auto depth = static_cast<std::size_t>(in.k);
  return fmt::format("{} of {} products each", plural((of.k + depth - 1) / depth, "instruction"), depth);
}

std::string binary_text(double x) { return x == 0 ? "0" : fmt::format("2^{:.1f}", std::log2(x)); }

/// The error in ulps of a number as large as the terms: what rounding did, without what cancelled.
double ulps_of_magnitudes(const ErrorElement& e, const Format& f) {
  if (e.magnitudes == 0) return 0;
  const int exponent =
      std::clamp(std::ilogb(e.magnitudes), f.min_exponent(), std::max(f.min_exponent(), f.max_exponent()));
  return std::ldexp(e.relative * e.magnitudes, f.fraction_bits - exponent);
}

/// Formats of the terms' codes.
std::pair<const Format&, const Format&> term_formats(const ErrorReport& report) {
  return {format(report.exact_a.value_or(report.a)), format(report.exact_b.value_or(report.b))};
}

struct Quantile {
  std::string_view key, heading;
  double (*of)(const ErrorMeasure&);
};
/// What is said of a measure, in the order of its columns.
constexpr std::array<Quantile, 5> kQuantiles = {{
    {"mean", "mean", [](const ErrorMeasure& of) { return of.mean; }},
    {"median", "median", [](const ErrorMeasure& of) { return of.percentile(50); }},
    {"p90", "90 %", [](const ErrorMeasure& of) { return of.percentile(90); }},
    {"p99", "99 %", [](const ErrorMeasure& of) { return of.percentile(99); }},
    {"max", "max", [](const ErrorMeasure& of) { return of.max(); }},
}};

// --- As lines.

/// A table of the measures, of each step too where there are steps.
std::string measures_text(const ErrorReport& report) {
  std::vector<std::vector<std::string>> rows = {{"error"}};
  for (const Quantile& quantile : kQuantiles) rows.front().emplace_back(quantile.heading);
  const auto add = [&](std::string name, const ErrorMeasure& measure, auto text) {
    rows.push_back({std::move(name)});
    for (const Quantile& quantile : kQuantiles) rows.back().push_back(text(quantile.of(measure)));
  };
  const auto ulps_text = [](double x) { return fmt::format("{:.4g}", x); };
  const auto add_all = [&](std::string_view step, const ErrorMeasures& measures) {
    add(fmt::format("{}ulps", step), measures.ulps, ulps_text);
    add(fmt::format("{}of Σ|a·b|", step), measures.relative, binary_text);
  };
  add_all("", report.error);
  if (report.quantisation) add_all("quantisation, ", *report.quantisation);
  if (report.arithmetic) add_all("arithmetic, ", *report.arithmetic);
  return table_text(rows);
}

/// Scales and exact operands, where there are some.
std::string operands_text(const ErrorReport& report, std::size_t k) {
  std::vector<std::string> operands;
  const auto add = [&](std::string_view name, std::optional<std::size_t> scale_block, std::optional<FormatId> exact) {
    std::vector<std::string> parts;
    if (scale_block)
      parts.push_back(*scale_block >= k ? "scales for all of k"
                                        : fmt::format("scales for every {} of k", *scale_block));
    if (exact) parts.push_back(fmt::format("exact in {}", format(*exact).name));
    if (!parts.empty()) operands.push_back(fmt::format("{}: {}", name, fmt::join(parts, ", ")));
  };
  add("A", report.a_scale_block, report.exact_a);
  add("B", report.b_scale_block, report.exact_b);
  return fmt::format("{}", fmt::join(operands, "; "));
}

std::string element_text(const ErrorElement& e, const ErrorReport& report, const ComparedProduct& of) {
  const auto& [fa, fb] = term_formats(report);
  const Format& fd = format(report.d);
  const std::string at =
      of.batches ? fmt::format("[{}, {}, {}]", e.batch, e.row, e.column) : fmt::format("[{}, {}]", e.row, e.column);
  std::vector<std::vector<std::string>> rows = {{"worst", fmt::format("{}, {:.6g} ulps", at, e.ulps)}};
  rows.push_back({"exact", fmt::format("{:.17g}, to nearest {}", e.exact, hex(fd, e.nearest))});
  if (e.quantised)
    rows.push_back({"quantised", fmt::format("{:.17g}, by the operands as they are multiplied", *e.quantised)});
  rows.push_back({"given", fmt::format("{}, which is {}", hex(fd, e.given), number_text(fd, e.given))});
  rows.push_back(
      {"terms", fmt::format("Σ|a·b| is {:.6g}, of which signs leave {}", e.magnitudes, binary_text(e.left()))});
  for (const ErrorTerm& t : e.largest)
    rows.push_back({"", fmt::format("k = {}: {} · {} = {:.6g}", t.k, hex(fa, t.a), hex(fb, t.b), t.product)});
  if (const auto sums = sums_of(of)) rows.push_back({"sum", *sums});
  rows.push_back({"lost", fmt::format("{} of Σ|a·b|; {:.3g} ulps, if the result were as large", binary_text(e.relative),
                                      ulps_of_magnitudes(e, fd))});
  return table_text(rows);
}

// --- As JSON.

ordered_json measure_json(const ErrorMeasure& measure) {
  ordered_json json;
  for (const Quantile& quantile : kQuantiles) json[quantile.key] = quantile.of(measure);
  return json;
}

ordered_json measures_json(const ErrorMeasures& measures) {
  return {{"ulps", measure_json(measures.ulps)}, {"relative", measure_json(measures.relative)}};
}

ordered_json element_json(const ErrorElement& e, const ErrorReport& report, const ComparedProduct& of) {
  const auto& [fa, fb] = term_formats(report);
  const Format& fd = format(report.d);
  ordered_json json;
  if (of.batches) json["batch"] = e.batch;
  json["row"] = e.row;
  json["column"] = e.column;
  json["given"] = hex(fd, e.given);
  json["nearest"] = hex(fd, e.nearest);
  json["exact"] = e.exact;
  if (e.quantised) json["quantised"] = *e.quantised;
  json["ulps"] = e.ulps;
  json["relative"] = e.relative;
  json["magnitudes"] = e.magnitudes;
  json["left"] = e.left();
  json["ulps_of_magnitudes"] = ulps_of_magnitudes(e, fd);
  ordered_json& terms = json["largest"] = ordered_json::array();
  for (const ErrorTerm& t : e.largest)
    terms.push_back({{"k", t.k}, {"a", hex(fa, t.a)}, {"b", hex(fb, t.b)}, {"product", t.product}});
  return json;
}

}  // namespace

std::string gemm_error_text(const ErrorReport& report, const ComparedProduct& of) {
  std::string text = fmt::format("{}: {} × {} × {}{}, {} · {} → {}, {}\n\n", printable(of.file), of.m, of.n, of.k,
                                 of.batches ? fmt::format(", {}", plural(*of.batches, "batch")) : "",
                                 format(report.a).name, format(report.b).name, format(report.d).name,
                                 of.plan == nullptr ? "as given" : fmt::format("by plan {}", printable(of.plan_name)));
  const auto count = [](std::uint64_t n) { return count_text(n); };
  std::vector<std::vector<std::string>> rows;
  if (const std::string operands = operands_text(report, of.k); !operands.empty())
    rows.push_back({"operands", operands});
  rows.push_back({"elements", fmt::format("{}: {} are the exact result rounded to nearest, {} of these exact",
                                          count(report.elements()), count(report.nearest), count(report.exact))});
  const auto add_if = [&](std::uint64_t n, std::string_view name, std::string_view what) {
    if (n > 0) rows.push_back({std::string(name), fmt::format("{}: {}", count(n), what)});
  };
  add_if(report.beyond, "beyond", "the exact result is beyond the format's largest number");
  add_if(report.lost, "lost", "D has an infinity or NaN, and the exact result is a number");
  add_if(report.not_finite, "not finite",
         fmt::format("operands are infinities or NaNs; {} are not what these give", count(report.not_finite_differ)));
  if (report.measured > 0)
    rows.push_back(
        {"drift", fmt::format("{:.4g} ulps: the mean with signs, positive away from zero", report.drift_ulps)});
  text += table_text(rows);
  if (report.measured == 0) return text;
  text += "\n" + measures_text(report);

  rows = {{"error in ulps", "elements"}, {"0", count(report.exact)}};
  for (const ErrorBin& bin : report.bins) {
    const std::string above = bin.exponent == kLeastErrorBin ? "0" : fmt::format("2^{}", bin.exponent - 1);
    rows.push_back({fmt::format("{} to 2^{}", above, bin.exponent), count(bin.elements)});
  }
  text += "\n" + table_text(rows);
  if (report.worst && report.error.ulps.max() > 0) text += "\n" + element_text(*report.worst, report, of);
  return text;
}

ordered_json gemm_error_document(const ErrorReport& report, const ComparedProduct& of) {
  const auto name_or_null = [](std::optional<FormatId> id) { return id ? ordered_json(format(*id).name) : nullptr; };
  const auto or_null = [](std::optional<std::size_t> x) { return x ? ordered_json(*x) : nullptr; };
  ordered_json json = {{"schema", "tcnum.gemm_error/1"},
                       {"version", TCNUM_VERSION},
                       {"file", of.file},
                       {"plan", of.plan == nullptr ? ordered_json() : plan_to_json(*of.plan)},
                       {"a", format(report.a).name},
                       {"b", format(report.b).name},
                       {"d", format(report.d).name},
                       {"exact_a", name_or_null(report.exact_a)},
                       {"exact_b", name_or_null(report.exact_b)},
                       {"a_scale_block", or_null(report.a_scale_block)},
                       {"b_scale_block", or_null(report.b_scale_block)},
                       {"m", of.m},
                       {"n", of.n},
                       {"k", of.k},
                       {"batches", of.batches.value_or(1)},
                       {"alpha", of.alpha},
                       {"beta", of.beta},
                       {"elements", report.elements()},
                       {"measured", report.measured},
                       {"beyond", report.beyond},
                       {"lost", report.lost},
                       {"not_finite", report.not_finite},
                       {"not_finite_differ", report.not_finite_differ},
                       {"exact", report.exact},
                       {"nearest", report.nearest}};
  json["ulps"] = measure_json(report.error.ulps);
  json["ulps"]["drift"] = report.drift_ulps;
  ordered_json& bins = json["ulps"]["histogram"] = ordered_json::array();
  for (const ErrorBin& bin : report.bins) bins.push_back({{"exponent", bin.exponent}, {"elements", bin.elements}});
  json["relative"] = measure_json(report.error.relative);
  if (report.quantisation) json["quantisation"] = measures_json(*report.quantisation);
  if (report.arithmetic) json["arithmetic"] = measures_json(*report.arithmetic);
  if (report.worst) json["worst"] = element_json(*report.worst, report, of);
  if (report.worst_relative) json["worst_relative"] = element_json(*report.worst_relative, report, of);
  return json;
}

}  // namespace tcnum
