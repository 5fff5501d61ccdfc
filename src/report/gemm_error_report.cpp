#include "gemm_error_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "io/printable.hpp"
#include "layout.hpp"
#include "problem_text.hpp"
#include "tcnum/instruction.hpp"

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

// --- As lines.

std::string element_text(const ErrorElement& e, const ErrorReport& report, const ComparedProduct& of) {
  const Format &fa = format(report.a), &fb = format(report.b), &fd = format(report.d);
  const std::string at =
      of.batches ? fmt::format("[{}, {}, {}]", e.batch, e.row, e.column) : fmt::format("[{}, {}]", e.row, e.column);
  std::vector<std::vector<std::string>> rows = {{"worst", fmt::format("{}, {:.6g} ulps", at, e.ulps)}};
  rows.push_back({"exact", fmt::format("{:.17g}, to nearest {}", e.exact, hex(fd, e.nearest))});
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

ordered_json element_json(const ErrorElement& e, const ErrorReport& report, const ComparedProduct& of) {
  const Format &fa = format(report.a), &fb = format(report.b), &fd = format(report.d);
  ordered_json json;
  if (of.batches) json["batch"] = e.batch;
  json["row"] = e.row;
  json["column"] = e.column;
  json["given"] = hex(fd, e.given);
  json["nearest"] = hex(fd, e.nearest);
  json["exact"] = e.exact;
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
  const auto count = [](std::uint64_t n) { return count_text(static_cast<double>(n)); };
  std::vector<std::vector<std::string>> rows = {
      {"elements", fmt::format("{}: {} are the exact result rounded to nearest, {} of these exact",
                               count(report.elements()), count(report.nearest), count(report.exact))}};
  const auto add_if = [&](std::uint64_t n, std::string_view name, std::string_view what) {
    if (n > 0) rows.push_back({std::string(name), fmt::format("{}: {}", count(n), what)});
  };
  add_if(report.beyond, "beyond", "the exact result is beyond the format's largest number");
  add_if(report.lost, "lost", "D has an infinity or NaN, and the exact result is a number");
  add_if(report.not_finite, "not finite",
         fmt::format("operands are infinities or NaNs; {} are not what these give", count(report.not_finite_differ)));
  if (report.measured > 0) {
    rows.push_back({"ulps", fmt::format("at most {:.6g}, {:.4g} on average; with their signs, away from zero, {:.4g}",
                                        report.max_ulps, report.mean_ulps, report.drift_ulps)});
    rows.push_back({"of Σ|a·b|", fmt::format("at most {}, {} on average", binary_text(report.max_relative),
                                             binary_text(report.mean_relative))});
  }
  text += table_text(rows);
  if (report.measured == 0) return text;

  rows = {{"error in ulps", "elements"}, {"0", count(report.exact)}};
  for (const ErrorBin& bin : report.bins) {
    const std::string above = bin.exponent == kLeastErrorBin ? "0" : fmt::format("2^{}", bin.exponent - 1);
    rows.push_back({fmt::format("{} to 2^{}", above, bin.exponent), count(bin.elements)});
  }
  text += "\n" + table_text(rows);
  if (report.worst && report.max_ulps > 0) text += "\n" + element_text(*report.worst, report, of);
  return text;
}

ordered_json gemm_error_document(const ErrorReport& report, const ComparedProduct& of) {
  ordered_json json = {{"schema", "tcnum.gemm_error/1"},
                       {"version", TCNUM_VERSION},
                       {"file", of.file},
                       {"plan", of.plan == nullptr ? ordered_json() : plan_to_json(*of.plan)},
                       {"a", format(report.a).name},
                       {"b", format(report.b).name},
                       {"d", format(report.d).name},
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
  json["ulps"] = {{"max", report.max_ulps}, {"mean", report.mean_ulps}, {"drift", report.drift_ulps}};
  ordered_json& bins = json["ulps"]["histogram"] = ordered_json::array();
  for (const ErrorBin& bin : report.bins) bins.push_back({{"exponent", bin.exponent}, {"elements", bin.elements}});
  json["relative"] = {{"max", report.max_relative}, {"mean", report.mean_relative}};
  if (report.worst) json["worst"] = element_json(*report.worst, report, of);
  if (report.worst_relative) json["worst_relative"] = element_json(*report.worst_relative, report, of);
  return json;
}

}  // namespace tcnum
