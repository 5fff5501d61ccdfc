#include "diff_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "io/printable.hpp"
#include "layout.hpp"
#include "problem_text.hpp"
#include "src/fit/dot_of.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

std::string percent(const OperandsDiff& of) {
  return fmt::format("{:.3g} %", 100 * static_cast<double>(of.different) / static_cast<double>(of.tried));
}
std::string ulps(double number) { return number == 0 ? "-" : fmt::format("{:.3g}", number); }

/// How a side comes to so many products.
std::string chain_text(const DiffSide& side, int k) {
  const int links = k / side.datapath->tree.k;
  return links == 1 ? "" : fmt::format(", {} of {} products one after the other", links, side.datapath->tree.k);
}

std::string operands_text(const DatapathDiff& diff) {
  Rows rows = {{"operands", "dot products", "differ", "", "ulps, mean", "most"}};
  for (const OperandsDiff& each : diff.operands) {
    rows.push_back({std::string(each.operands), count_text(static_cast<double>(each.tried)),
                    count_text(static_cast<double>(each.different)), percent(each), ulps(each.mean_ulps),
                    ulps(each.max_ulps)});
  }
  return table_text(rows);
}

std::string fields_text(const DatapathDiff& diff) {
  Rows rows = {{"", "what the descriptions say", "one", "other"}};
  for (const FieldDiff& each : diff.fields) rows.push_back({each.decides ? "*" : "", each.field, each.one, each.other});
  return table_text(rows);
}

}  // namespace

std::string diff_text(const DatapathDiff& diff, const DiffSide& one, const DiffSide& other) {
  std::string text =
      fmt::format("one:   {} ({}){}\nother: {} ({}){}\n\n", printable(one.name), printable(one.origin),
                  chain_text(one, diff.k), printable(other.name), printable(other.origin), chain_text(other, diff.k));
  if (diff.equal) return text + "They never differ: their descriptions are the same.\n";
  if (!diff.smallest) {
    text += fmt::format("No difference in {} dot products of {} products. Their descriptions are not the same:\n\n{}",
                        count_text(static_cast<double>(diff.tried())), diff.k, fields_text(diff));
    return text;
  }
  text += fmt::format("They differ, in dot products of {} products:\n\n{}\n", diff.k, operands_text(diff));
  text += fmt::format("The smallest operands that were found for which they do:\n\n{}\n",
                      problem_text(dot_of(*one.datapath, diff.k), diff.smallest->problem,
                                   {one.name, diff.smallest->expected}, {other.name, diff.smallest->observed}));
  text += fields_text(diff);
  text += "  *: one, with this as the other has it, gives the other's result there\n";
  return text;
}

ordered_json diff_document(const DatapathDiff& diff, const DiffSide& one, const DiffSide& other) {
  const auto side = [](const DiffSide& of) {
    return ordered_json{{"name", of.name}, {"origin", of.origin}, {"k", of.datapath->tree.k}};
  };
  ordered_json json = {{"schema", "tcnum.diff/1"},
                       {"version", TCNUM_VERSION},
                       {"one", side(one)},
                       {"other", side(other)},
                       {"k", diff.k},
                       {"equal", diff.equal},
                       {"tried", diff.tried()},
                       {"different", diff.different()}};
  json["operands"] = ordered_json::array();
  for (const OperandsDiff& each : diff.operands) {
    json["operands"].push_back({{"operands", each.operands},
                                {"tried", each.tried},
                                {"different", each.different},
                                {"max_ulps", each.max_ulps},
                                {"mean_ulps", each.mean_ulps}});
  }
  json["smallest"] = nullptr;
  if (diff.smallest) {
    json["smallest"] = json_problem(dot_of(*one.datapath, diff.k), diff.smallest->problem, diff.smallest->expected,
                                    diff.smallest->observed);
  }
  json["fields"] = ordered_json::array();
  for (const FieldDiff& each : diff.fields)
    json["fields"].push_back(
        {{"field", each.field}, {"one", each.one}, {"other", each.other}, {"decides", each.decides}});
  return json;
}

}  // namespace tcnum
