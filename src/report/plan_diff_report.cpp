#include "plan_diff_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "io/printable.hpp"
#include "layout.hpp"

namespace tcnum {

using nlohmann::ordered_json;

std::string plan_diff_text(const PlanDiff& diff, const std::string& one, const std::string& other) {
  std::string text = fmt::format("one:   {}\nother: {}\n\n", printable(one), printable(other));
  if (diff.equal) return text + "They never differ: the plans say the same.\n";
  std::vector<std::vector<std::string>> rows = {{"K", "elements", "differ", "", "ulps, mean", "most"}};
  const auto ulps = [](double number) { return number == 0 ? "-" : fmt::format("{:.3g}", number); };
  for (const PlansAtLength& at : diff.lengths) {
    rows.push_back({std::to_string(at.k), count_text(static_cast<double>(at.tried)),
                    count_text(static_cast<double>(at.different)),
                    fmt::format("{:.3g} %", 100 * static_cast<double>(at.different) / static_cast<double>(at.tried)),
                    ulps(at.mean_ulps), ulps(at.max_ulps)});
  }
  text += fmt::format("Products of {} · {} → {}:\n\n{}\n", format(diff.a).name, format(diff.b).name,
                      format(diff.output).name, table_text(rows));
  // What becomes of alpha, C and a bias does not show in products that have none.
  const bool needs_terms = std::ranges::any_of(
      diff.fields, [](const FieldDiff& each) { return each.field == "epilogue" || each.field == "scales"; });
  text += diff.smallest_k
              ? fmt::format("The smallest K for which a product was found that differs: {}\n\n", *diff.smallest_k)
              : fmt::format("No product {}was found that differs. The plans do not say the same:\n\n",
                            needs_terms ? "without alpha, C, a bias and scales " : "");
  std::vector<std::vector<std::string>> fields = {{"", "what the plans say", "one", "other"}};
  for (const FieldDiff& each : diff.fields)
    fields.push_back({each.decides ? "*" : "", each.field, each.one, each.other});
  text += table_text(fields, 40);
  if (diff.smallest_k) text += "  *: one, with this as the other has it, gives the other's results there\n";
  return text;
}

ordered_json plan_diff_document(const PlanDiff& diff, const std::string& one, const std::string& other) {
  ordered_json json = {{"schema", "tcnum.plan_diff/1"},
                       {"version", TCNUM_VERSION},
                       {"one", one},
                       {"other", other},
                       {"a", format(diff.a).name},
                       {"b", format(diff.b).name},
                       {"output", format(diff.output).name},
                       {"equal", diff.equal}};
  json["lengths"] = ordered_json::array();
  for (const PlansAtLength& at : diff.lengths) {
    json["lengths"].push_back({{"k", at.k},
                               {"tried", at.tried},
                               {"different", at.different},
                               {"max_ulps", at.max_ulps},
                               {"mean_ulps", at.mean_ulps}});
  }
  json["smallest_k"] = diff.smallest_k ? ordered_json(*diff.smallest_k) : ordered_json(nullptr);
  json["fields"] = ordered_json::array();
  for (const FieldDiff& each : diff.fields) {
    json["fields"].push_back(
        {{"field", each.field}, {"one", each.one}, {"other", each.other}, {"decides", each.decides}});
  }
  return json;
}

}  // namespace tcnum
